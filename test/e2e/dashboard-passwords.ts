import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { signInAgain } from './dashboard-actions.ts';
import { administratorPasswordHash, inspect, signInAsAdministrator, themes } from './dashboard-pages.ts';
import { TestServer } from './server.ts';

const email = 'grace@example.com';
const passwords = {
  first: 'seven quiet lamps under rain',
  changed: 'a kettle sings for nine owls',
  replaced: 'blue tin roofs above the harbor',
} as const;

/** Scenario without mail: invitation link, account with a password, change, sign-in, and a password link. */
export async function passwordScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t, { ADMIN_PASSWORD_HASH: administratorPasswordHash() });
  const owner = await openPage(t, browser);
  const guest = await openPage(t, browser, themes['light-narrow']);
  await signInAgain(owner.page, server);

  await guest.page.goto(await createInvitation(owner.page));
  await guest.page.getByRole('heading', { name: 'Accept the invitation' }).waitFor();
  await inspect(t, guest.page, 'join-password');
  t.equal(await guest.page.getByLabel('Email').inputValue(), email);
  await guest.page.getByLabel('Choose a password').fill('password1234');
  await guest.page.getByRole('button', { name: 'Create account and join' }).click();
  await guest.page.getByText('This password is too weak').waitFor();
  await guest.page.getByLabel('Choose a password').fill(passwords.first);
  await guest.page.getByRole('button', { name: 'Create account and join' }).click();
  await guest.page.waitForURL('**/app/');
  await guest.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

  await guest.page.goto(`${server.url}/app/settings`);
  await guest.page.getByLabel('Current password').fill(passwords.first);
  await guest.page.getByLabel('New password').fill(passwords.changed);
  await guest.page.getByRole('button', { name: 'Change password' }).click();
  await guest.page.getByText('Password saved.').waitFor();

  await guest.context.clearCookies();
  await guest.page.goto(`${server.url}/app/keys`);
  await guest.page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  await inspect(t, guest.page, 'sign-in-password');
  await signInWith(guest.page, passwords.first);
  await guest.page.getByText('The email address or the password is wrong.').waitFor();
  await signInWith(guest.page, passwords.changed);
  await guest.page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();

  await guest.page.goto(await createPasswordLink(owner.page, server));
  await guest.page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
  await inspect(t, guest.page, 'password-link');
  await guest.page.getByLabel('New password').fill(passwords.replaced);
  await guest.page.getByRole('button', { name: 'Save password' }).click();
  await guest.page.waitForURL('**/app/');
  await guest.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  t.same([...owner.problems, ...guest.problems.filter((problem) => !/status of 400/.test(problem))], []);
}

/** Invites the guest and returns the link that the dialog shows. */
export async function createInvitation(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('button', { name: 'Invite member' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email address').fill(email);
  await dialog.getByRole('button', { name: 'Send invitation' }).click();
  return (await dialog.locator('.secret code').textContent()) ?? '';
}

async function signInWith(page: Page, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function createPasswordLink(page: Page, server: TestServer): Promise<string> {
  await signInAsAdministrator(page, server);
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Users' }).click();
  await page.getByRole('button', { name: `Manage ${email}` }).click();
  await page.getByRole('button', { name: 'Password link' }).click();
  return (await page.getByRole('dialog').locator('code').textContent()) ?? '';
}
