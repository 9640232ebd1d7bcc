import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { listHashes, sha256, synchronize } from './source-fixture.ts';
import { addSource, joinSourceServer } from './source-server.ts';

/** Sources of the kinds `website` and `rss`. */

t.setTimeout(testFileMsMax);
const joined = await joinSourceServer();
const { api, web: origin } = joined;
const rate = { requests_per_second: 20 };

async function pathsOf(name: string): Promise<string[]> {
  return [...(await listHashes(api, name)).keys()];
}

await t.test('a crawl follows links, and respects robots.txt and its directives', async (t) => {
  origin.pages.clear();
  origin.pages.set('a.txt', 'granite');
  origin.pages.set('b.html', '<html><meta name="robots" content="noindex"><a href="deep/c.txt">c</a></html>');
  origin.pages.set('deep/c.txt', 'basalt');
  origin.pages.set('private/d.txt', 'not for crawlers');
  origin.pages.set('image.png', 'an image');
  origin.headers.set('image.png', { 'content-type': 'image/png' });
  origin.robots = 'User-agent: *\nDisallow: /private/\nCrawl-delay: 0.01';
  await addSource(joined, 'site', { website: { url: origin.url, ...rate } });
  t.match((await synchronize(api, 'site')).last_run, { outcome: 'succeeded', error: null });
  t.strictSame(await pathsOf('site'), ['a.txt', 'deep/c.txt', 'index.html']);
  t.match((await api.info('site', 'a.txt')).metadata, { source: 'site', source_url: `${origin.url}a.txt` });
  t.notOk(origin.requests.some((request) => request.includes('private')));

  origin.requests.length = 0;
  t.match((await synchronize(api, 'site')).last_run?.counts, { added: 0, updated: 0, unchanged: 3 });
  t.ok(origin.requests.includes('304 /a.txt'), 'unchanged pages are not sent again');
  await api.call('documents/delete-document', { collection_name: 'site', path: 'a.txt' });
  t.match((await synchronize(api, 'site')).last_run?.counts, { added: 1, unchanged: 2 });

  origin.failure = 503;
  t.match((await synchronize(api, 'site')).last_run, { outcome: 'failed', error: /status 503/ });
  origin.failure = null;
  t.equal((await pathsOf('site')).length, 3);
});

await t.test('a site is limited by depth, number of pages or a sitemap', async (t) => {
  origin.pages.clear();
  for (let i = 0; i < 10; i += 1) origin.pages.set(`page-${i}.txt`, `page ${i}`);
  await addSource(joined, 'shallow', { website: { url: origin.url, max_depth: 0, ...rate } });
  await synchronize(api, 'shallow');
  t.strictSame(await pathsOf('shallow'), ['index.html']);
  await addSource(joined, 'few', { website: { url: origin.url, max_pages: 4, ...rate } });
  await synchronize(api, 'few');
  t.equal((await pathsOf('few')).length, 4);
  const sitemap_url = `${origin.url}sitemap.xml`;
  await addSource(joined, 'sitemap', { website: { url: origin.url, sitemap_url, ...rate } });
  await synchronize(api, 'sitemap');
  t.strictSame(await pathsOf('sitemap'), [...origin.pages.keys()]);
  const packed = { website: { url: origin.url, sitemap_url: `${origin.url}sitemaps.xml.gz`, ...rate } };
  await addSource(joined, 'packed', packed);
  await synchronize(api, 'packed');
  t.strictSame(await pathsOf('packed'), [...origin.pages.keys()], 'sitemaps can be compressed');
});

await t.test('a page that fails keeps the documents of the site', async (t) => {
  origin.headers.set('page-3.txt', { location: `${origin.url}page-3.txt` });
  origin.pages.delete('page-5.txt');
  origin.pages.set('page-4.txt', 'x'.repeat(11_000_000));
  const { last_run } = await synchronize(api, 'sitemap');
  t.match(last_run, { outcome: 'partial', counts: { failed: 1, deleted: 0 } });
  t.equal((await pathsOf('sitemap')).length, 10);
  origin.pages.set('page-4.txt', 'short');
  t.match((await synchronize(api, 'sitemap')).last_run, { outcome: 'succeeded', counts: { deleted: 1 } });
});

