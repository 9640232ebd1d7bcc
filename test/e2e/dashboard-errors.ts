import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { openSearchPage, signInAgain, signInAsOperator, upload } from './dashboard-actions.ts';
import { handbook } from './dashboard-first-run.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { sendRequest } from './people.ts';
import { TestServer } from './server.ts';

/** Scenarios with errors, and how a user recovers from them. */

/** An upload that the server rejects, a file that exists already, and an unreadable file. */
export async function uploadScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('link', { name: 'Upload', exact: true }).first().click();

  const row = page.getByRole('table', { name: 'Uploads' });
  let attempts = 0;
  await page.route('**/v1/documents/**', (route) => {
    attempts += 1;
    return route.abort('connectionreset');
  });
  await upload(page, 'large.pdf', handbook);
  await row.getByText('The upload was interrupted 3 times.').waitFor();
  await page.setViewportSize({ width: 320, height: 720 });
  const whole = page.getByRole('list', { name: 'Failed uploads' });
  await whole.getByText('The file may be too large for a proxy.').waitFor();
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.getByText('No connection to the server.').waitFor({ state: 'detached' });
  t.equal(attempts, 3, 'an interrupted upload is not retried forever');
  await page.getByRole('button', { name: 'Clear list' }).click();
  await page.unroute('**/v1/documents/**');

  await page.route('**/v1/documents/**', (route) =>
    route.fulfill({ status: 429, json: { detail: 'The disk is almost full. Free disk space first.' } }),
  );
  await upload(page, 'handbook.pdf', handbook);
  await row.getByText('The disk is almost full. Free disk space first.').waitFor();
  await inspectInAllThemes(t, page, 'upload-failed');
  await page.unroute('**/v1/documents/**');
  await page.getByRole('button', { name: 'Retry handbook.pdf' }).click();
  await row.getByText('Indexed', { exact: true }).waitFor();

  await upload(page, 'handbook.pdf', handbook);
  await page.getByRole('button', { name: 'Replace handbook.pdf' }).click();
  await page.getByText('2 files uploaded').waitFor();

  await upload(page, 'broken.pdf', Buffer.from('%PDF-1.7\nand no objects'));
  await row.getByText('Parsing failed', { exact: true }).waitFor();
  await page.getByText('3 files uploaded · 2 searchable · 1 file could not be indexed').waitFor();
  await page.getByRole('link', { name: 'View documents' }).click();
  const documents = page.getByRole('table', { name: 'Documents' });
  await documents.getByText('Parsing failed').waitFor();
  await page.getByText('Failed 1').click();
  await documents.getByRole('link', { name: 'broken.pdf' }).waitFor();
  await page.getByRole('button', { name: 'Retry all' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).click();
  await page.getByText('1 document queued for retry.').waitFor();
  await documents.getByRole('link', { name: 'broken.pdf' }).click();
  await page.getByText('This file could not be parsed').waitFor();
  t.same(
    problems.filter((line) => !line.includes('429')),
    [],
  );
}

