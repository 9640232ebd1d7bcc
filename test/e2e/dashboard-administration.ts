import { renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { adminKey, type TestServer } from './server.ts';

interface AdministeredServer {
  readonly server: TestServer;
  /** Folder of its backups. */
  readonly backupTarget: string;
}

/** Opens each section of the administration page and uses it. The administrator is signed in. */
export async function useSections(t: Test, page: Page, administered: AdministeredServer): Promise<void> {
  const { server } = administered;
  await openSection(page, 'Health');
  const checks = page.getByRole('table', { name: 'Checks' });
  await checks.getByText(server.data).first().waitFor();
  await page.getByRole('table', { name: 'Components' }).getByText('loaded').waitFor();

  await openSection(page, 'Settings');
  await page.getByLabel('Search settings').fill('admin_password');
  const row = page.getByRole('row', { name: 'QUARRY_ADMIN_PASSWORD_HASH' });
  await row.getByText('Set (secret)').waitFor();
  await row.getByText('Environment').waitFor();
  t.equal(await page.getByText('QUARRY_PORT', { exact: true }).count(), 0);

  await openSection(page, 'Users');
  await page.getByLabel('Search users').fill('unknown@example.com');
  await page.getByText('No matching users.').waitFor();
  await useLog(t, page, server);
  await readBackups(t, page, administered);
  await openSection(page, 'Organizations');
}

/** The section shows the first scheduled backup, and the reason of a failed one without a reload. */
async function readBackups(
  t: Test,
  page: Page,
  { server, backupTarget: target }: AdministeredServer,
): Promise<void> {
  await openSection(page, 'Backups');
  const facts = page.locator('dl.figures > div');
  const fact = (name: string) => facts.filter({ has: page.getByText(name, { exact: true }) });
  await fact('Target').getByText(target, { exact: true }).waitFor();
  await fact('Last backup').locator('time').waitFor();
  await fact('Size')
    .getByText(/\d (kB|MB)$/)
    .waitFor();
  await fact('Next backup').locator('time').waitFor();
  await fact('Can be restored')
    .getByText(/ to [A-Z]/)
    .waitFor();
  await fact('Last verified restore').getByText('None yet').waitFor();

  renameSync(target, `${target}-away`);
  writeFileSync(target, 'A file where the folder was.');
  const started = await fetch(`${server.url}/v1/admin/create-backup`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  t.equal(started.status, 200);
  await page.getByRole('alert').getByText('The last backup failed: ').waitFor();
  rmSync(target);
  renameSync(`${target}-away`, target);
}

/** The list shows a new line without a reload; filters apply to old and new lines. */
async function useLog(t: Test, page: Page, server: TestServer): Promise<void> {
  await openSection(page, 'Log');
  const log = page.getByRole('log');
  await log.getByText('ready', { exact: true }).waitFor();
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'log' });
  const failDocument = (path: string) =>
    api.add('log', path, { type: 'auto', base64_data: Buffer.from('%PDF-1.7\nno').toString('base64') });
  await failDocument('a.pdf');
  await log.getByText('document failed').waitFor();
  await page.getByLabel('Search the log').fill('FAILED');
  await log.getByText('ready', { exact: true }).waitFor({ state: 'detached' });
  await log.getByRole('listitem').first().waitFor();
  t.equal(await log.getByRole('listitem').count(), 1);
  await failDocument('b.pdf');
  await log.getByRole('listitem').nth(1).waitFor();
  await page.getByLabel('Level').selectOption('Errors');
  await page.getByText('No matching lines').waitFor();
}

async function openSection(page: Page, name: string): Promise<void> {
  const link = page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name });
  await link.click();
  await page.locator('.tabs [aria-current]', { hasText: name }).waitFor();
}

/** Runs operations from the documentation with the session of the browser. Error replies are shown, too. */
export async function tryOperations(t: Test, page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/docs/api/collections`);
  await page.locator('#get-collection-list').getByRole('link', { name: 'Try it' }).click();
  await page.getByRole('heading', { name: 'API console' }).waitFor();
  const reply = page.getByRole('region', { name: 'Reply' });
  const send = async (status: number) => {
    await page.getByRole('button', { name: 'Send request' }).click();
    await reply.getByText(`Status ${status}`).waitFor();
    return JSON.parse((await reply.locator('pre').textContent()) ?? '');
  };
  t.same((await send(200)).collection_names, ['log']);
  await page.getByLabel('Operation').selectOption('add-collection');
  await page.waitForURL('**/app/console?operation=add-collection');
  await page.getByLabel('Request body').fill('{"collection_name": ');
  t.ok(await page.getByRole('button', { name: 'Send request' }).isDisabled());
  await page.getByLabel('Request body').fill('{"collection_name": "log"}');
  t.match((await send(409)).detail, 'already exists');
  await page.getByLabel('Operation').selectOption('get-backup-status');
  t.match(await send(200), { running: null });
  await tryParameters(t, page, { server, send });
}

interface Console {
  readonly server: TestServer;
  /** Sends the request of the form, waits for the status, and returns the reply. */
  readonly send: (status: number) => Promise<{ readonly detail?: unknown }>;
}

/** Operations with values in the path and in the query string, with GET and with a body. */
async function tryParameters(t: Test, page: Page, { server, send }: Console): Promise<void> {
  await page.goto(`${server.url}/docs/api/models`);
  await page.locator('#get-openai-model').getByRole('link', { name: 'Try it' }).click();
  const model = page.getByLabel('model (in the path)');
  t.match(await send(200), { id: 'zembed-1', object: 'model' });
  await model.fill('');
  t.ok(await page.getByRole('button', { name: 'Send request' }).isDisabled(), 'the path needs a value');
  await model.fill('a/b?c');
  await page.getByText('GET /v1/models/a%2Fb%3Fc', { exact: true }).waitFor();
  t.match(await send(404), { error: { message: /a\/b\?c/ } });
  await inspectInAllThemes(t, page, 'console-path');
  await page.getByRole('button', { name: 'Restore example' }).click();
  t.equal(await model.inputValue(), 'zembed-1');

  await page.getByLabel('Operation').selectOption('stream-changes');
  await page.getByText('GET /v1/changes?limit=100&wait_seconds=0', { exact: true }).waitFor();
  t.match(await send(200), { changes: [] });
  await page.getByLabel('limit', { exact: true }).fill('0');
  t.match(await send(400), { detail: /limit/ });
  await inspectInAllThemes(t, page, 'console-query');

  await page.getByLabel('Operation').selectOption('search-vector-store');
  await page.getByLabel('vector_store_id (in the path)').fill('log');
  await page.getByLabel('Request body').fill('{"query": "herring"}');
  t.match(await send(200), { object: 'vector_store.search_results.page' });
}
