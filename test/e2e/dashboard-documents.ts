import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { TestServer } from './server.ts';

/** The document page: a passage from a search, and the structure of texts. */

const sentence = 'Refunds are paid within fourteen days 🌍 after the goods came back.';
const filler = Array.from({ length: 60 }, (_, i) => `Rule ${i} of the archive says nothing about money.`);
const printedPage = [
  'This paragraph was printed in a column, so that each of its lines ends at the',
  'right margin of the page and not at the end of a sentence. The reader of the',
  'dashboard sees it without these line breaks.',
].join('\n');
const guide = [
  '# Returns & <b>refunds</b>',
  'Customers return goods **at any time**,\nwith `refund --now`.',
  '## Steps',
  '1. Print the label.\n2. Bring the parcel to the post office.\n   - Keep the receipt.',
  '| Country | Days |\n| --- | --- |\n| Austria | 14 |\n| Norway | 30 |',
  '```sh\nrefund --order 17\n# <script>window.hacked=1</script>\n```',
].join('\n\n');

/** Scenario: a result opens its document at the marked passage, and texts are shown with their structure. */
export async function passageScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'shop' });
  await api.add('shop', 'rules.txt', {
    type: 'text-pages',
    pages: ['🌍 '.repeat(40), '', [...filler, sentence, ...filler].join('\n\n')],
  });
  await api.add('shop', 'printed.txt', printedPage);
  await api.add('shop', 'guide.md', guide);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await openPassage(t, page, `${server.url}/app/search?collection=shop#q=refunds+paid+fourteen+days`);
  await page.goto(`${server.url}/app/search?collection=shop#q=refunds+paid+fourteen+days&type=pages`);
  await page.reload();
  await resultLink(page).click();
  await page.waitForURL(/&page=3#page=3&start=\d+&end=\d+$/);
  await waitForPassage(page);
  await inspectInAllThemes(t, page, 'document-passage');
  await checkStructure(t, page, server.url);
  t.same(problems, []);
}

