import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { openPage } from './browser.ts';
import { oneTimeCode } from './one-time-code.ts';
import { createMailFolder, TestUser } from './people.ts';
import { TestServer } from './server.ts';

/** Scenario: a user enables a second factor, signs in with the app and with a recovery code, and disables it. */
export async function secondFactorScenario(t: Test, browser: Browser): Promise<void> {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  let ahead = 0;
  const server = await TestServer.start(t, { MAIL_URL, TRUST_PROXY: 'true' }, { clockOffsetMs: () => ahead });
  const ada = new TestUser('ada@example.com', server, mails);
  const { page, problems } = await openPage(t, browser);
  const links = () => mails().filter((mail) => mail.includes('verify?token=')).length;
  /** Advances the clock, so that used codes and mail limits no longer block the next step. */
  const later = async () => {
    ahead += 120_000;
    await server.syncClock();
  };
  const signIn = async () => {
    const before = links();
    await page.goto(`${server.url}/app/settings`);
    await page.getByLabel('Email').fill(ada.email);
    await page.getByRole('button', { name: 'Email me a sign-in link' }).click();
    await page.getByText('Check your inbox').waitFor();
    await waitUntil('another mail', () => links() > before);
    await page.goto(await ada.link());
  };
  const signOut = async () => {
    const out = await page.request.post(`${server.url}/api/auth/logout`, {
      headers: { origin: server.url, 'content-type': 'application/json' },
      data: {},
    });
    t.equal(out.status(), 200);
    await later();
  };
  const sendCode = async (code: string) => {
    await page.getByRole('heading', { name: 'Two-factor authentication', level: 1 }).waitFor();
    await page.getByLabel('Authentication code').fill(code);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const isOn = (left: number) => page.getByText(`${left} recovery codes left`).waitFor();

  await signIn();
  const { secret, recoveryCodes } = await setUp(page, () => Date.now() + ahead);
  t.equal(recoveryCodes.length, 10);
  await isOn(10);

  await signOut();
  await signIn();
  await sendCode('000000');
  await page.getByText('The code is invalid').waitFor();
  await sendCode(oneTimeCode(secret, Date.now() + ahead));
  await page.waitForURL('**/app/settings');
  await isOn(10);

  await signOut();
  await signIn();
  await sendCode(recoveryCodes[0]!.toUpperCase());
  await page.waitForURL('**/app/settings');
  await isOn(9);

  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.getByLabel('Code', { exact: true }).fill(recoveryCodes[1]!);
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  await page.getByText('Two-factor authentication is off.').waitFor();
  await signOut();
  await signIn();
  await page.waitForURL('**/app/settings');
  // Ignores the statuses caused by the wrong code and by requests without a session.
  t.same(
    problems.filter((line) => !/40[13]/.test(line)),
    [],
  );
}

/** Sets up the factor from the text of the key, which is displayed beside the QR code. */
async function setUp(page: Page, now: () => number) {
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('img', { name: 'QR code of the key' }).waitFor();
  const dialog = page.getByRole('dialog');
  const secret = (await dialog.locator('code').textContent()) ?? '';
  await page.getByLabel('Code from the app').fill(oneTimeCode(secret, now()));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
  const shown = (await dialog.locator('pre').textContent()) ?? '';
  await page.getByRole('button', { name: 'I saved the codes' }).click();
  return { secret, recoveryCodes: shown.split('\n') };
}
