import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { openSearchPage, signInAgain, signInAsOperator } from './dashboard-actions.ts';
import { useSearchOptions } from './dashboard-search-options.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { TestServer } from './server.ts';

/** Scenario: filter by conditions, compare settings, read the latency, and repeat a query of the history. */
export async function searchScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  for (const collection_name of ['shop', 'other'])
    await api.call('collections/add-collection', { collection_name });
  for (const year of ['2023', '2024', '2025'])
    await api.add('shop', `rules/${year}.txt`, `Refunds of ${year} are paid within fourteen days.`, {
      metadata: { year, 'list:tags': ['money', year], final: year === '2025' },
    });
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await openSearchPage(page);
  await page.getByLabel('Collection').selectOption('shop');
  await buildFilter(t, page);
  await readLatency(page);
  await compareSettings(t, page);
  await inspectInAllThemes(t, page, 'search-comparison');
  await repeatQuery(t, page);
  await useSearchOptions(t, page, server);
  await endHistory(t, page, server);
  t.same(problems, []);
}

async function buildFilter(t: Test, page: Page): Promise<void> {
  await page.getByLabel('Query').fill('When are refunds paid?');
  await page.getByRole('button', { name: 'Add condition' }).click();
  await page.getByLabel('Field 1').fill('year');
  await page.getByLabel('Operator 1').selectOption('is at least');
  await page.getByLabel('Value 1').fill('2024');
  await page.getByRole('button', { name: 'Add condition' }).click();
  await page.getByLabel('Field 2').fill('list:tags');
  t.same(await page.getByLabel('Operator 2').locator('option').allTextContents(), [
    'is one of',
    'is none of',
  ]);
  await page.getByLabel('Value 2').fill('2024, 2023');
  const filter = { $and: [{ year: { $gte: '2024' } }, { 'list:tags': { $in: ['2024', '2023'] } }] };
  await page.getByText(JSON.stringify(filter), { exact: true }).waitFor();
  const request = page.waitForRequest('**/v1/queries/top-snippets');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  t.same((await request).postDataJSON().filter, filter);
  await page.getByText('1 result', { exact: true }).waitFor();
  t.equal(await page.getByRole('region', { name: 'Answer' }).count(), 0, 'no chat model is configured');
  await inspectInAllThemes(t, page, 'search-filter');
  await page.getByText('Any condition', { exact: true }).click();
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('3 results', { exact: true }).waitFor();
  await page.getByText('JSON', { exact: true }).click();
  const json = page.getByLabel('Filter as JSON');
  t.match(JSON.parse(await json.inputValue()), { $or: filter.$and });
  await json.fill('{"year": {"$near": "2024"}}');
  await page.getByText('unknown operator "$near"').waitFor();
  t.ok(await page.getByRole('button', { name: 'Search', exact: true }).isDisabled());
  await page.getByText('Conditions', { exact: true }).click();
  await page.getByText('This filter cannot be shown as conditions.').waitFor();
  await page.getByText('JSON', { exact: true }).click();
  await json.fill('');
  await page.getByText('Conditions', { exact: true }).click();
}

async function readLatency(page: Page): Promise<void> {
  await page.getByText('Latency', { exact: true }).click();
  await page.getByText('Network and browser', { exact: true }).waitFor();
  await page.getByRole('columnheader', { name: 'Strategy' }).waitFor();
}

async function compareSettings(t: Test, page: Page): Promise<void> {
  await page.getByText('Compare settings').click();
  const bodies: { precise_responses?: boolean }[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/queries/top-snippets')) bodies.push(request.postDataJSON());
  });
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const second = page.getByRole('region', { name: 'Second search' });
  await second.getByRole('listitem').nth(2).waitFor();
  t.same(
    bodies.map(({ precise_responses: isPrecise }) => isPrecise),
    [undefined, true],
    'one after the other',
  );
  const first = page.getByRole('region', { name: 'First search' });
  t.equal(await first.getByRole('listitem').count(), 3);
  await page.getByText('Both searches find the same results in the same order.').waitFor();
  t.equal(await second.getByText(/only here/).count(), 0, 'overlapping snippets are the same');
  await second.getByText('Precise snippets: On').waitFor();
  await first.getByText('Precise snippets: Off').waitFor();
  await page.waitForURL(/&compare=true&compare-precise=true$/);
  await page.reload();
  await second.getByRole('listitem').nth(2).waitFor();
}

async function repeatQuery(t: Test, page: Page): Promise<void> {
  await page.getByText('Compare settings').click();
  await page.getByLabel('Collection').selectOption('other');
  await page.getByLabel('Query').fill('parking');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No results' }).waitFor();
  await openHistory(page);
  const entries = page.locator('.history li');
  t.match(await entries.first().textContent(), 'parkingother');
  await page.locator('.history').getByText('When are refunds paid?').last().click();
  await page.getByText('1 result', { exact: true }).waitFor();
  t.equal(await page.getByLabel('Collection').inputValue(), 'shop');
  t.equal(await page.getByLabel('Query').inputValue(), 'When are refunds paid?');
}

/** Scrolls to the button first: a menu closes when the page is scrolled. */
async function openHistory(page: Page): Promise<void> {
  await page.evaluate(`
    window.scrollTo(0, 0);
    new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  `);
  await page.getByRole('button', { name: 'History' }).click();
}

const storedHistories = `Object.keys(localStorage).filter((key) => key.startsWith('quarry.history.')).length`;

/** Another organization has no history, the user can clear it, and a sign-out removes all. */
async function endHistory(t: Test, page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/app/organizations`);
  await page.getByLabel('Name').fill('Second');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Follow these steps to get started.').waitFor();
  t.equal(await page.evaluate(storedHistories), 1);
  await page.getByRole('button', { name: /^Organization: / }).click();
  await page.getByRole('button', { name: /^default / }).click();
  await page.getByRole('button', { name: /^Organization: default/ }).waitFor();
  await page.goto(`${server.url}/app/search?collection=shop`);
  await openHistory(page);
  await page.getByRole('button', { name: 'Clear history' }).click();
  t.equal(await page.evaluate(storedHistories), 0);
  await page.getByLabel('Query').fill('refunds');
  await page.keyboard.press('Enter');
  await waitFor('the query is recorded', async () =>
    (await page.evaluate(storedHistories)) === 1 ? true : null,
  );
  await page.goto(`${server.url}/app/`);
  await page.getByRole('button', { name: /account and appearance$/ }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  t.equal(await page.evaluate(storedHistories), 0);
  await signInAgain(page, server);
  await openSearchPage(page);
  await openHistory(page);
  await page.getByText('Queries that you run appear here.').waitFor();
}