async function openPassage(t: Test, page: Page, searchUrl: string): Promise<void> {
  // While the code of the next page loads, the search page stays, and must not change the URL.
  await page.route(/\/document-[\w-]{8}\.js$/, async (route) => {
    await wait(1_000);
    await route.continue();
  });
  await page.goto(searchUrl);
  await resultLink(page).click();
  await page.waitForURL(/#start=\d+&end=\d+$/);
  await waitForPassage(page);
  t.match(await page.getByRole('heading', { level: 2, name: /^Page/ }).textContent(), 'Page 3 of 3');
  await waitFor('the passage is scrolled into view', async () =>
    (await isPassageInView(page)) ? true : null,
  );
  await page.getByLabel('Previous page').click();
  await page.getByRole('heading', { name: 'Page 2 of 3' }).waitFor();
  t.equal(await page.locator('mark.passage').count(), 0);
  await page.getByRole('button', { name: 'Go to passage' }).click();
  await waitForPassage(page);
  await page.getByRole('button', { name: 'Go to passage' }).click();
  t.equal(await page.evaluate('document.activeElement.className'), 'passage', 'the passage has the focus');
  await page.getByRole('button', { name: 'Stored text' }).click();
  await waitForPassage(page);
}

function resultLink(page: Page) {
  const results = page.getByRole('region', { name: 'Results' });
  return results.getByRole('link', { name: 'rules.txt', exact: true }).first();
}

function waitForPassage(page: Page): Promise<true> {
  return waitFor('the passage is marked', async () =>
    (await page.locator('mark.passage').allTextContents()).join('') === sentence ? true : null,
  );
}

function isPassageInView(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const mark = document.querySelector('mark.passage')?.getBoundingClientRect();
    const frame = document.querySelector('.text-body').getBoundingClientRect();
    return mark !== undefined && mark.top >= Math.max(0, frame.top) && mark.bottom <= Math.min(frame.bottom, innerHeight);
  })()`);
}

async function checkStructure(t: Test, page: Page, serverUrl: string): Promise<void> {
  await page.goto(`${serverUrl}/app/document?collection=shop&path=printed.txt`);
  await page.getByText(printedPage.replaceAll('\n', ' '), { exact: true }).waitFor();
  await page.goto(`${serverUrl}/app/document?collection=shop&path=guide.md`);
  const text = page.getByRole('region', { name: 'Text of page 1' });
  await text.getByRole('heading', { name: 'Returns & <b>refunds</b>', level: 3 }).waitFor();
  await text.getByText('Customers return goods at any time, with refund --now.').waitFor();
  t.same(await text.getByRole('listitem').allTextContents(), [
    '1.Print the label.',
    '2.Bring the parcel to the post office.',
    '•Keep the receipt.',
  ]);
  t.same(await text.getByRole('columnheader').allTextContents(), ['Country', 'Days']);
  t.same(await text.getByRole('cell').allTextContents(), ['Austria', '14', 'Norway', '30']);
  t.match(await text.locator('pre').textContent(), '# <script>window.hacked=1</script>');
  t.equal(await page.evaluate('window.hacked'), undefined);
  await inspectInAllThemes(t, page, 'document-text');
  await page.getByRole('button', { name: 'Stored text' }).click();
  await waitFor('the stored text', async () => ((await text.textContent()) === guide ? true : null));
}

const pageCount = 300;

/** Scenario: pages are turned, zoomed and chosen by keys and thumbnails. */
export async function viewerScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'shop' });
  const texts = Array.from({ length: pageCount }, (_, i) => `Chapter ${i + 1}\n\nText of chapter ${i + 1}.`);
  const pdf = Buffer.from(buildPdf(texts)).toString('base64');
  await api.add('shop', 'book.pdf', { type: 'auto', base64_data: pdf });
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  let pageRequests = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('get-page-info')) pageRequests += 1;
  });
  await page.goto(`${server.url}/app/document?collection=shop&path=book.pdf`);
  await waitForPage(page, 1);
  await turnPages(t, page);
  await zoomPage(t, page);
  await useThumbnails(t, page);
  t.ok(pageRequests < 60, `${pageRequests} requests for ${pageCount} pages`);
  await waitFor('all visible thumbnails are loaded', async () =>
    (await page.evaluate<boolean>(
      `[...document.querySelectorAll('.thumbnail-image')].filter((each) => each.checkVisibility()).every((each) => each.querySelector('img')?.complete)`,
    ))
      ? true
      : null,
  );
  await page.getByText('Both', { exact: true }).click();
  await inspectInAllThemes(t, page, 'document-viewer');
  t.same(problems, []);
}

async function waitForPage(page: Page, number: number): Promise<void> {
  await page.getByRole('heading', { name: `Page ${number} of ${pageCount}` }).waitFor();
  await page.getByAltText(`Rendered page ${number}`, { exact: true }).waitFor();
}

async function turnPages(t: Test, page: Page): Promise<void> {
  const { keyboard } = page;
  for (const [key, number] of [
    ['ArrowRight', 2],
    ['PageDown', 3],
    ['ArrowLeft', 2],
    ['PageUp', 1],
    ['PageUp', 1],
  ] as const) {
    await keyboard.press(key);
    await waitForPage(page, number);
  }
  await page.getByRole('radio', { name: 'Both' }).focus();
  await keyboard.press('ArrowRight');
  t.ok(await page.getByRole('radio', { name: 'Text' }).isChecked(), 'a field uses its keys itself');
  await waitFor('the text view', async () =>
    (await page.locator('.page-image').count()) === 0 ? true : null,
  );
  await page.getByText('Image', { exact: true }).click();
  await waitForPage(page, 1);
}

async function zoomPage(t: Test, page: Page): Promise<void> {
  /** Width of the loaded file and of the image on the screen. */
  const widths = () =>
    page.evaluate<[number, number]>(`(() => {
      const { currentSrc, clientWidth, complete } = document.querySelector('.page-image img');
      return [complete ? Number(new URL(currentSrc).searchParams.get('width')) : 0, clientWidth];
    })()`);
  await waitFor('the image is larger than 512 pixels', async () => ((await widths())[0] > 512 ? true : null));
  const [, fit] = await widths();
  t.ok(fit > 480, `${fit} px wide`);
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('+');
  await page.getByRole('button', { name: 'Fit width, now 125%' }).waitFor();
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await waitFor('the zoomed image is sharp', async () => {
    const [loaded, shown] = await widths();
    return shown > 2 * fit - 20 && loaded >= shown ? true : null;
  });
  await page.getByRole('region', { name: 'Image of page 1' }).focus();
  await page.keyboard.press('ArrowRight');
  await waitFor('the zoomed image scrolls', async () =>
    (await page.evaluate<number>(`document.querySelector('.page-image').scrollLeft`)) > 0 ? true : null,
  );
  await page.keyboard.press('0');
  await page.getByRole('button', { name: 'Fit width, now 100%' }).waitFor();
  await page.keyboard.press('-');
  await page.getByRole('button', { name: 'Fit width, now 75%' }).waitFor();
  await page.getByRole('button', { name: 'Fit width, now 75%' }).click();
}

async function useThumbnails(t: Test, page: Page): Promise<void> {
  const thumbnails = page.getByRole('navigation', { name: 'Thumbnails' });
  const entry = (number: number) => thumbnails.getByRole('button', { name: `Page ${number}`, exact: true });
  t.ok((await thumbnails.getByRole('button').count()) < 20, 'only entries in view exist');
  await entry(3).click();
  await waitForPage(page, 3);
  t.equal(await entry(3).getAttribute('aria-current'), 'page');
  await page.keyboard.press('ArrowRight');
  await waitForPage(page, 4);
  await waitFor('the focus follows the page', async () =>
    (await page.evaluate('document.activeElement.getAttribute("aria-current")')) === 'page' ? true : null,
  );
  await thumbnails.evaluate((strip) => strip.scrollTo(0, strip.scrollHeight));
  await entry(pageCount).click();
  await waitForPage(page, pageCount);
  t.ok(await page.getByLabel('Next page').isDisabled());
}
