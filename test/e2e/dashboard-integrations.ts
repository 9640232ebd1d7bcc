import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage, seriousFindings } from './browser.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { focusByTab, openNavigationEntry, signInAsOperator } from './dashboard-actions.ts';
import { TestServer } from './server.ts';

/** Settings that allow the folder and the receiver of a test. */
export interface IntegrationOrigins {
  readonly folder: string;
  /** URL of a server that accepts all messages unless `refuse` was called last. */
  readonly url: string;
  readonly accept: () => void;
  readonly refuse: () => void;
  readonly variables: Readonly<Record<'SOURCE_FOLDERS' | 'WEBHOOK_PRIVATE_HOSTS', string>>;
}

export async function openIntegrationOrigins(t: Test): Promise<IntegrationOrigins> {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-origin-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  let status = 200;
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end());
  });
  t.teardown(() => receiver.close());
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  return {
    folder,
    url: `http://${host}/hook`,
    accept: () => {
      status = 200;
    },
    refuse: () => {
      status = 503;
    },
    variables: { SOURCE_FOLDERS: folder, WEBHOOK_PRIVATE_HOSTS: host },
  };
}

/** Scenario: a collection follows a folder, and a webhook receives the changes. */
export async function integrationsScenario(t: Test, browser: Browser): Promise<void> {
  const origins = await openIntegrationOrigins(t);
  writeFileSync(join(origins.folder, 'refunds.txt'), 'Refunds are paid within fourteen days.');
  const server = await TestServer.start(t, origins.variables);
  await new CheckedApiClient(server).call('collections/add-collection', { collection_name: 'handbook' });
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await createWebhook(t, page, origins);
  await addSource(t, page, origins);
  await runSource(t, page, origins);
  await readDeliveries(t, page, origins);
  await deleteWebhook(page);
  await deleteSource(page);
  // Addresses that the server does not allow, and an unknown time zone.
  t.same(
    problems.filter((line) => !/status of 40[03]/.test(line)),
    [],
  );
}

const dialogOf = (page: Page) => page.getByRole('dialog');

async function createWebhook(t: Test, page: Page, { url }: IntegrationOrigins): Promise<void> {
  await openNavigationEntry(page, 'Webhooks');
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  await page.getByRole('button', { name: 'Create webhook' }).first().click();
  const dialog = dialogOf(page);
  await page.keyboard.type('http://127.0.0.1:1/');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').getByText('QUARRY_WEBHOOK').waitFor();
  await dialog.getByLabel('URL').fill(url);
  await dialog.getByLabel('Limit to selected change types').check();
  t.ok(await dialog.getByRole('button', { name: 'Create webhook' }).isDisabled(), 'no type is selected');
  await dialog.getByLabel('document.indexed').check();
  t.same(await seriousFindings(page), [], 'the form of a webhook is accessible');
  await dialog.getByRole('button', { name: 'Create webhook' }).click();
  await dialog.getByRole('heading', { name: 'Save your secret' }).waitFor();
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  t.match(secret, /^whsec_/);
  await dialog.getByLabel('I saved the secret').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('table', { name: 'Webhooks' }).getByRole('row', { name: url });
  await row.getByText('document.indexed').waitFor();
  await row.getByText('Active').waitFor();
  t.notOk((await page.content()).includes(secret), 'the secret is removed from the page');
}

async function addSource(t: Test, page: Page, { folder }: IntegrationOrigins): Promise<void> {
  await openNavigationEntry(page, 'Sources');
  await page.getByRole('heading', { name: 'No sources yet' }).waitFor();
  const add = page.getByRole('button', { name: 'Add source' });
  await focusByTab(page, add);
  await page.keyboard.press('Enter');
  const dialog = dialogOf(page);
  await dialog.waitFor();
  await page.keyboard.type('files');
  for (const kind of ['s3', 'website', 'rss', 'git', 'webdav', 'imap', 'directory'])
    await dialog.getByLabel('Kind').selectOption(kind);
  await dialog.getByLabel('Path', { exact: true }).fill('/not/allowed');
  await dialog.getByRole('button', { name: 'Add source' }).click();
  await dialog.getByRole('alert').getByText('QUARRY_SOURCE_FOLDERS').waitFor();
  await dialog.getByLabel('Path', { exact: true }).fill(folder);
  await dialog.getByLabel('Runs', { exact: true }).selectOption('Every day');
  t.same(await seriousFindings(page), [], 'the form of a source is accessible');
  await dialog.getByRole('button', { name: 'Add source' }).click();
  await page.getByRole('heading', { name: 'Dry run of files' }).waitFor();
  await dialog.getByText('1 added').waitFor();
  await dialog.getByRole('group', { name: 'Changes' }).getByText('refunds.txt').waitFor();
  t.same(await seriousFindings(page), [], 'the dry run is accessible');
  await dialog.getByRole('button', { name: 'Run now' }).click();
  await dialog.waitFor({ state: 'detached' });
  t.notMatch(page.url(), /schedule=/, 'a reload does not show the dry run again');
}

