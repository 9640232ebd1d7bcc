import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { TestServer } from './server.ts';

const openKeys = 'Control+k';

/** Scenario: keys open the search, the list of shortcuts and the command palette, but not while the user types. */
export async function shortcutsScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  for (const collection_name of ['contracts', 'handbook', 'mail <b>archive</b>'])
    await api.call('collections/add-collection', { collection_name });
  await api.add('handbook', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, problems } = await openPage(t, browser);
  const palettePath = /\/assets\/command-palette-/;
  let paletteLoads = 0;
  page.on('request', (request) => {
    if (palettePath.test(request.url()) && request.url().endsWith('.js')) paletteLoads += 1;
  });
  await page.goto(`${server.url}/app/`);
  await page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  await page.keyboard.press(openKeys);
  t.equal(await page.getByRole('dialog').count(), 0, 'no palette for signed-out visitors');
  await signInAsOperator(page, server);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await openSearchByKey(t, page);
  await showShortcuts(t, page);
  t.equal(paletteLoads, 0, 'the code of the palette is loaded at first use');
  await usePalette(t, page);
  await inspectInAllThemes(t, page, 'palette');
  await page.keyboard.press('Escape');
  await runCommands(t, page);
  t.same(problems, []);
}

async function openSearchByKey(t: Test, page: Page): Promise<void> {
  await page.keyboard.press('/');
  await page.getByRole('heading', { name: 'Search', level: 1 }).waitFor();
  const query = page.getByLabel('Query');
  await waitFor('the query has the focus', async () =>
    (await query.evaluate((field) => field === field.ownerDocument.activeElement)) ? true : null,
  );
  await page.keyboard.type('a/b?');
  t.equal(await query.inputValue(), 'a/b?', 'keys are text while the user types');
  t.equal(await page.getByRole('dialog').count(), 0);
  await page.getByRole('heading', { name: 'Search', level: 1 }).focus();
  await page.keyboard.press('/');
  await waitFor('the query is selected', async () =>
    (await page.evaluate('document.activeElement.selectionEnd')) === 4 ? true : null,
  );
}

async function showShortcuts(t: Test, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await page.getByRole('heading', { name: 'Search', level: 1 }).focus();
  await page.keyboard.press('?');
  await dialog.getByText('Open the command palette').waitFor();
  await inspectInAllThemes(t, page, 'shortcuts');
  await page.keyboard.press(openKeys);
  t.equal(await page.getByRole('dialog').count(), 1, 'an open dialog stays the only one');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

async function usePalette(t: Test, page: Page): Promise<void> {
  await page.getByLabel('Query').focus();
  await page.keyboard.press(openKeys);
  const field = page.getByRole('combobox', { name: 'Page, collection or action' });
  await waitFor('the palette has the focus', async () =>
    (await field.evaluate((input) => input === input.ownerDocument.activeElement)) ? true : null,
  );
  const list = page.getByRole('listbox', { name: 'Commands' });
  const options = list.getByRole('option');
  const selected = list.getByRole('option', { selected: true });
  await list.getByRole('option', { name: 'handbook' }).waitFor();
  t.equal(await selected.textContent(), 'Overview');
  t.equal(await field.getAttribute('aria-activedescendant'), await selected.getAttribute('id'));
  await page.keyboard.press('ArrowUp');
  t.equal(await selected.textContent(), 'Sign out', 'the list is a ring');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  t.equal(await selected.textContent(), 'Search');
  await field.fill('hndb');
  t.same(await options.allTextContents(), ['handbook', 'Search documents for “hndb”']);
  await field.fill('');
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  t.equal(await page.evaluate('document.activeElement.tagName'), 'TEXTAREA', 'the focus returns');
  await page.keyboard.press(openKeys);
  await list.getByRole('option', { name: 'mail <b>archive</b>' }).waitFor();
}

async function runCommands(t: Test, page: Page): Promise<void> {
  const commands = page.getByRole('listbox', { name: 'Commands' });
  const choose = async (typed: string, option?: string) => {
    await page.keyboard.press(openKeys);
    await page.getByRole('combobox', { name: 'Page, collection or action' }).fill(typed);
    if (option !== undefined) await commands.getByRole('option', { name: option, exact: true }).waitFor();
    await page.keyboard.press('Enter');
  };
  // The palette loads the collections when it opens.
  await choose('handbook', 'handbook');
  await page.getByRole('link', { name: 'refunds.txt' }).waitFor();
  await choose('api keys');
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await choose('dark app');
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
  await choose('keyboard');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await choose('When are refunds paid?');
  await page.getByRole('region', { name: 'Results' }).getByText('within fourteen days').waitFor();
  await choose('fourteen days');
  const query = page.getByLabel('Query');
  await waitFor('a search from the search page', async () =>
    (await query.inputValue()) === 'fourteen days' ? true : null,
  );
  await page.getByRole('button', { name: 'Go to…' }).click();
  await page.getByRole('option', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
}
