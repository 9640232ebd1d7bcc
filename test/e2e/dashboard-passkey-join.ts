import type { Browser } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { inspect, themes } from './dashboard-pages.ts';
import { addAuthenticator } from './dashboard-passkeys.ts';
import { createInvitation } from './dashboard-passwords.ts';
import { TestServer } from './server.ts';

/** Scenario without mail: an invitation link, an account with a passkey, and its autofill at the next sign-in. */
export async function passkeyJoinScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  // Browsers support passkeys at host names only.
  const local = server.url.replace('127.0.0.1', 'localhost');
  const owner = await openPage(t, browser);
  await owner.page.goto(
    (/\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '').replace(server.url, local),
  );
  await owner.page.getByRole('button', { name: 'Sign in' }).click();
  await owner.page.waitForURL('**/app/');

  const { page, context, problems } = await openPage(t, browser, themes['light-narrow']);
  const authenticator = await addAuthenticator(await context.newCDPSession(page));
  await page.goto(await createInvitation(owner.page));
  await page.getByRole('heading', { name: 'Accept the invitation' }).waitFor();
  await inspect(t, page, 'join-passkey');
  await page.getByRole('button', { name: 'Use a password instead' }).click();
  await page.getByLabel('Choose a password').waitFor();
  await page.getByRole('button', { name: 'Use a passkey instead' }).click();
  await page.getByLabel('Name').fill('Grace');
  const join = page.getByRole('button', { name: 'Create a passkey and join' });
  await authenticator.setUserVerified(false);
  await join.click();
  await page.locator('button[aria-busy=false]', { hasText: 'Create a passkey and join' }).waitFor();
  t.equal(
    await page.getByRole('heading', { name: 'Accept the invitation' }).count(),
    1,
    'an unverified user',
  );
  await authenticator.setUserVerified(true);
  await join.click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.goto(`${local}/app/settings`);
  const row = page.getByRole('table', { name: 'Passkeys' }).getByRole('row').nth(1);
  await row.getByText('Passkey', { exact: true }).waitFor();
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Grace');

  await authenticator.setUserPresent(false);
  await context.clearCookies();
  await page.goto(`${local}/app/keys`);
  const field = page.getByLabel('Email');
  t.equal(await field.getAttribute('autocomplete'), 'username webauthn');
  await inspect(t, page, 'sign-in-autofill');
  await authenticator.setUserPresent(true);
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
  t.same([...owner.problems, ...problems], []);
}
