import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { focusByTab, openNavigationEntry, signInAsOperator } from './dashboard-actions.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { TestServer } from './server.ts';

const detail = 'The store is not responding. Try again shortly.';
const update = '**/v1/collections/update-collection';
const info = '**/v1/collections/get-collection-info';

/** Scenario: rules that pin and hide documents are added, tried, edited and removed, also with the keyboard only. */
export async function curationsScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'shop' });
  for (const year of ['2023', '2024', '2025'])
    await api.add('shop', `refunds-${year}.txt`, `Refunds of ${year} are paid within fourteen days.`);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await openNavigationEntry(page, 'Collections');
  await failToLoad(t, page);
  await addRule(t, page);
  await tryRule(t, page);
  await editByKeyboard(t, page);
  t.same(await readRules(api), [
    { queries: ['refunds'], pinned: ['refunds-2024.txt'], hidden: ['refunds-2023.txt'] },
  ]);
  await removeRule(t, page);
  t.same(await readRules(api), []);
  await openFromSearch(t, page);
  await openCollection(page);
  t.same(
    problems.filter((line) => !/status of (400|500)/.test(line)),
    [],
  );
}

async function readRules(api: CheckedApiClient) {
  const { body } = await api.request('collections/get-collection-info', { collection_name: 'shop' });
  return (body as { collection: { curations?: unknown[] } }).collection.curations ?? [];
}

const list = (page: Page) => page.getByRole('dialog', { name: 'Pinned and hidden results of shop' });

async function openList(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Actions for shop' }).click();
  await page.getByRole('button', { name: 'Pinned and hidden results…' }).click();
  await list(page).waitFor();
}

/** A dialog that cannot load says so, and loads when the user retries. */
async function failToLoad(t: Test, page: Page): Promise<void> {
  await page.route(info, (route) => route.fulfill({ status: 500, json: { detail } }));
  await openList(page);
  await list(page).getByText(detail).waitFor();
  await inspectInAllThemes(t, page, 'curations-failed');
  await page.unroute(info);
  await list(page).getByRole('button', { name: 'Retry' }).click();
  await list(page).getByText('No rules yet.').waitFor();
  await inspectInAllThemes(t, page, 'curations-empty');
}

/** The input of the user survives an error of the server and a rule that it rejects. */
async function addRule(t: Test, page: Page): Promise<void> {
  await list(page).getByRole('button', { name: 'Add rule' }).click();
  const form = page.getByRole('dialog', { name: 'New rule' });
  await form.getByLabel('Queries').fill('refunds\nmoney back\n');
  const save = form.getByRole('button', { name: 'Save rule' });
  await save.click();
  await form.getByText('has no documents. Set pinned, hidden, or both.').waitFor();
  await form.getByLabel('Pinned documents').fill('refunds-2025.txt\n\n');
  await form.getByLabel('Hidden documents').fill(' refunds-2023.txt');
  await page.route(update, (route) => route.fulfill({ status: 500, json: { detail } }));
  await save.click();
  await form.getByText(detail).waitFor();
  await inspectInAllThemes(t, page, 'curation-form');
  await page.unroute(update);
  await save.click();
  await form.waitFor({ state: 'detached' });
  const rule = list(page).getByRole('listitem');
  t.equal(await rule.count(), 1);
  t.match(
    await rule.textContent(),
    /“refunds”, “money back”Pinned: refunds-2025.txtHidden: refunds-2023.txt/,
  );
  await inspectInAllThemes(t, page, 'curations');
}

/** The results of a query of the rule, and of one that it does not apply to. */
async function tryRule(t: Test, page: Page): Promise<void> {
  await list(page).getByRole('button', { name: 'Try query “refunds”' }).click();
  const trial = page.getByRole('dialog', { name: 'Try query' });
  const results = trial.getByRole('list', { name: 'Results' }).getByRole('listitem');
  await results.first().waitFor();
  t.same(await results.allTextContents(), ['refunds-2025.txt Pinned', 'refunds-2024.txt ']);
  await inspectInAllThemes(t, page, 'curation-trial');
  await trial.getByLabel('Query').fill('refunds of 2023');
  await trial.getByRole('button', { name: 'Search', exact: true }).click();
  await waitUntil('results without the rule', async () => (await results.count()) === 3);
  t.equal(await results.first().textContent(), 'refunds-2023.txt ');
  await page.route('**/v1/queries/top-documents', (route) =>
    route.fulfill({ status: 500, json: { detail } }),
  );
  await trial.getByLabel('Query').fill('refunds');
  await page.keyboard.press('Enter');
  await trial.getByText(detail).waitFor();
  await page.unroute('**/v1/queries/top-documents');
  await trial.getByRole('button', { name: 'Retry' }).click();
  await results.getByText('Pinned').waitFor();
  await trial.getByRole('button', { name: 'Close' }).last().click();
  await trial.waitFor({ state: 'detached' });
}

