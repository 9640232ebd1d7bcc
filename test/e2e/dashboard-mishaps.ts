import type { Browser } from 'playwright-core';
import type { Test } from 'tap';
import { Api, eventually } from './api.ts';
import { openPage } from './browser.ts';
import { handbook } from './dashboard-first-run.ts';
import { signInAgain, signInAsOperator, upload } from './dashboard-people.ts';
import { send } from './people.ts';
import { TestServer } from './server.ts';

/** What goes wrong while somebody works, and how they get on. */

/** An upload that the server refuses, one that is there already, and a file that nobody can read. */
export async function uploadStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const { page, troubles } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('link', { name: 'Upload', exact: true }).first().click();

  const row = page.getByRole('table', { name: 'Uploads' });
  let tries = 0;
  await page.route('**/v1/documents/**', (route) => {
    tries += 1;
    return route.abort('connectionreset');
  });
  await upload(page, 'large.pdf', handbook);
  await row.getByText('It was cut off 3 times.').waitFor();
  await page.getByText('No connection to the server.').waitFor({ state: 'detached' });
  t.equal(tries, 3, 'what somebody on the way cuts off is not sent for ever');
  await page.getByRole('button', { name: 'Clear list' }).click();
  await page.unroute('**/v1/documents/**');

  await page.route('**/v1/documents/**', (route) =>
    route.fulfill({ status: 429, json: { detail: 'The disk is almost full: free some room first.' } }),
  );
  await upload(page, 'handbook.pdf', handbook);
  await row.getByText('The disk is almost full: free some room first.').waitFor();
  await page.unroute('**/v1/documents/**');
  await page.getByRole('button', { name: 'Try handbook.pdf again' }).click();
  await row.getByText('Uploaded', { exact: true }).waitFor();

  await upload(page, 'handbook.pdf', handbook);
  await page.getByRole('button', { name: 'Replace handbook.pdf' }).click();
  await page.getByText('2 files uploaded').waitFor();

  await upload(page, 'broken.pdf', Buffer.from('%PDF-1.7\nand nothing that belongs behind it'));
  await page.getByText('3 files uploaded').waitFor();
  await page.getByRole('link', { name: 'See documents' }).click();
  const documents = page.getByRole('table', { name: 'Documents' });
  await documents.getByText('Not readable').waitFor();
  await page.getByText('Failed 1').click();
  await documents.getByRole('link', { name: 'broken.pdf' }).waitFor();
  await page.getByRole('button', { name: 'Try all again' }).click();
  await page.getByText('1 document tried again.').waitFor();
  await documents.getByRole('link', { name: 'broken.pdf' }).click();
  await page.getByText('This file could not be read').waitFor();
  t.same(
    troubles.filter((line) => !line.includes('429')),
    [],
  );
}

/** The session ends while a form is filled in: it stays, and goes on after signing in in another tab. */
export async function expiredStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const { page, context, troubles } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('link', { name: 'Collections' }).click();
  await page.getByRole('button', { name: 'New collection' }).click();
  const form = page.getByRole('dialog', { name: 'New collection' });
  await form.getByLabel('Name').fill('half done');

  const session = (await context.cookies()).find(({ name }) => name.endsWith('session'));
  const headers = { authorization: `Bearer ${session?.value}` };
  t.equal((await send(`${server.url}/api/users/revoke-session`, { headers, body: {} })).status, 200);
  await form.getByRole('button', { name: 'Create collection' }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  await page.getByRole('button', { name: 'I have signed in' }).click();
  await page.getByText('Nobody has signed in in this browser yet').waitFor();

  const tab = await context.newPage();
  await signInAgain(tab, server);
  await page.bringToFront();
  await page.getByRole('button', { name: 'I have signed in' }).click();
  await page.getByText('half done was created.').waitFor();
  t.same((await new Api(server).call('collections/get-collection-list')).collection_names, ['half done']);
  t.same(troubles, []);
}

/** The network goes away and comes back: nothing that was entered is lost, and the page goes on by itself. */
export async function offlineStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new Api(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.add('notes', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, context, troubles } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('link', { name: 'Playground' }).click();
  await page.getByRole('heading', { name: 'Playground' }).waitFor();
  await page.getByLabel('Question').fill('When are refunds paid?');
  await context.setOffline(true);
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByText('No connection to the server.').waitFor();
  await context.setOffline(false);
  await page.getByText('No connection to the server.').waitFor({ state: 'detached' });
  t.equal(await page.getByLabel('Question').inputValue(), 'When are refunds paid?');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('region', { name: 'Answers' }).getByText('within fourteen days').waitFor();

  await context.setOffline(true);
  await page.getByRole('link', { name: 'Collections' }).click();
  await context.setOffline(false);
  await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'notes' }).waitFor();
  await eventually('the banner goes', async () =>
    (await page.getByText('No connection to the server.').count()) === 0 ? true : null,
  );
  t.same(troubles, []);
}
