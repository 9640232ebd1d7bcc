import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { openNavigationEntry, signInAsOperator } from './dashboard-actions.ts';
import { TestServer } from './server.ts';

/** Scenario: a user switches between collections and organizations; each shows only its own data. */
export async function switchingScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t, { RERANKER: 'zerank-1' });
  const api = new CheckedApiClient(server);
  for (const collection_name of ['alpha', 'beta'])
    await api.call('collections/add-collection', { collection_name });
  await api.add('beta', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await switchCollections(t, page);
  await closeDialogByClick(t, page);

  await openNavigationEntry(page, 'Documents');
  await page.getByRole('link', { name: 'refunds.txt' }).waitFor();
  t.equal(await page.getByLabel('Collection').inputValue(), 'beta', 'the last used collection');
  await page.getByRole('link', { name: 'refunds.txt' }).click();
  await page.getByText('Page 1 of 1').waitFor();

  await switchOrganizations(t, page, server);
  await checkPollingWhileVisible(t, page);
  await switchInAnotherTab(page, server);
  t.same(problems, []);
}

async function switchCollections(t: Test, page: Page): Promise<void> {
  const results = page.getByRole('region', { name: 'Results' });
  await openNavigationEntry(page, 'Search');
  await waitFor('the query field has the focus', async () =>
    (await page.evaluate('document.activeElement.tagName')) === 'TEXTAREA' ? true : null,
  );
  await page.getByLabel('Collection').selectOption('beta');
  const request = page.waitForRequest('**/v1/queries/top-snippets');
  const rerankers = page.getByLabel('Reranker');
  await rerankers.getByRole('option', { name: 'Default: zerank-1' }).waitFor({ state: 'attached' });
  t.ok((await rerankers.getByRole('option').allTextContents()).includes('zerank-2'));
  await rerankers.selectOption('None');
  await page.getByLabel('Query').fill('When are refunds paid?');
  await page.keyboard.press('Enter');
  t.match((await request).postDataJSON(), { collection_name: 'beta', reranker: null });
  await results.getByText('within fourteen days').waitFor();
  await page.getByLabel('Collection').selectOption('alpha');
  await results.getByText('Search your documents').waitFor();
  await page.getByLabel('Collection').selectOption('beta');
  await results.getByText('within fourteen days').waitFor();
}

async function closeDialogByClick(t: Test, page: Page): Promise<void> {
  const code = page.getByRole('button', { name: 'Copy as code' });
  await code.click();
  await page.getByRole('dialog').waitFor();
  await page.mouse.click(640, 790);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  t.ok(
    await code.evaluate((button) => button === button.ownerDocument.activeElement),
    'closing a dialog by a click outside restores the focus',
  );
}

async function switchOrganizations(t: Test, page: Page, server: TestServer): Promise<void> {
  const switcher = page.getByRole('button', { name: /^Organization: / });
  const select = async (name: string) => {
    await switcher.click();
    await page.getByRole('button', { name: new RegExp(`^${name} `) }).click();
  };
  await switcher.click();
  await page.getByRole('link', { name: 'Create or join an organization' }).click();
  await page.getByLabel('Name').fill('Second');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Follow these steps to get started.').waitFor();
  await openNavigationEntry(page, 'Search');
  await page.getByRole('heading', { name: 'No documents to search' }).waitFor();

  await select('default');
  await page.getByRole('region', { name: 'Results' }).getByText('within fourteen days').waitFor();
  await page.goto(`${server.url}/app/document?collection=beta&path=refunds.txt`);
  await page.getByText('Page 1 of 1').waitFor();
  await select('Second');
  await page.getByRole('heading', { name: 'No documents yet' }).waitFor();
  t.match(page.url(), /\/app\/documents$/, 'the URL names no data of the other organization');
}

/** Another tab starts with the same organization, then keeps its own; a sign-out ends the session in both tabs. */
async function switchInAnotherTab(page: Page, server: TestServer): Promise<void> {
  const other = await page.context().newPage();
  await other.goto(`${server.url}/app/`);
  await other.getByRole('button', { name: /^Organization: Second/ }).waitFor();
  await other.getByRole('button', { name: /^Organization: / }).click();
  await other.getByRole('button', { name: /^default / }).click();
  await other.getByRole('button', { name: /^Organization: default/ }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: /^Organization: Second/ }).waitFor();
  await other.getByRole('button', { name: /account and appearance$/ }).click();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  await page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
}

/** An idle page polls with increasing intervals, and not at all while it is hidden. */
async function checkPollingWhileVisible(t: Test, page: Page): Promise<void> {
  await page.clock.install();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.waitForLoadState('networkidle');
  let requestCount = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/status/get-status')) requestCount += 1;
  });
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await page.clock.runFor(1_000);
    await page.waitForLoadState('networkidle');
  }
  t.ok(requestCount > 3 && requestCount < 12, `${requestCount} polls per minute`);
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
  requestCount = 0;
  await page.clock.runFor(600_000);
  t.equal(requestCount, 0, 'no polls while hidden');
  await page.evaluate(`
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  `);
  await waitFor('polling resumes immediately', async () => (requestCount > 0 ? true : null));
  await page.clock.resume();
}
