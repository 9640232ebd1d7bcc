import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { createFolder } from './backup-commands.ts';
import { openPage } from './browser.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { tryOperations, useSections } from './dashboard-administration.ts';
import { administratorPasswordHash, password } from './dashboard-pages.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { freePort } from './free-port.ts';
import { openIdIssuer } from './openid-issuer.ts';
import { TestServer } from './server.ts';

/** Sign-in without a mailed link: with an identity provider, and with the administrator's password. */

/** Sign-in at a provider returns to the requested page; a user with an unverified address is told the reason. */
export async function providerScenario(t: Test, browser: Browser): Promise<void> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const issuer = await openIdIssuer(t, `${base}/api/auth/google/auth`);
  await TestServer.start(t, {
    PORT: String(port),
    BASE_URL: base,
    GOOGLE_CLIENT_ID: 'quarry',
    GOOGLE_CLIENT_SECRET: 'a-secret-between-the-two',
    OIDC_ISSUER: issuer,
  });
  const signInAtProvider = async (login: string, { page }: Awaited<ReturnType<typeof openPage>>) => {
    await page.goto(`${base}/app/settings`);
    await page.getByRole('link', { name: 'Continue with Google' }).click();
    await page.waitForURL(`${issuer}/**`);
    await page.locator('[name=login]').fill(login);
    await page.locator('[name=password]').fill('x');
    await page.locator('[type=submit]').click();
    await page.getByRole('heading', { name: 'Authorize' }).waitFor();
    await page.locator('[type=submit]').click();
  };
  const verified = await openPage(t, browser);
  await verified.page.goto(`${base}/app/`);
  await verified.page.getByRole('link', { name: 'Continue with Google' }).waitFor();
  await inspectInAllThemes(t, verified.page, 'sign-in-provider');
  await signInAtProvider('ada@example.com', verified);
  await verified.page.waitForURL(`${base}/app/settings`);
  await verified.page.getByText('ada@example.com').first().waitFor();

  const unverified = await openPage(t, browser);
  await signInAtProvider('new@example.com', unverified);
  await unverified.page.getByText('has not verified your email address').waitFor();
  await unverified.page.getByRole('link', { name: 'Go to the dashboard' }).click();
  await unverified.page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  t.same([...verified.problems, ...unverified.problems.filter((line) => !line.includes('403'))], []);
}

/** Signs in with the password alone, beside a user's own session, and signs out. */
export async function administratorScenario(t: Test, browser: Browser): Promise<void> {
  const backupTarget = join(createFolder(t), 'target');
  const server = await TestServer.start(t, {
    ADMIN_PASSWORD_HASH: administratorPasswordHash(),
    BACKUP_TARGET: backupTarget,
  });
  const { page, problems } = await openPage(t, browser);
  const signIn = async (text: string) => {
    await page.getByLabel('Administrator password').fill(text);
    await page.getByRole('button', { name: 'Sign in as administrator' }).click();
  };
  await page.goto(`${server.url}/app/`);
  await page.getByText('Administrator', { exact: true }).click();
  await signIn('guessed');
  await page.getByRole('alert').getByText('The password is wrong.').waitFor();
  await inspectInAllThemes(t, page, 'sign-in-administrator');
  await signIn(password);
  const organizations = page.getByRole('table', { name: 'Organizations' });
  await organizations.getByRole('button').first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Plan').selectOption('Teams');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await organizations.getByText('Teams').waitFor();
  await useSections(t, page, { server, backupTarget });
  await inspectInAllThemes(t, page, 'administrator-alone');
  await page.getByRole('link', { name: 'Go to dashboard' }).click();
  await page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();

  await signInAsOperator(page, server);
  const entry = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Administration' });
  await entry.click();
  await organizations.waitFor();
  t.equal(await entry.getAttribute('aria-current'), 'page');
  await inspectInAllThemes(t, page, 'administrator');
  await tryOperations(t, page, server);
  await page.goto(`${server.url}/app/admin`);
  await page.getByRole('button', { name: 'Sign out as administrator' }).click();
  await page.getByLabel('Administrator password').waitFor();
  await entry.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('link', { name: 'Overview' }).waitFor();
  t.equal(await entry.count(), 0, 'users who are not administrators see no link');
  t.same(
    problems.filter((line) => !/status of 40[04]/.test(line)),
    [],
  );
}
