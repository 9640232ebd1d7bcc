import { extractMainContent } from '../../src/sources/web/extract-main-content.ts';
import { MainContentThread } from '../../src/sources/web/main-content-thread.ts';
import t from '../support/tap.ts';

const { signal } = new AbortController();
const sentences = 'Granite is an igneous rock of quartz, feldspar and mica, which cools slowly. '.repeat(6);
const menu =
  '<div class="menu"><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop</a></li></ul></div>';

t.test('the main element is preferred, without its navigation', async (t) => {
  const page = `<html lang="de"><title>A & B</title><body>${menu}<main><nav>Crumbs</nav><p>${sentences}</p></main></body></html>`;
  t.equal(
    extractMainContent(page),
    `<!doctype html>\n<html lang="de"><head><meta charset="utf-8"><title>A &amp; B</title></head>\n<body><p>${sentences}</p></body></html>\n`,
  );
  t.match(
    extractMainContent(page.replaceAll('main', 'div').replace('<div>', '<div role="main">')),
    /Granite/,
  );
});

t.test('an article is found without a main element, and keeps its heading', async (t) => {
  const paragraphs = `<p>${sentences}</p>`.repeat(4);
  const page = `<html><head><title>Granite</title></head><body>${menu}<div id="content"><h1>Granite</h1>${paragraphs}</div><div class="footer">Imprint</div></body></html>`;
  const content = extractMainContent(page) ?? '';
  t.match(content, /<h1>Granite<\/h1>/);
  t.match(content, /cools slowly/);
  t.notMatch(content, /Shop|Imprint/);
  const empty = page.replace('<body>', '<body><main id="app"></main>');
  t.match(extractMainContent(empty), /cools slowly/, 'a main element that scripts fill');
  for (const [start, end] of [
    ['<!doctype html><html lang="en"><head><title>Granite</title></head>', '</html>'],
    ['<!DOCTYPE html>\n<title>Granite</title>', ''],
    ['', ''],
  ] as const)
    t.match(extractMainContent(`${start}${menu}<div>${paragraphs}</div>${end}`), /cools slowly/, start);
});

t.test('a page without main content, or that is no page, has none', async (t) => {
  for (const page of ['', 'text', '<p>short</p>', `<html><body>${menu.repeat(50)}</body></html>`, '<main>'])
    t.equal(extractMainContent(page), null, page.slice(0, 30));
});

t.test('a page that takes too long fails, and the next one does not', async (t) => {
  const thread = new MainContentThread({ msMax: 60_000, memoryMbMax: 256 });
  t.teardown(() => thread.close());
  const page = `<main>${sentences}</main>`;
  const [first, second] = await Promise.all([thread.extract(page, signal), thread.extract('short', signal)]);
  t.match(first, /Granite/);
  t.equal(second, null);

  // Linkedom takes time quadratic in the depth of a tree: minutes for this one.
  const deep = '<div>'.repeat(400_000);
  const limited = new MainContentThread({ msMax: 1_000, memoryMbMax: 256 });
  t.teardown(() => limited.close());
  const message = /cannot be extracted: it took more than 1 s/;
  await t.rejects(limited.extract(deep, signal), { code: 'too_large', message });
  const controller = new AbortController();
  const canceled = thread.extract(deep, controller.signal);
  const next = thread.extract(page, signal);
  controller.abort(new Error('stopped'));
  await t.rejects(canceled, /stopped/);
  t.match(await next, /Granite/, 'a new thread');
});