/** A dropped folder, a canceled upload, and a file that is too large. */
export async function folderUploadScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t, { UPLOAD_BYTES_MAX: '50000' });
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('link', { name: 'Upload', exact: true }).first().click();
  await page.getByText('up to 50 kB each').waitFor();
  const folder = mkdtempSync(join(tmpdir(), 'quarry-dropped-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'reports', '2026'), { recursive: true });
  for (const name of ['.DS_Store', 'a.txt', 'b.txt', '2026/c.txt', '2026/d.txt'])
    writeFileSync(join(folder, 'reports', name), `Granite, by ${name}`);
  writeFileSync(join(folder, 'reports', 'large.txt'), 'x'.repeat(50_001));

  const sent: string[] = [];
  await page.route('**/v1/documents/**', (route) => {
    // Never replies: each upload stays in flight until it is canceled.
    sent.push(decodeURIComponent(new URL(route.request().url()).pathname.split('/').at(-1) ?? ''));
  });
  await dropFolder(page, join(folder, 'reports'));
  const rows = page.getByRole('table', { name: 'Uploads' });
  await rows.getByText('The file exceeds the limit of 50 kB.').waitFor();
  await rows.getByText('Waiting', { exact: true }).waitFor();
  t.equal(sent.length, 3, 'three concurrent uploads');
  t.equal(await rows.getByRole('row').count(), 5, 'hidden files are skipped');
  await inspectInAllThemes(t, page, 'uploads');

  await page.getByRole('button', { name: `Cancel ${sent[0]}` }).click();
  await waitFor('the waiting upload starts', async () => (sent.length === 4 ? true : null));
  await page.getByRole('button', { name: 'Cancel all' }).click();
  await waitFor('all uploads are canceled', async () =>
    (await rows.getByText('Canceled').count()) === 4 ? true : null,
  );
  await page.unroute('**/v1/documents/**');
  for (const name of ['reports/a.txt', 'reports/2026/c.txt'])
    await page.getByRole('button', { name: `Retry ${name}` }).click();
  await page.getByText('2 files uploaded, 1 too large').waitFor();
  t.equal(await page.getByRole('button', { name: 'Retry reports/large.txt' }).count(), 0);
  const stored = await new CheckedApiClient(server).call('documents/get-document-info-list', {
    collection_name: 'default',
  });
  t.same(
    stored.documents.map(({ path }: { path: string }) => path),
    ['reports/2026/c.txt', 'reports/a.txt'],
  );
  t.same(problems, []);
}

/** Drops a folder as the desktop does: the browser gets its name and reads its files. */
async function dropFolder(page: Page, folder: string): Promise<void> {
  const { x, y, width, height } = (await page.getByRole('region', { name: 'Files' }).boundingBox())!;
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: x + width / 2, y: y + height / 2, data });
}

/** The session expires while a form is open: the form stays and continues after signing in in another tab. */
export async function expiredSessionScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const { page, context, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('link', { name: 'Collections' }).click();
  await page.getByRole('button', { name: 'New collection' }).click();
  const form = page.getByRole('dialog', { name: 'New collection' });
  await form.getByLabel('Name').fill('half done');

  const session = (await context.cookies()).find(({ name }) => name.endsWith('session'));
  const headers = { authorization: `Bearer ${session?.value}` };
  t.equal((await sendRequest(`${server.url}/api/users/revoke-session`, { headers, body: {} })).status, 200);
  await form.getByRole('button', { name: 'Create collection' }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  await page.getByRole('button', { name: 'I have signed in' }).click();
  await page.getByText('No new session found in this browser').waitFor();

  const tab = await context.newPage();
  await signInAgain(tab, server);
  await page.bringToFront();
  // The other tab notifies this one, which continues without user action.
  await page.getByText('half done was created.').waitFor();
  t.same((await new CheckedApiClient(server).call('collections/get-collection-list')).collection_names, [
    'half done',
  ]);
  t.same(problems, []);
}

/** The network fails and recovers: no input is lost, and the page continues without user action. */
export async function offlineScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.add('notes', 'refunds.txt', 'Refunds are paid within fourteen days.');
  const { page, context, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await openSearchPage(page);
  await page.getByLabel('Query').fill('When are refunds paid?');
  await context.setOffline(true);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('No connection to the server.').waitFor();
  await context.setOffline(false);
  await page.getByText('No connection to the server.').waitFor({ state: 'detached' });
  t.equal(await page.getByLabel('Query').inputValue(), 'When are refunds paid?');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('region', { name: 'Results' }).getByText('within fourteen days').waitFor();

  await context.setOffline(true);
  await page.getByRole('link', { name: 'Collections' }).click();
  await context.setOffline(false);
  await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'notes' }).waitFor();
  await waitFor('the banner disappears', async () =>
    (await page.getByText('No connection to the server.').count()) === 0 ? true : null,
  );
  t.same(problems, []);
}
