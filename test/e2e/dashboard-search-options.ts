import type { Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import type { TestServer } from './server.ts';

/**
 * Uses the options of the search page. The collection `shop` has the documents `rules/2023.txt` to `rules/2025.txt`
 * with the metadata `year`, a text, and `final`, which is true for the last of them.
 */
export async function useSearchOptions(t: Test, page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/app/search?collection=shop`);
  await page.getByLabel('Query').fill('refunds');
  await setOptions(t, page);
  await filterByFacet(t, page);
  await inspectInAllThemes(t, page, 'search-options');
  await editSynonyms(t, page);
  await findSimilar(t, page);
}

/** Runs the query of the form; returns the body of the request. */
async function search(page: Page): Promise<Record<string, unknown>> {
  const request = page.waitForRequest('**/v1/queries/top-*');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  return (await request).postDataJSON();
}

const resultPaths = (page: Page) => page.locator('.result-head a').allTextContents();

async function setOptions(t: Test, page: Page): Promise<void> {
  await page.getByText('Options', { exact: true }).click();
  await page.getByLabel('Facets').fill('year, final');
  await page.getByLabel('Sort field 1').fill('year');
  await page.getByLabel('Order 1').selectOption('Descending');
  await page.getByLabel('Group by').fill('final');
  await page.getByLabel('Highlights').check();
  t.ok(await page.getByLabel('Diversity').isDisabled(), 'the API has no diversity with an order');
  t.match(await search(page), {
    facets: ['year', 'final'],
    sort: [{ field: 'year', order: 'desc' }],
    group_by: { field: 'final' },
    highlights: true,
  });
  await page.getByRole('heading', { name: 'final: true' }).waitFor();
  t.same(await page.locator('.result-group h2').allTextContents(), ['final: true', 'final: false']);
  t.same(await resultPaths(page), ['rules/2025.txt', 'rules/2024.txt', 'rules/2023.txt']);
  t.same(await page.locator('.result mark').allTextContents(), ['Refunds', 'Refunds', 'Refunds']);
  await page.getByRole('button', { name: 'Copy as code' }).click();
  const dialog = page.getByRole('dialog');
  t.match(await dialog.locator('pre').textContent(), /"group_by": \{\s+"field": "final"\s+\}/);
  await dialog.getByRole('button', { name: 'Close' }).click();
}

/** A value of a facet is a condition of the filter. The URL has the options and the filter. */
async function filterByFacet(t: Test, page: Page): Promise<void> {
  const value = page.getByRole('button', { name: '2024 1', exact: true });
  await value.focus();
  await page.keyboard.press('Enter');
  await page.getByText('1 result', { exact: true }).waitFor();
  t.equal(await page.getByLabel('Value 1').inputValue(), '2024');
  await page.getByRole('button', { name: 'false 1', exact: true }).click();
  await page.getByLabel('Type 2').waitFor();
  t.equal(await page.getByLabel('Type 2').inputValue(), 'boolean');
  await page.waitForURL(/filter=.*final.*facets=year/);
  await page.reload();
  await page.getByText('1 result', { exact: true }).waitFor();
  t.equal(await page.getByLabel('Facets').inputValue(), 'year, final', 'the panel is open');
  t.equal(await value.getAttribute('aria-pressed'), 'true');
  await value.click();
  await page.getByText('2 results', { exact: true }).waitFor();
}

/** A query for a synonym finds the words of the documents, which the highlights of the API mark. */
async function editSynonyms(t: Test, page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Edit synonyms' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Words with the same meaning').fill('refund, reimbursement\n');
  await dialog.getByLabel('Stop words').fill('acme, inc');
  await dialog.getByRole('button', { name: 'Save words' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('1 list', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Edit synonyms' }).click();
  t.equal(await dialog.getByLabel('Stop words').inputValue(), 'acme, inc');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByLabel('Query').fill('reimbursement');
  await search(page);
  await page.locator('.result mark', { hasText: 'Refunds' }).first().waitFor();
}

/** A result and a document lead to similar content; the query is optional then. */
async function findSimilar(t: Test, page: Page): Promise<void> {
  const [first = ''] = await resultPaths(page);
  const request = page.waitForRequest('**/v1/queries/top-snippets');
  await page.getByRole('link', { name: 'Find similar' }).first().click();
  t.match((await request).postDataJSON(), { query: '', similar_to: { path: first, start_index: 0 } });
  await page.getByText(`Similar to a part of ${first}`).waitFor();
  await page.locator('.results-pane[aria-busy="false"]').waitFor();
  await page.locator('.result-head a').first().click();
  await page.getByRole('heading', { level: 1, name: /^rules\// }).waitFor();
  const path = await page.getByRole('heading', { level: 1 }).textContent();
  const other = page.waitForRequest('**/v1/queries/top-documents');
  await page.getByRole('link', { name: 'Find similar' }).click();
  t.match((await other).postDataJSON(), { query: '', similar_to: { path } });
  await page.getByText('2 results', { exact: true }).waitFor();
  t.notOk((await resultPaths(page)).includes(path ?? ''), 'the document itself is not a result');
  await page.getByRole('button', { name: 'Search by query instead' }).click();
  t.ok(await page.getByRole('button', { name: 'Search', exact: true }).isDisabled());
}
