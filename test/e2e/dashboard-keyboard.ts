import type { Browser } from 'playwright-core';
import type { Test } from 'tap';
import { Api } from './api.ts';
import { openPage } from './browser.ts';
import { tabTo } from './dashboard-people.ts';
import { TestServer } from './server.ts';

/** From the printed link to an answer and a key, without ever touching a pointer. */
export async function keyboardStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new Api(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.add('notes', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, troubles } = await openPage(t, browser);
  const { keyboard } = page;
  const press = async (role: 'button' | 'link', name: string | RegExp, key = 'Enter') => {
    await tabTo(page, page.getByRole(role, { name, exact: true }));
    await keyboard.press(key);
  };

  await page.goto(/https?:\S+verify\?token=\S+/.exec(server.printed)?.[0] ?? 'no link');
  await press('button', 'Sign in', 'Space');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await press('link', 'Playground');
  await page.getByRole('heading', { name: 'Playground' }).waitFor();
  await tabTo(page, page.getByLabel('Question'));
  await keyboard.type('when are refunds paid');
  await keyboard.press('Enter');
  await page.getByRole('region', { name: 'Answers' }).getByText('within fourteen days').waitFor();

  await page.reload();
  await press('link', 'Skip to the page');
  t.equal(await page.evaluate('document.activeElement.id'), 'page', 'the way past the navigation');

  await page.reload();
  await press('link', 'API keys');
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await press('button', 'Create key');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await tabTo(page, dialog.getByLabel('Name'));
  await keyboard.type('By hand');
  await keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Save your key' }).waitFor();
  await keyboard.press('Escape');
  t.ok(await dialog.isVisible(), 'Escape does not lose the key');
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  await tabTo(page, dialog.getByLabel('I saved it'));
  await keyboard.press('Space');
  await press('button', 'Done');
  await dialog.waitFor({ state: 'detached' });
  t.equal(await new Api(server, secret).status('collections/get-collection-list', {}), 200);

  await press('button', 'Change By hand');
  await dialog.waitFor();
  await keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  const focused = await page.evaluate(`document.activeElement.getAttribute('aria-label')`);
  t.equal(focused, 'Change By hand', 'the focus is back where it was');

  await page.setViewportSize({ width: 768, height: 800 });
  await tabTo(page, page.getByLabel('Menu', { exact: true }));
  await keyboard.press('Enter');
  await tabTo(page, page.getByRole('link', { name: 'Collections' }));
  await keyboard.press('Escape');
  t.notOk(
    await page.getByRole('link', { name: 'Collections' }).isVisible(),
    'the navigation is folded again',
  );
  t.equal(await page.evaluate(`document.activeElement.getAttribute('aria-label')`), 'Menu');
  await keyboard.press('Enter');
  await press('link', 'Collections');
  await page.getByRole('button', { name: 'Actions for notes' }).waitFor();
  await tabTo(page, page.getByLabel('Menu', { exact: true }));
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
  const returned = await page.evaluate(`document.activeElement.getAttribute('aria-label')`);
  t.equal(returned, 'Actions for notes', 'the focus is back where the menu is');
  t.same(troubles, []);
}