/** Changes both parts of the rule without a pointer; each dialog returns the focus to the button that opened it. */
async function editByKeyboard(t: Test, page: Page): Promise<void> {
  const edit = list(page).getByRole('button', { name: 'Edit the rule for “refunds”, “money back”' });
  await focusByTab(page, edit);
  await page.keyboard.press('Enter');
  const form = page.getByRole('dialog', { name: 'Edit rule' });
  await form.waitFor();
  t.equal(await form.getByLabel('Queries').inputValue(), 'refunds\nmoney back');
  await page.keyboard.press('Escape');
  await form.waitFor({ state: 'detached' });
  t.ok(await edit.evaluate((element) => element === element.ownerDocument.activeElement));
  await page.keyboard.press('Enter');
  await form.waitFor();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('refunds');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('refunds-2024.txt');
  await focusByTab(page, form.getByRole('button', { name: 'Save rule' }));
  await page.keyboard.press('Enter');
  await form.waitFor({ state: 'detached' });
  await list(page).getByText('“refunds”', { exact: true }).waitFor();
}

async function removeRule(t: Test, page: Page): Promise<void> {
  await list(page).getByRole('button', { name: 'Remove the rule for “refunds”' }).click();
  const question = page.getByRole('dialog', { name: 'Remove the rule for “refunds”?' });
  await inspectInAllThemes(t, page, 'curation-removal');
  await question.getByRole('button', { name: 'Remove rule' }).click();
  await question.waitFor({ state: 'detached' });
  await list(page).getByText('No rules yet.').waitFor();
  const add = list(page).getByRole('button', { name: 'Add rule' });
  await waitUntil('the focus on a button that exists', () =>
    add.evaluate((element) => element === element.ownerDocument.activeElement),
  );
  await list(page).getByRole('button', { name: 'Close' }).last().click();
  await list(page).waitFor({ state: 'detached' });
}

/** The page of the collection shows the rules, and leads to the list. */
async function openCollection(page: Page): Promise<void> {
  await openNavigationEntry(page, 'Collections');
  await page.getByRole('link', { name: 'shop', exact: true }).click();
  await page.getByRole('link', { name: 'refunds-2023.txt' }).waitFor();
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Pinned' }).click();
  await page.getByText('Pinned: refunds-2023.txt').waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await list(page).getByText('“Fourteen days”').waitFor();
}

/** The search page leads to the rules, and a tried query back to the search. */
async function openFromSearch(t: Test, page: Page): Promise<void> {
  await openNavigationEntry(page, 'Search');
  await page.getByText('Options', { exact: true }).click();
  await page.getByRole('button', { name: 'Edit rules' }).click();
  await list(page).getByRole('button', { name: 'Add rule' }).click();
  const form = page.getByRole('dialog', { name: 'New rule' });
  await form.getByLabel('Queries').fill('Fourteen days');
  await form.getByLabel('Pinned documents').fill('refunds-2023.txt');
  await form.getByRole('button', { name: 'Save rule' }).click();
  await page.getByText('1 rule', { exact: true }).waitFor();
  await list(page).getByRole('button', { name: 'Try query “Fourteen days”' }).click();
  await page.getByRole('link', { name: 'Open in search' }).click();
  await list(page).waitFor({ state: 'detached' });
  await page.getByText('3 results', { exact: true }).waitFor();
  t.equal(await page.getByLabel('Query').inputValue(), 'Fourteen days');
  t.equal(await page.locator('.result-head a').first().textContent(), 'refunds-2023.txt');
}
