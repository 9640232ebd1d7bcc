import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { Api } from './api.ts';
import { openPage } from './browser.ts';
import { signInAsOperator } from './dashboard-people.ts';
import { adminKey, TestServer } from './server.ts';

const attack = `"><img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg onload="window.hacked=3">`;
/** A word that no line breaks by itself, and signs that turn what follows. */
const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(3);
const turned = '\u202egnp.exe';
const widths = [320, 768, 1_280];
const page1 = 'javascript:window.hacked=4';

/** Whatever is stored is shown as text: names, paths, metadata, documents, keys, organisations. */
export async function hostileStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new Api(server);
  const collection = `c ${attack}`;
  const path = `p ${attack}`;
  await api.call('collections/add-collection', { collection_name: collection });
  await api.add(collection, path, `Granite ${attack} in the text. ${page1}`, {
    metadata: { author: attack, 'list:tags': [attack, page1] },
  });
  await api.add(collection, page1, `Marble ${page1}`);
  const markup = Buffer.from(
    `<html><title>${attack}</title><body>Basalt<script>window.hacked=5</script>${attack}</body>`,
  );
  await api.add(collection, 'page.html', { type: 'auto', base64_data: markup.toString('base64') });
  for (const name of [long, `${turned} שלום`]) {
    await api.call('collections/add-collection', { collection_name: name });
    await api.add(name, `${name}/${long}.txt`, `${turned} Marble ${long}`, { metadata: { author: long } });
  }
  const { page, troubles } = await openPage(t, browser);
  await signInAsOperator(page, server);
  const organizationId = /First organization: (\S+)/.exec(server.printed)?.[1] ?? '';
  const administration = new Api(server, adminKey);
  await administration.call('admin/add-api-key', {
    organization_id: organizationId,
    name: attack,
    permission: 'all',
  });

  const visit = async (address: string) => {
    await page.goto(`${server.url}/app/${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    t.equal(await page.evaluate('window.hacked'), undefined, address);
    await nothingSticksOut(t, page, address);
  };
  const inPlace = new URLSearchParams({ collection, path });
  await visit('organization');
  await page.getByLabel('Name').fill(`o ${attack} ${long}`.slice(0, 255));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The organisation has its new name.').waitFor();
  await visit('settings');
  await page.getByLabel('Name').fill(`${attack} ${long}`.slice(0, 200));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved').waitFor();
  for (const address of ['', 'collections', 'keys', 'members', 'usage', 'audit', 'settings', 'organizations'])
    await visit(address);
  await page.getByText(`o ${attack}`).first().waitFor();
  await visit(`documents?${new URLSearchParams({ collection })}`);
  await page.getByRole('link', { name: path }).waitFor();
  await visit(`document?${inPlace}`);
  await page.getByText(`Granite ${attack} in the text.`).first().waitFor();
  await visit(`document?${new URLSearchParams({ collection, path: 'page.html' })}`);
  await visit(`playground?${new URLSearchParams({ collection })}`);
  await page.getByLabel('Question').fill('granite marble basalt');
  await page.keyboard.press('Enter');
  const answers = page.getByRole('region', { name: 'Answers' });
  await answers.getByText(attack).first().waitFor();
  t.equal(await page.locator('img[src="x"], script:not([src])').count(), 0, 'none of it became markup');
  await visit(`documents?${new URLSearchParams({ collection: long })}`);
  await visit(`document?${new URLSearchParams({ collection: long, path: `${long}/${long}.txt` })}`);
  await visit('collections');
  await page.getByRole('button', { name: `Actions for ${long}` }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').waitFor();
  await nothingSticksOut(t, page, 'a dialog');
  t.equal(await page.evaluate('window.hacked'), undefined);
  t.same(troubles, []);
}

async function nothingSticksOut(t: Test, page: Page, where: string): Promise<void> {
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
