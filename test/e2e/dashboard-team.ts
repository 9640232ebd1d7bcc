import type { Browser } from 'playwright-core';
import type { Test } from 'tap';
import { openPage } from './browser.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { signInByMail } from './dashboard-actions.ts';
import { createMailFolder, TestUser } from './people.ts';
import { TestServer } from './server.ts';

/** Scenario: two users, one organization, one key: from the invitation mail to the deletion of the key. */
export async function teamStory(t: Test, browser: Browser): Promise<void> {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const server = await TestServer.start(t, { MAIL_URL, TRUST_PROXY: 'true' });
  const [ann, bob] = ['ann@example.com', 'bob@example.com'].map(
    (email) => new TestUser(email, server, mails),
  );
  const hers = await openPage(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  const his = await openPage(t, browser, { locale: 'de-DE', timezoneId: 'Asia/Kolkata' });
  const { page } = hers;

  await signInByMail(page, `${server.url}/app/organizations`, ann!);
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  await page.getByLabel('Name').fill('Acme <b>Research</b>');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Switched to Acme <b>Research</b>.').waitFor();

  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('button', { name: 'Invite member' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email address').fill(bob!.email);
  await dialog.getByLabel('Role').selectOption('Admin');
  await dialog.getByRole('button', { name: 'Send invitation' }).click();
  const invited = page.getByRole('table', { name: 'Invitations' });
  await invited.getByRole('cell', { name: bob!.email, exact: true }).waitFor();

  const link = /https?:\S+\/app\/join#\S+/.exec(await bob!.findMail('invites you'))?.[0] ?? 'no link';
  await signInByMail(his.page, link, bob!);
  await his.page.waitForURL('**/app/');
  await his.page.getByText('You joined Acme <b>Research</b>.').waitFor();

  await his.page.getByRole('link', { name: 'API keys' }).click();
  await his.page.getByRole('heading', { name: 'No keys yet' }).waitFor();

  await page.reload();
  const members = page.getByRole('table', { name: 'Members' });
  await members.getByLabel(`Role of ${bob!.email}`).selectOption('Member');
  await page.getByText(`The role of ${bob!.email} is now Member.`).waitFor();

  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Create key' }).first().click();
  await dialog.getByLabel('Name').fill('Website');
  let answer = () => {};
  const gate = new Promise<void>((resolve) => {
    answer = resolve;
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
  answer();
  await dialog.getByRole('heading', { name: 'Save your key' }).waitFor();
  t.ok(
    await dialog.getByRole('button', { name: 'Done' }).isDisabled(),
    'the key is not lost by a quick click',
  );
  await page.keyboard.press('Escape');
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  t.match(secret, /^ze_[0-9A-Za-z]{36}$/);
  await dialog.getByRole('button', { name: 'Copy key' }).click();
  await dialog.getByText('Copied').waitFor();
  t.equal(await page.evaluate('navigator.clipboard.readText()'), secret);
  await dialog.getByLabel('I saved the key').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const website = new CheckedApiClient(server, secret);
  t.equal(await website.status('collections/get-collection-list', {}), 200);
  t.notOk((await page.content()).includes(secret), 'nothing of it is left on the page');

  await his.page.reload();
  await his.page.getByRole('table', { name: 'API keys' }).getByText('Website').waitFor();
  t.equal(await his.page.getByRole('button', { name: /Create key|Revoke/ }).count(), 0, 'members only look');

  await page.getByRole('button', { name: 'Revoke Website' }).click();
  await dialog.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('Website was revoked.').waitFor();
  t.equal(await website.status('collections/get-collection-list', {}), 401);

  await page.getByRole('link', { name: 'Audit log' }).click();
  const log = page.getByRole('table', { name: 'Audit log' });
  for (const action of [
    'api_key.deleted',
    'member.permission_changed',
    'member.joined',
    'organization.created',
  ])
    await log.getByText(action).first().waitFor();
  t.same([...hers.problems, ...his.problems], []);
}