async function runSource(t: Test, page: Page, { folder }: IntegrationOrigins): Promise<void> {
  const items = page.getByRole('table', { name: 'Items' });
  await items.getByRole('link', { name: 'refunds.txt' }).waitFor();
  await page.getByText('Succeeded', { exact: true }).waitFor();
  await page.getByText('1d', { exact: true }).waitFor();
  const name = `${'x'.repeat(120)}.pdf`;
  writeFileSync(join(folder, name), '');
  await page.getByRole('button', { name: 'Run now' }).click();
  await items.getByText(name).waitFor();
  t.same(await seriousFindings(page), [], 'the page of a source is accessible');
  await openNavigationEntry(page, 'Sources');
  const row = page.getByRole('table', { name: 'Sources' }).getByRole('row', { name: 'files' });
  await chooseAction(page, 'files', 'Pause');
  await row.getByText('Paused', { exact: true }).waitFor();
  await chooseAction(page, 'files', 'Resume');
  await row.getByText('Idle', { exact: true }).waitFor();
  await chooseAction(page, 'files', 'Edit…');
  await dialogOf(page).getByLabel('Runs', { exact: true }).selectOption('Other…');
  await dialogOf(page).getByLabel('Schedule', { exact: true }).fill('0 3 * * MON-FRI');
  await dialogOf(page).getByLabel('Time zone').fill('Europe/Nowhere');
  await dialogOf(page).getByRole('button', { name: 'Save' }).click();
  await dialogOf(page).getByRole('alert').getByText('Europe/Nowhere').waitFor();
  await dialogOf(page).getByLabel('Time zone').fill('Europe/Berlin');
  await dialogOf(page).getByRole('button', { name: 'Save' }).click();
  await page.getByText('files was updated.').waitFor();
  await row.getByRole('link', { name: 'files' }).click();
  await page.getByText('0 3 * * MON-FRI Europe/Berlin', { exact: true }).waitFor();
}

async function chooseAction(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('button', { name: action, exact: true }).click();
}

async function readDeliveries(t: Test, page: Page, origins: IntegrationOrigins): Promise<void> {
  const { url, accept, refuse, folder } = origins;
  await openNavigationEntry(page, 'Webhooks');
  await page.getByRole('link', { name: url }).click();
  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  await deliveries.getByText('Accepted (200)').first().waitFor();
  await page.getByRole('button', { name: 'Send test' }).first().click();
  await page.getByText('The test was accepted with the status 200').waitFor();
  refuse();
  writeFileSync(join(folder, 'holidays.txt'), 'Holidays are planned a month ahead.');
  await page.evaluate(
    `history.pushState(null, '', '/app/source?name=files'); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.goBack();
  await deliveries.getByText('Failed (503)').first().waitFor();
  await page.getByText('Retrying', { exact: true }).waitFor();
  t.same(await seriousFindings(page), [], 'the page of a webhook is accessible');
  accept();
  await page.getByRole('button', { name: 'Retry now' }).click();
  await page.getByText('Active', { exact: true }).first().waitFor();
  const before = await deliveries.getByRole('row').count();
  await deliveries
    .getByRole('button', { name: /^Replay from/ })
    .last()
    .click();
  await dialogOf(page).getByRole('button', { name: 'Replay' }).click();
  await deliveries.getByRole('row').nth(before).waitFor();
  await chooseAction(page, url, 'Replace secret…');
  await dialogOf(page).getByRole('button', { name: 'Replace secret' }).click();
  await dialogOf(page).getByRole('heading', { name: 'Save your secret' }).waitFor();
  await dialogOf(page).getByLabel('I saved the secret').check();
  await dialogOf(page).getByRole('button', { name: 'Done' }).click();
  await chooseAction(page, url, 'Pause');
  await page.getByText('Paused', { exact: true }).waitFor();
}

async function deleteWebhook(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Actions for http/ }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialogOf(page).getByRole('button', { name: 'Delete webhook' }).click();
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
}

async function deleteSource(page: Page): Promise<void> {
  await openNavigationEntry(page, 'Sources');
  await chooseAction(page, 'files', 'Delete…');
  await dialogOf(page).getByLabel('Also delete the documents of the source').check();
  await dialogOf(page).getByRole('button', { name: 'Delete source' }).click();
  await page.getByRole('heading', { name: 'No sources yet' }).waitFor();
}
