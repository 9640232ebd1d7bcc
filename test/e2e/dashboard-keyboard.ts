import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { focusByTab, signInAsOperator } from './dashboard-actions.ts';
import { handbook } from './dashboard-first-run.ts';
import { administratorPasswordHash } from './dashboard-pages.ts';
import { TestServer } from './server.ts';

/** Focuses an element with Tab and activates it with a key. */
async function press(
  page: Page,
  role: 'button' | 'link',
  name: string | RegExp,
  key: 'Enter' | 'Space' = 'Enter',
): Promise<void> {
  await focusByTab(page, page.getByRole(role, { name, exact: true }));
  await page.keyboard.press(key);
}

/** Scenario: from the printed link to a search result and an API key with the keyboard only. */
export async function keyboardScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.add('notes', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, problems } = await openPage(t, browser);
  await page.goto(/https?:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? 'no link');
  await press(page, 'button', 'Sign in', 'Space');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await searchByKeyboard(t, page);
  await page.reload();
  const secret = await createKeyByKeyboard(t, page);
  t.equal(await new CheckedApiClient(server, secret).status('collections/get-collection-list', {}), 200);
  await closeKeyDialog(t, page);
  await useCollapsedNavigation(t, page);
  await openMenuByKeyboard(t, page);
  t.same(problems, []);
}

async function searchByKeyboard(t: Test, page: Page): Promise<void> {
  await press(page, 'link', 'Search');
  await page.getByRole('heading', { name: 'Search', level: 1 }).waitFor();
  await focusByTab(page, page.getByLabel('Query'));
  await page.keyboard.type('when are refunds paid');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Results' }).getByText('within fourteen days').waitFor();

  await page.reload();
  await press(page, 'link', 'Skip to content');
  t.equal(await page.evaluate('document.activeElement.id'), 'page', 'the link skips the navigation');
}

/** Creates a key and returns its secret. */
async function createKeyByKeyboard(t: Test, page: Page): Promise<string> {
  const { keyboard } = page;
  await press(page, 'link', 'API keys');
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await press(page, 'button', 'Create key');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  t.equal(await focusedElementName(page), 'Name', 'a form focuses its first field');
  await keyboard.type('By hand');
  await keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Save your key' }).waitFor();
  await keyboard.press('Escape');
  t.ok(await dialog.isVisible(), 'Escape does not lose the key');
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  await confirmSavedKey(page);
  return secret;
}

async function confirmSavedKey(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await focusByTab(page, dialog.getByLabel('I saved the key'));
  await page.keyboard.press('Space');
  await press(page, 'button', 'Done');
  await dialog.waitFor({ state: 'detached' });
}

async function closeKeyDialog(t: Test, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await press(page, 'button', 'Edit By hand');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await focusedElementName(page), 'Edit By hand', 'the focus returns to the button');
}

async function useCollapsedNavigation(t: Test, page: Page): Promise<void> {
  const collections = page.getByRole('link', { name: 'Collections' });
  const openMenu = async () => {
    await focusByTab(page, page.getByLabel('Menu', { exact: true }));
    await page.keyboard.press('Enter');
  };
  await page.setViewportSize({ width: 768, height: 800 });
  await openMenu();
  await focusByTab(page, collections);
  await page.keyboard.press('Escape');
  t.notOk(await collections.isVisible(), 'the navigation is collapsed again');
  t.equal(await focusedElementName(page), 'Menu');
  await page.keyboard.press('Enter');
  await press(page, 'link', 'Collections');
  await page.getByRole('button', { name: 'Actions for notes' }).waitFor();
  await openMenu();
  await press(page, 'link', 'Collections');
  t.notOk(await collections.isVisible(), 'the navigation collapses for the current page, too');
}

async function openMenuByKeyboard(t: Test, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await press(page, 'button', 'Actions for notes');
  await press(page, 'button', 'Delete…');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await focusedElementName(page), 'Actions for notes', 'the focus returns to the menu button');
}

