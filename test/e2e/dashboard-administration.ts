import type { Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import type { TestServer } from './server.ts';

/** Opens each section of the administration page and uses it. The administrator is signed in. */
export async function useSections(t: Test, page: Page, server: TestServer): Promise<void> {
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

  await openSection(page, 'People');
  await page.getByLabel('Search users').fill('unknown@example.com');
  await page.getByText('No matching users.').waitFor();
  await useLog(t, page, server);
  await openSection(page, 'Organizations');
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
