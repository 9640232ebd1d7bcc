import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { type IntegrationOrigins, openIntegrationOrigins } from './dashboard-integrations.ts';
import { adminKey, TestServer } from './server.ts';
import { synchronize } from './source-fixture.ts';

const injection = `"><img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg onload="window.hacked=3">`;
/** Text without break opportunities, and characters that reverse the text direction. */
const longWord = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(3);
const rightToLeftName = '\u202egnp.exe';
const widths = [320, 768, 1_280];
const scriptUrl = 'javascript:window.hacked=4';

const collection = `c ${injection}`;
const path = `p ${injection}`;
const sourceName = `s ${injection}`;

/** All stored values must be rendered as text: names, paths, metadata, documents, keys, organizations. */
export async function injectionScenario(t: Test, browser: Browser): Promise<void> {
  const origins = await openIntegrationOrigins(t);
  const server = await TestServer.start(t, origins.variables);
  await createInjectedData(server);
  await addInjectedIntegrations(server, origins);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  const openPath = async (address: string) => {
    await page.goto(`${server.url}/app/${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    t.equal(await page.evaluate('window.hacked'), undefined, address);
    await checkNoOverflow(t, page, address);
  };
  await saveInjectedNames(page, openPath);
  for (const address of ['', 'collections', 'keys', 'members', 'usage', 'audit', 'settings', 'organizations'])
    await openPath(address);
  for (const address of ['webhooks', 'sources', `source?${new URLSearchParams({ name: sourceName })}`])
    await openPath(address);
  await page.getByText(`o ${injection}`).first().waitFor();
  await checkDocumentPages(t, page, openPath);
  await openPath('collections');
  await page.getByRole('button', { name: `Actions for ${longWord}` }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').waitFor();
  await checkNoOverflow(t, page, 'a dialog');
  t.equal(await page.evaluate('window.hacked'), undefined);
  t.same(problems, []);
}

type OpenPath = (address: string) => Promise<void>;

async function createInjectedData(server: TestServer): Promise<void> {
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: collection });
  await api.add(collection, path, `Granite ${injection} in the text. ${scriptUrl}`, {
    metadata: { author: injection, 'list:tags': [injection, scriptUrl] },
  });
  await api.add(collection, scriptUrl, `Marble ${scriptUrl}`);
  const markup = Buffer.from(
    `<html><title>${injection}</title><body>Basalt<script>window.hacked=5</script>${injection}</body>`,
  );
  await api.add(collection, 'page.html', { type: 'auto', base64_data: markup.toString('base64') });
  for (const name of [longWord, `${rightToLeftName} שלום`]) {
    await api.call('collections/add-collection', { collection_name: name });
    await api.add(name, `${name}/${longWord}.txt`, `${rightToLeftName} Marble ${longWord}`, {
      metadata: { author: longWord },
    });
  }
  const organizationId = /First organization: (\S+)/.exec(server.printedText)?.[1] ?? '';
  await new CheckedApiClient(server, adminKey).call('admin/add-api-key', {
    organization_id: organizationId,
    name: injection,
    permission: 'all',
  });
}

async function addInjectedIntegrations(
  server: TestServer,
  { folder, url }: IntegrationOrigins,
): Promise<void> {
  const api = new CheckedApiClient(server);
  const description = `${injection} ${longWord}`.slice(0, 256);
  await api.call('webhooks/add-webhook', { url, description, collection_names: [longWord, collection] });
  writeFileSync(join(folder, 'a<img src=x onerror=window.hacked=6>.txt'), 'Granite');
  await api.call('sources/add-source', {
    source_name: sourceName,
    collection_name: collection,
    directory: { path: folder },
    prefix: `${longWord}/`,
    schedule: 'off',
    metadata: { author: injection },
  });
  await synchronize(api, sourceName);
}

/** Stores names of the organization and of the user through the dashboard. */
async function saveInjectedNames(page: Page, openPath: OpenPath): Promise<void> {
  await openPath('organization');
  await page.getByLabel('Name').fill(`o ${injection} ${longWord}`.slice(0, 255));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Organization renamed.').waitFor();
  await openPath('settings');
  await page.getByLabel('Name').fill(`${injection} ${longWord}`.slice(0, 200));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
}

async function checkDocumentPages(t: Test, page: Page, openPath: OpenPath): Promise<void> {
  const addressOf = (reference: Record<string, string>) => new URLSearchParams(reference);
  await openPath(`documents?${addressOf({ collection })}`);
  await page.getByRole('link', { name: path }).waitFor();
  await openPath(`document?${addressOf({ collection, path })}`);
  await page.getByText(`Granite ${injection} in the text.`).first().waitFor();
  await openPath(`document?${addressOf({ collection, path: 'page.html' })}`);
  await openPath(`search?${addressOf({ collection })}`);
  await page.getByLabel('Query').fill('granite marble basalt');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Results' }).getByText(injection).first().waitFor();
  t.equal(await page.locator('img[src="x"], script:not([src])').count(), 0, 'no stored value became markup');
  await openPath(`documents?${addressOf({ collection: longWord })}`);
  await openPath(`document?${addressOf({ collection: longWord, path: `${longWord}/${longWord}.txt` })}`);
}

async function checkNoOverflow(t: Test, page: Page, where: string): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const wide = await page.evaluate<string[]>(`
      [document.documentElement, ...document.querySelectorAll('dialog, main, aside, .card, .table-frame')]
        .filter((each) => each.scrollWidth > each.clientWidth + 1)
        .map((each) => each.tagName + '.' + each.className + ' ' + each.scrollWidth + ' of ' + each.clientWidth)
    `);
    t.same(wide, [], `${where} at ${width} px`);
  }
}
