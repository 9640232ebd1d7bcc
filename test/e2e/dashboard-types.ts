import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { focusByTab, openNavigationEntry, signInAsOperator } from './dashboard-actions.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { TestServer } from './server.ts';

/** Paths by the type of file that the filter of the documents page has for them. */
const pathsByType = {
  'Text and Markdown': ['guide.md', 'LOUD.TXT', 'notes.txt'],
  Spreadsheets: ['prices.csv'],
  'Web pages': ['page.html'],
  Data: ['data.json'],
  PDF: [],
} as const;
const paths = [...Object.values(pathsByType).flat(), 'main.rs'];

/** Scenario: the type of file filters the documents, and the type of result changes what a search returns. */
export async function typesScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'mixed' });
  for (const path of paths) await api.add('mixed', path, `Refunds are paid within fourteen days (${path}).`);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.goto(`${server.url}/app/documents?collection=mixed`);
  await filterByFileType(t, page);
  await changeResultType(t, page);
  t.same(problems, []);
}

async function filterByFileType(t: Test, page: Page): Promise<void> {
  const rows = page.getByRole('table', { name: 'Documents' }).locator('.virtual-row a');
  const type = page.getByLabel('Type');
  const count = (number: number) =>
    page.getByText(number === 1 ? '1 document' : `${number} documents`, { exact: true }).waitFor();
  await count(paths.length);
  for (const [label, expected] of Object.entries(pathsByType)) {
    const request = page.waitForRequest('**/documents/get-document-info-list');
    await type.selectOption({ label });
    t.ok(
      ((await request).postDataJSON().extensions as string[]).length > 0,
      `${label} is sent to the server`,
    );
    if (expected.length === 0) await page.getByText('No matching documents').waitFor();
    else {
      await count(expected.length);
      t.same((await rows.allTextContents()).sort(), [...expected].sort(), label);
    }
  }
  await inspectInAllThemes(t, page, 'documents-type-empty');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await count(paths.length);
  await focusByTab(page, type);
  await page.keyboard.type('Web');
  await count(1);
  await page.waitForURL(/type=web/);
  await inspectInAllThemes(t, page, 'documents-type');
  await page.reload();
  await count(1);
  t.same(await rows.allTextContents(), ['page.html'], 'the URL has the type');
}

/** Snippets, pages and documents are different operations of the API. */
async function changeResultType(t: Test, page: Page): Promise<void> {
  await openNavigationEntry(page, 'Search');
  await page.getByLabel('Query').fill('when are refunds paid');
  for (const [label, operation] of [
    ['Snippets', 'top-snippets'],
    ['Pages', 'top-pages'],
    ['Documents', 'top-documents'],
  ] as const) {
    await page.getByRole('group', { name: 'Result type' }).getByText(label, { exact: true }).click();
    const request = page.waitForRequest(`**/v1/queries/${operation}`);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await request;
    await page.getByText(`${paths.length} results`, { exact: true }).waitFor();
    await page.locator('.results-pane[aria-busy="false"]').waitFor();
    const excerpts = await page.locator('.result .excerpt').count();
    t.equal(excerpts > 0, label !== 'Documents', `${label}: ${excerpts} texts`);
  }
}
