import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { focusByTab, signInAsOperator } from './dashboard-actions.ts';
import { handbook } from './dashboard-first-run.ts';
import { administratorPasswordHash } from './dashboard-pages.ts';
import { TestServer } from './server.ts';

/** Scenario: from the printed link to an answer and an API key with the keyboard only. */
export async function keyboardStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.add('notes', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, problems } = await openPage(t, browser);
  const { keyboard } = page;
  const press = async (role: 'button' | 'link', name: string | RegExp, key = 'Enter') => {
    await focusByTab(page, page.getByRole(role, { name, exact: true }));
    await keyboard.press(key);
  };

  await page.goto(/https?:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? 'no link');
  await press('button', 'Sign in', 'Space');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await press('link', 'Playground');
  await page.getByRole('heading', { name: 'Playground' }).waitFor();
  await focusByTab(page, page.getByLabel('Query'));
  await keyboard.type('when are refunds paid');
  await keyboard.press('Enter');
  await page.getByRole('region', { name: 'Results' }).getByText('within fourteen days').waitFor();

  await page.reload();
  await press('link', 'Skip to content');
  t.equal(await page.evaluate('document.activeElement.id'), 'page', 'the way past the navigation');

  await page.reload();
  await press('link', 'API keys');
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await press('button', 'Create key');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  t.equal(await focusedElementName(page), 'Name', 'a form begins at its first field');
  await keyboard.type('By hand');
  await keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Save your key' }).waitFor();
  await keyboard.press('Escape');
  t.ok(await dialog.isVisible(), 'Escape does not lose the key');
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  await focusByTab(page, dialog.getByLabel('I saved the key'));
  await keyboard.press('Space');
  await press('button', 'Done');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await new CheckedApiClient(server, secret).status('collections/get-collection-list', {}), 200);

  await press('button', 'Edit By hand');
  await dialog.waitFor();
  await keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await focusedElementName(page), 'Edit By hand', 'the focus is back where it was');

  await page.setViewportSize({ width: 768, height: 800 });
  await focusByTab(page, page.getByLabel('Menu', { exact: true }));
  await keyboard.press('Enter');
  await focusByTab(page, page.getByRole('link', { name: 'Collections' }));
  await keyboard.press('Escape');
  t.notOk(
    await page.getByRole('link', { name: 'Collections' }).isVisible(),
    'the navigation is folded again',
  );
  t.equal(await focusedElementName(page), 'Menu');
  await keyboard.press('Enter');
  await press('link', 'Collections');
  await page.getByRole('button', { name: 'Actions for notes' }).waitFor();
  await focusByTab(page, page.getByLabel('Menu', { exact: true }));
  await keyboard.press('Enter');
  await press('link', 'Collections');
  t.notOk(
    await page.getByRole('link', { name: 'Collections' }).isVisible(),
    'it is folded for the page that is there, too',
  );
  await press('button', 'Actions for notes');
  await press('button', 'Delete…');
  await dialog.waitFor();
  await keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await focusedElementName(page), 'Actions for notes', 'the focus is back where the menu is');
  t.same(problems, []);
}

/** Accessible name of the focused element; `body` if no element has the focus. */
function focusedElementName(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const has = document.activeElement;
    if (has === null || has === document.body) return 'body';
    return has.getAttribute('aria-label') ?? has.labels?.[0]?.textContent ?? has.textContent.trim();
  })()`);
}

/** The focus stays at the expected element when elements are removed, load late, or navigate. */
export async function focusStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t, { ADMIN_PASSWORD_HASH: administratorPasswordHash() });
  const api = new CheckedApiClient(server);
  for (const collection_name of ['kept', 'notes', 'other'])
    await api.call('collections/add-collection', { collection_name });
  const pdf = { type: 'auto', base64_data: Buffer.from(handbook).toString('base64') } as const;
  await api.add('notes', 'handbook.pdf', pdf);
  const { page, problems } = await openPage(t, browser);
  const { keyboard } = page;
  const press = async (role: 'button' | 'link', name: string) => {
    await focusByTab(page, page.getByRole(role, { name, exact: true }));
    await keyboard.press('Enter');
  };
  const isOn = (name: string, why: string) =>
    waitFor(why, async () => ((await focusedElementName(page)) === name ? true : null));
  await signInAsOperator(page, server);

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
    t.equal(
      await focusedElementName(page),
      'body',
      `a visit that begins at /app/${address} begins at its start`,
    );
  }

  const dialog = page.getByRole('dialog');
  for (const name of ['One', 'Two']) {
    await press('button', 'Create key');
    await dialog.waitFor();
    await keyboard.type(name);
    await keyboard.press('Enter');
    await focusByTab(page, dialog.getByLabel('I saved the key'));
    await keyboard.press('Space');
    await press('button', 'Done');
    await dialog.waitFor({ state: 'detached' });
    t.equal(await focusedElementName(page), 'Create key');
  }
  await press('button', 'Revoke One');
  for (const next of ['Two', 'QUARRY_API_KEY']) {
    await dialog.waitFor();
    t.equal(await focusedElementName(page), 'Cancel', 'what cannot be undone is not what Enter does first');
    await press('button', 'Revoke key');
    await isOn(`Revoke ${next}`, `the focus is at ${next}, which is where the revoked one was`);
    await keyboard.press('Enter');
  }
  await keyboard.press('Escape');

  await press('link', 'Members');
  await press('button', 'Invite member');
  await dialog.waitFor();
  await keyboard.type('grace@example.com');
  await keyboard.press('Enter');
  await isOn('Done', 'of a dialog without a form the focus is at its first button');
  await keyboard.press('Enter');
  await press('button', 'Delete invitation for grace@example.com');
  await press('button', 'Delete invitation');
  await page.getByText('No pending invitations.').waitFor();
  await isOn('Leave', 'of a list that is gone the focus is at what came before it');

  await press('link', 'Audit log');
  await press('button', 'Export');
  await press('button', 'CSV, for spreadsheets');
  await page.getByText(/entries exported/).waitFor();
  await isOn('Export', 'what was saved can be saved again');

  await press('link', 'Collections');
  await press('link', 'notes');
  await press('link', 'handbook.pdf');
  await page.getByRole('heading', { name: /^Page 1 of / }).waitFor();
  await focusByTab(page, page.getByLabel('Next page'));
  while (!(await page.getByLabel('Next page').isDisabled())) await keyboard.press('Enter');
  await isOn('Previous page', 'from the last page there is only a way back');

  await press('link', 'Collections');
  await press('button', 'Actions for notes');
  await press('button', 'Delete…');
  await dialog.waitFor();
  await keyboard.type('notes');
  await keyboard.press('Enter');
  await isOn('Actions for other', 'the focus is at what comes next');
  t.same(
    problems.filter((line) => !/status of 404/.test(line)),
    [],
  );
}