await t.test('invalid settings and other hosts are rejected', async (t) => {
  await createCollection(api, 'refused');
  const common = { source_name: 'refused', collection_name: 'refused' };
  for (const [status, settings] of [
    [403, { website: { url: 'http://127.0.0.1:9/' } }],
    [403, { website: { url: 'https://example.com/' } }],
    [403, { website: { url: origin.url, sitemap_url: 'https://example.com/sitemap.xml' } }],
    [400, { website: { url: 'file:///etc/passwd' } }],
    [400, { website: { url: origin.url, max_pages: 0 } }],
    [400, { website: { url: origin.url, requests_per_second: 100 } }],
    [403, { rss: { url: 'http://[::1]:9/' } }],
    [400, { rss: { url: origin.url }, website: { url: origin.url } }],
    [400, { rss: { url: origin.url }, watch: true }],
    [400, { rss: { url: origin.url }, credentials: { authorization: 'a\nb' } }],
  ] as const)
    t.equal(
      await api.status('sources/add-source', { ...common, ...settings }),
      status,
      JSON.stringify(settings),
    );
});

await t.test('entries of a feed become documents and stay after they left it', async (t) => {
  origin.pages.clear();
  origin.pages.set('one', 'granite');
  origin.pages.set('two', 'basalt');
  await addSource(joined, 'news', { rss: { url: `${origin.url}feed.xml` } });
  t.match((await synchronize(api, 'news')).last_run?.counts, { added: 2 });
  t.match((await synchronize(api, 'news')).last_run, { outcome: 'succeeded', counts: { added: 0 } });
  t.ok(origin.requests.includes('304 /feed.xml'));
  origin.pages.delete('one');
  t.match((await synchronize(api, 'news')).last_run?.counts, { deleted: 0, unchanged: 1 });
  await api.call('sources/update-source', {
    source_name: 'news',
    rss: { url: `${origin.url}feed.xml`, keep_removed: false },
  });
  t.match((await synchronize(api, 'news')).last_run?.counts, { deleted: 1 });
  await api.call('sources/update-source', { source_name: 'news', rss: { url: origin.url } });
  t.match((await synchronize(api, 'news')).last_run, { outcome: 'failed', error: /not an RSS or Atom feed/ });
});

await t.test('documents can contain only the main content of pages', async (t) => {
  const main = 'Granite consists of quartz, feldspar and mica. '.repeat(10);
  const page = `<html lang="en"><title>Rocks</title><nav>Home Shop</nav><main><nav>Crumbs</nav><h1>Granite</h1><p>${main}</p></main><footer>Imprint</footer></html>`;
  origin.pages.clear();
  origin.pages.set('granite.html', page);
  origin.pages.set('list.html', '<html><nav>Home</nav><p>Short</p></html>');
  origin.pages.set('plain.txt', '<main>not a page</main>');
  const website = { url: origin.url, ...rate };
  await addSource(joined, 'main', { website: { ...website, main_content: true } });
  t.match((await synchronize(api, 'main')).last_run, { outcome: 'succeeded', counts: { added: 4 } });
  const extracted = `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Rocks</title></head>\n<body><h1>Granite</h1><p>${main}</p></body></html>\n`;
  const whole = ['list.html', 'plain.txt'].map((key) => [key, sha256(origin.pages.get(key)!)] as const);
  const index = ['index.html', sha256(origin.index)] as const;
  const expected = new Map([['granite.html', sha256(extracted)], index, ...whole]);
  t.strictSame(await listHashes(api, 'main'), expected);
  t.match((await synchronize(api, 'main')).last_run?.counts, { unchanged: 4, updated: 0 });
  await api.call('sources/update-source', { source_name: 'main', website });
  t.match((await synchronize(api, 'main')).last_run?.counts, { unchanged: 3, updated: 1 });
  t.equal((await listHashes(api, 'main')).get('granite.html'), sha256(page));
});