/** Accessible name of the focused element; `body` if no element has the focus. */
function focusedElementName(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body) return 'body';
    return activeElement.getAttribute('aria-label') ?? activeElement.labels?.[0]?.textContent ?? activeElement.textContent.trim();
  })()`);
}

/** The focus stays at the expected element when elements are removed, load late, or navigate. */
export async function focusScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t, { ADMIN_PASSWORD_HASH: administratorPasswordHash() });
  const api = new CheckedApiClient(server);
  for (const collection_name of ['kept', 'notes', 'other'])
    await api.call('collections/add-collection', { collection_name });
  const pdf = { type: 'auto', base64_data: Buffer.from(handbook).toString('base64') } as const;
  await api.add('notes', 'handbook.pdf', pdf);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await checkInitialFocus(t, page, server);
  await revokeKeys(t, page);
  await deleteInvitation(page);
  await exportAuditLog(page);
  await turnToLastPage(page);
  await deleteCollection(page);
  t.same(
    problems.filter((line) => !/status of 404/.test(line)),
    [],
  );
}

function waitForFocus(page: Page, name: string, reason: string): Promise<true> {
  return waitFor(reason, async () => ((await focusedElementName(page)) === name ? true : null));
}

async function checkInitialFocus(t: Test, page: Page, server: TestServer): Promise<void> {
  for (const [address, heading] of [
    ['', 'Overview'],
    ['sign-in', 'Overview'],
    ['admin', 'Administration'],
    ['document?collection=notes&path=none', 'Document'],
    ['keys', 'API keys'],
  ] as const) {
    await page.goto(`${server.url}/app/${address}`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    const message = `a visit to /app/${address} starts at the beginning of the page`;
    t.equal(await focusedElementName(page), 'body', message);
  }
}

/** Creates two keys, then revokes them. Expects the keys page. */
async function revokeKeys(t: Test, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  for (const name of ['One', 'Two']) {
    await press(page, 'button', 'Create key');
    await dialog.waitFor();
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await confirmSavedKey(page);
    t.equal(await focusedElementName(page), 'Create key');
  }
  await press(page, 'button', 'Revoke One');
  for (const next of ['Two', 'QUARRY_API_KEY']) {
    await dialog.waitFor();
    t.equal(await focusedElementName(page), 'Cancel', 'a destructive button is not focused first');
    await press(page, 'button', 'Revoke key');
    await waitForFocus(page, `Revoke ${next}`, `the focus moves to ${next}, in place of the revoked key`);
    await page.keyboard.press('Enter');
  }
  await page.keyboard.press('Escape');
}

async function deleteInvitation(page: Page): Promise<void> {
  await press(page, 'link', 'Members');
  await press(page, 'button', 'Invite member');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('grace@example.com');
  await page.keyboard.press('Enter');
  await waitForFocus(page, 'Done', 'a dialog without a form focuses its first button');
  await page.keyboard.press('Enter');
  await press(page, 'button', 'Delete invitation for grace@example.com');
  await press(page, 'button', 'Delete invitation');
  await page.getByText('No pending invitations.').waitFor();
  await waitForFocus(page, 'Leave', 'after a removed list, the focus moves to the preceding element');
}

async function exportAuditLog(page: Page): Promise<void> {
  await press(page, 'link', 'Audit log');
  await press(page, 'button', 'Export');
  await press(page, 'button', 'CSV, for spreadsheets');
  await page.getByText(/entries exported/).waitFor();
  await waitForFocus(page, 'Export', 'the focus returns to the menu after an export');
}

async function turnToLastPage(page: Page): Promise<void> {
  await press(page, 'link', 'Collections');
  await press(page, 'link', 'notes');
  await press(page, 'link', 'handbook.pdf');
  await page.getByRole('heading', { name: /^Page 1 of / }).waitFor();
  const nextPage = page.getByLabel('Next page');
  await focusByTab(page, nextPage);
  while (!(await nextPage.isDisabled())) await page.keyboard.press('Enter');
  await waitForFocus(page, 'Previous page', 'on the last page, the focus moves to the previous-page button');
}

async function deleteCollection(page: Page): Promise<void> {
  await press(page, 'link', 'Collections');
  await press(page, 'button', 'Actions for notes');
  await press(page, 'button', 'Delete…');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('notes');
  await page.keyboard.press('Enter');
  await waitForFocus(page, 'Actions for other', 'the focus moves to the next row');
}
