import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { signInByMail } from './dashboard-actions.ts';
import { createMailFolder, TestUser } from './people.ts';
import { TestServer } from './server.ts';

/** Scenario: two users, one organization, one key: from the invitation mail to the deletion of the key. */
export async function teamScenario(t: Test, browser: Browser): Promise<void> {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const server = await TestServer.start(t, { MAIL_URL, TRUST_PROXY: 'true' });
  const ann = new TestUser('ann@example.com', server, mails);
  const bob = new TestUser('bob@example.com', server, mails);
  const annBrowser = await openPage(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  const bobBrowser = await openPage(t, browser, { locale: 'en-IN', timezoneId: 'Asia/Kolkata' });
  const { page } = annBrowser;

  await createOrganization(page, server, ann);
  await inviteAsAdmin(page, bob);
  await acceptInvitation(bobBrowser.page, bob);

  await page.reload();
  const members = page.getByRole('table', { name: 'Members' });
  await members.getByLabel(`Role of ${bob.email}`).selectOption('Member');
  await page.getByText(`The role of ${bob.email} is now Member.`).waitFor();

  const secret = await createKey(t, page);
  const website = new CheckedApiClient(server, secret);
  t.equal(await website.status('collections/get-collection-list', {}), 200);
  t.notOk((await page.content()).includes(secret), 'the secret is removed from the page');

  await bobBrowser.page.reload();
  await bobBrowser.page.getByRole('table', { name: 'API keys' }).getByText('Website').waitFor();
  const keyButtons = bobBrowser.page.getByRole('button', { name: /Create key|Revoke/ });
  t.equal(await keyButtons.count(), 0, 'members cannot manage keys');

  await callFromOtherSite(t, page, { server, secret });

  await page.getByRole('button', { name: 'Revoke Website' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('Website was revoked.').waitFor();
  t.equal(await website.status('collections/get-collection-list', {}), 401);
  await checkAuditLog(page);
  t.same([...annBrowser.problems, ...bobBrowser.problems], []);
}

async function createOrganization(page: Page, server: TestServer, owner: TestUser): Promise<void> {
  await signInByMail(page, `${server.url}/app/organizations`, owner);
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  await page.getByLabel('Name').fill('Acme <b>Research</b>');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Switched to “Acme <b>Research</b>”.').waitFor();
}

async function inviteAsAdmin(page: Page, user: TestUser): Promise<void> {
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('button', { name: 'Invite member' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email address').fill(user.email);
  await dialog.getByLabel('Role').selectOption('Admin');
  await dialog.getByRole('button', { name: 'Send invitation' }).click();
  const invitations = page.getByRole('table', { name: 'Invitations' });
  await invitations.getByRole('cell', { name: user.email, exact: true }).waitFor();
}

async function acceptInvitation(page: Page, user: TestUser): Promise<void> {
  const link = await user.findInvitationLink();
  await signInByMail(page, link, user);
  await page.waitForURL('**/app/');
  await page.getByText('You joined “Acme <b>Research</b>”.').waitFor();
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('heading', { name: 'No keys yet' }).waitFor();
}

/** Creates the key "Website" and returns its secret. */
async function createKey(t: Test, page: Page): Promise<string> {
  const dialog = page.getByRole('dialog');
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Create key' }).first().click();
  await dialog.getByLabel('Name').fill('Website');
  await submitWithoutClosing(page);
  await dialog.getByRole('heading', { name: 'Save your key' }).waitFor();
  t.ok(
    await dialog.getByRole('button', { name: 'Done' }).isDisabled(),
    'the dialog requires confirmation that the key is saved',
  );
  await page.keyboard.press('Escape');
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  t.match(secret, /^ze_[0-9A-Za-z]{36}$/);
  await dialog.getByRole('button', { name: 'Copy key' }).click();
  await dialog.getByText('Copied').waitFor();
  t.equal(await page.evaluate('navigator.clipboard.readText()'), secret);
  await dialog.getByLabel('I saved the key').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  return secret;
}

/** Allows the origin of another site in the key dialog; the browser then lets a page of that site read a reply. */
async function callFromOtherSite(
  t: Test,
  page: Page,
  { server, secret }: { readonly server: TestServer; readonly secret: string },
): Promise<void> {
  // For a browser, another name of this machine is another site.
  const site = server.url.replace('127.0.0.1', 'localhost');
  const otherPage = await page.context().newPage();
  await otherPage.goto(`${site}/healthz`);
  const address = `${server.url}/v1/collections/get-collection-list`;
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const options = JSON.stringify({ method: 'POST', headers, body: '{}' });
  const call = () =>
    otherPage.evaluate<number | string>(
      `fetch(${JSON.stringify(address)}, ${options}).then((reply) => reply.status, (error) => error.message)`,
    );
  t.equal(await call(), 'Failed to fetch');
  await page.getByRole('button', { name: 'Edit Website' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Web pages', { exact: true }).click();
  await dialog.getByLabel('Allowed origins').fill(`https://www.example.com\n${site}`);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Website was updated.').waitFor();
  await page.getByRole('table', { name: 'API keys' }).getByText('Web pages').waitFor();
  t.equal(await call(), 200);
  await otherPage.close();
}

/** Submits the key form, and tries to close the dialog while the request is running. */
async function submitWithoutClosing(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  let openGate = () => {};
  const gate = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  await page.route('**/api-keys/add-api-key', async (route) => {
    await gate;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Create key' }).click();
  const cancel = dialog.getByRole('button', { name: 'Cancel', disabled: true });
  await cancel.waitFor();
  // On a second Escape, the browser closes a dialog regardless of the page, so the page must reopen it.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await cancel.waitFor();
  openGate();
}

async function checkAuditLog(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Audit log' }).click();
  const log = page.getByRole('list', { name: 'Audit log' });
  for (const phrase of ['API key revoked: ', 'Role changed: ', 'Member joined: ', 'Organization created: '])
    await log.getByText(phrase).first().waitFor();
  await log.getByText('Organization created: ').click();
  await log.getByText('organization.created', { exact: true }).waitFor();
  await page.getByLabel('Action').selectOption('API keys');
  await log.getByText('Organization created: ').waitFor({ state: 'detached' });
  await log.getByText('API key revoked: ').first().waitFor();
  await page.getByLabel('Actor').selectOption('Server');
  await page.getByText('No matching entries.').waitFor();
}
