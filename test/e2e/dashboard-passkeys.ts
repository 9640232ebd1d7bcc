import type { Browser, CDPSession, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { openPage } from './browser.ts';
import { administratorPasswordHash, inspect, signInAsAdministrator } from './dashboard-pages.ts';
import { TestServer } from './server.ts';

const minuteMs = 60_000;

/**
 * Scenario: a user adds a passkey on a server without mail, signs in with it, renames it, and the administrator deletes
 * it. The authenticator is the virtual one of Chromium.
 */
export async function passkeyScenario(t: Test, browser: Browser): Promise<void> {
  let ahead = 0;
  const server = await TestServer.start(
    t,
    { ADMIN_PASSWORD_HASH: administratorPasswordHash() },
    { clockOffsetMs: () => ahead },
  );
  // Browsers support passkeys at host names only.
  const local = server.url.replace('127.0.0.1', 'localhost');
  const { page, context, problems } = await openPage(t, browser);
  const authenticator = await addAuthenticator(await context.newCDPSession(page));
  await page.goto((/\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '').replace(server.url, local));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/app/');

  await page.goto(`${local}/app/settings`);
  await addPasskey(page, 'Test laptop');
  await page.getByText('Passkey added.').waitFor();
  const row = page.getByRole('table', { name: 'Passkeys' }).getByRole('row').nth(1);
  await row.getByText('Never').waitFor();
  await addPasskey(page, 'The same device');
  await page.getByText('This device already has a passkey of your account.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.reload();
  await page.getByText('Test laptop').waitFor();
  await inspect(t, page, 'settings-passkey');

  await authenticator.setUserPresent(false);
  await context.clearCookies();
  await page.goto(`${local}/app/keys`);
  await page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  await inspect(t, page, 'sign-in-passkey');
  await signIn(page, authenticator);
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();

  await page.goto(`${local}/app/settings`);
  await row.getByText('Never').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Rename Test laptop' }).click();
  await page.getByLabel('Name', { exact: true }).last().fill('Work laptop');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Work laptop').waitFor();

  ahead += 16 * minuteMs;
  await server.syncClock();
  await page.reload();
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await authenticator.setUserPresent(false);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in again' }).click();
  await authenticator.setUserVerified(false);
  await signIn(page, authenticator);
  await waitUntil('the browser gives up', () => signInButton(page).isEnabled());
  t.equal(await page.getByRole('heading', { name: 'Sign in to Quarry' }).count(), 1, 'an unverified user');
  await authenticator.setUserPresent(false);
  await authenticator.setUserVerified(true);
  await signIn(page, authenticator);
  await page.getByRole('heading', { level: 1, name: 'Your settings' }).waitFor();

  await deleteAsAdministrator(await openPage(t, browser), server);
  await authenticator.setUserPresent(false);
  await context.clearCookies();
  await page.reload();
  await signIn(page, authenticator);
  await page.getByText('This passkey is not accepted.').waitFor();
  await page.goto(`${server.url}/app/settings`);
  await page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
  await page.getByText('Do you operate this server?').waitFor();
  t.equal(await signInButton(page).count(), 0, 'at an IP address');
  t.same(problems, []);
}

/** Virtual authenticator with a screen lock. */
export async function addAuthenticator(session: CDPSession) {
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** Whether the authenticator recognizes its user. */
    setUserVerified: (isUserVerified: boolean) =>
      session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    /** Whether the user confirms requests at once, or leaves them unanswered. */
    setUserPresent: (enabled: boolean) =>
      session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
  };
}

type VirtualAuthenticator = Awaited<ReturnType<typeof addAuthenticator>>;

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add passkey' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Continue' }).click();
}

function signInButton(page: Page) {
  return page.getByRole('button', { name: 'Sign in with a passkey' });
}

/** Signs in with the button. The autofill of the page would do it without a click while a user is present. */
async function signIn(page: Page, authenticator: VirtualAuthenticator): Promise<void> {
  await signInButton(page).waitFor();
  await authenticator.setUserPresent(true);
  await signInButton(page).click();
}

async function deleteAsAdministrator(
  { page, problems }: Awaited<ReturnType<typeof openPage>>,
  server: TestServer,
): Promise<void> {
  await signInAsAdministrator(page, server);
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Users' }).click();
  await page.getByText('1 passkey', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Manage operator@localhost' }).click();
  await page.getByRole('button', { name: 'Passkeys', exact: true }).click();
  await page.getByRole('button', { name: 'Delete Work laptop' }).click();
  await page.getByText('This user has no passkeys.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
  if (problems.length > 0) throw new Error(problems.join('\n'));
}
