import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
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
