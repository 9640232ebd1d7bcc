import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { TestServer } from './server.ts';

/** Lists as large as in heavy use. */

const documentCount = 10_000;
const failed = 3;
/** Maximum number of rendered rows, regardless of the length of the list: the visible ones and a margin. */
const rowsMax = 60;
const heapBytesMax = 64_000_000;

/** Records the maximum number of rows and the durations of long tasks. */
const rowObserverScript = `
  window.rowsSeen = 0;
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longTasks.push(Math.round(duration));
  }).observe({ type: 'longtask', buffered: true });
  const look = () => {
    window.rowsSeen = Math.max(window.rowsSeen, document.querySelectorAll('.virtual-row').length);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

/** Ten thousand documents can be scrolled and searched by prefix, and failed documents are found at once. */
export async function largeDocumentListScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'many' });
  const names = Array.from({ length: documentCount }, (_, i) => `notes/${String(i).padStart(5, '0')}.txt`);
  const documents = names.map((path, i) => ({
    path,
    content: { type: 'text', text: `Note ${i}.` } as const,
  }));
  await api.addAll('many', documents);
  const broken = Buffer.from('%PDF-1.7\nno objects').toString('base64');
  for (let i = 0; i < failed; i += 1)
    await api.add('many', `scans/${i}.pdf`, { type: 'auto', base64_data: broken });

  const { page, context, problems } = await openPage(t, browser);
  await context.addInitScript(rowObserverScript);
  await signInAsOperator(page, server);
  const listRequests: { readonly path_gt: string | null; readonly only_failed?: boolean }[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('get-document-info-list')) listRequests.push(request.postDataJSON());
  });
  await page.goto(`${server.url}/app/documents?collection=many`);
  const table = page.getByRole('table', { name: 'Documents' });
  await table.getByRole('link', { name: names[0]! }).waitFor();
  await scrollToEnd(page, `scans/${failed - 1}.pdf`);
  t.ok(listRequests.length < 30, `${listRequests.length} calls for ${documentCount} documents`);
  const [rows, tasks] = await page.evaluate<[number, number[]]>('[window.rowsSeen, window.longTasks]');
  t.ok(rows > 10 && rows < rowsMax, `${rows} rows at most`);
  t.comment(`tasks of more than 200 ms: ${tasks.filter((ms) => ms > 200).join(', ') || 'none'}`);
  const heap = await heapBytes(page);
  t.ok(heap < heapBytesMax, `${heap} bytes`);

  await page.getByRole('link', { name: `scans/${failed - 1}.pdf` }).click();
  await page.getByText('This file could not be parsed').waitFor();
  listRequests.length = 0;
  await page.goBack();
  await page.getByRole('link', { name: `scans/${failed - 1}.pdf` }).waitFor();
  await page.getByText('10,003 documents').waitFor();
  t.ok(listRequests.length <= 2, 'going back restores the list without reloading');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'Documents', exact: true }).click();
  await page.getByText('10,003 documents').waitFor();
  t.equal(await page.evaluate('window.scrollY'), 0, 'a new visit starts at the top');

  await findAndSort(t, page);
  await changeSelection(t, page, api);

  listRequests.length = 0;
  await page.getByText(`Failed ${failed}`).click();
  await page.getByText(`${failed} documents`, { exact: true }).waitFor();
  t.ok(
    listRequests.length > 0 && listRequests.every((each) => each.only_failed === true),
    'only failed documents are requested',
  );
  await page.reload();
  await page.getByText(`${failed} documents`, { exact: true }).waitFor();
  await deleteAll(t, page, api);
  t.same(problems, []);
}

const pathCell = '.virtual-row a';

/** Text, type and order apply on the server, to documents that are not loaded, and are part of the URL. */
async function findAndSort(t: Test, page: Page): Promise<void> {
  await page.getByLabel('Search paths').fill('NOTES/0999');
  await page.getByText('10 documents', { exact: true }).waitFor();
  t.match(page.url(), /q=NOTES%2F0999/);
  await page.getByLabel('Type').selectOption({ label: 'PDF' });
  await page.getByText('No matching documents').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByText('10,003 documents').waitFor();
  await page.getByRole('columnheader', { name: 'Path' }).getByRole('button').click();
  await page
    .locator(pathCell)
    .first()
    .getByText(`scans/${failed - 1}.pdf`)
    .waitFor();
  await page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click();
  await page
    .locator(pathCell)
    .first()
    .getByText(`scans/${failed - 1}.pdf`)
    .waitFor();
  t.equal(await page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'), 'descending');
  await page.reload();
  await page
    .locator(pathCell)
    .first()
    .getByText(`scans/${failed - 1}.pdf`)
    .waitFor();
  await page.getByLabel('Added').selectOption({ label: 'Dates…' });
  await page.getByLabel('To', { exact: true }).fill('2020-01-01');
  await page.getByText('No matching documents').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByText('10,003 documents').waitFor();
}

/** Metadata of selected rows changes; other fields stay. */
async function changeSelection(t: Test, page: Page, api: CheckedApiClient): Promise<void> {
  await page.getByLabel('Search paths').fill('notes/0000');
  await page.getByText('10 documents', { exact: true }).waitFor();
  await page.getByLabel('Select notes/00001.txt').click();
  await page.getByLabel('Select notes/00004.txt').click({ modifiers: ['Shift'] });
  await page.getByText('4 documents selected').waitFor();
  await page.getByLabel('Select notes/00003.txt').click();
  for (const [name, value, count] of [
    ['team', 'support', 3],
    ['list:topics', 'billing, refunds', 3],
  ] as const) {
    if (name !== 'team') {
      for (const i of [1, 2, 4]) await page.getByLabel(`Select notes/0000${i}.txt`).click();
      await waitFor('the documents are indexed again', async () => {
        const { documents } = await api.call('documents/get-document-info-list', {
          collection_name: 'many',
          path_contains: 'notes/0000',
          index_statuses: ['indexed'],
        });
        return documents.length === 10 ? true : null;
      });
      await page.reload();
      for (const i of [1, 2, 4]) await page.getByLabel(`Select notes/0000${i}.txt`).click();
    }
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name of field 1').fill('not a name');
    await dialog.getByText('Names consist of letters').waitFor();
    t.ok(await dialog.getByRole('button', { name: 'Apply' }).isDisabled());
    await dialog.getByLabel('Name of field 1').fill(name);
    await dialog.getByLabel('Value of field 1').fill(value);
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByText(`${count} documents changed.`).first().waitFor();
  }
  const { document } = await api.call('documents/get-document-info', {
    collection_name: 'many',
    path: 'notes/00004.txt',
  });
  t.same(document.metadata, { team: 'support', 'list:topics': ['billing', 'refunds'] });
  const other = await api.call('documents/get-document-info', {
    collection_name: 'many',
    path: 'notes/00003.txt',
  });
  t.same(other.document.metadata, {}, 'a document that is not selected stays');
  await page.goto(page.url().replace(/&q=[^&]*/, ''));
  await page.getByText('10,003 documents').waitFor();
}

/** All documents that match the filters are selected, also those that are not loaded, except one. */
async function deleteAll(t: Test, page: Page, api: CheckedApiClient): Promise<void> {
  await page.getByLabel('Search paths').fill('notes/');
  await page.getByText('All 10,003').click();
  await page.getByText('10,000 documents', { exact: true }).waitFor();
  await page.getByLabel('Select all documents').check();
  await page.getByLabel('Select notes/00002.txt').uncheck();
  await page.getByText('9,999 documents selected').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog');
  t.ok(await dialog.getByRole('button', { name: 'Delete', exact: true }).isDisabled());
  await dialog.getByLabel('Type “many” to confirm').fill('many');
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('9,999 documents deleted.').waitFor();
  await page.getByText('1 document', { exact: true }).waitFor();
  const left = await api.paths('many', {});
  t.same(left, ['notes/00002.txt', ...Array.from({ length: failed }, (_, i) => `scans/${i}.pdf`)]);
}

/** Scrolls with the wheel, one screen at a time, until the last row is rendered. */
async function scrollToEnd(page: Page, last: string): Promise<void> {
  await page.mouse.move(700, 400);
  await waitFor(
    'the end of the list',
    async () => {
      await page.mouse.wheel(0, 20_000);
      return (await page.getByRole('link', { name: last }).count()) > 0 ? true : null;
    },
    60_000,
  );
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

/** The details of a collection, its query defaults, and the progress of a model change, which can be canceled. */
async function changeCollection(t: Test, page: Page, api: CheckedApiClient): Promise<void> {
  const openSettings = async () => {
    await page.getByRole('button', { name: 'Actions for c000' }).click();
    await page.getByRole('button', { name: 'Details and settings…' }).click();
  };
  await openSettings();
  const dialog = page.getByRole('dialog', { name: 'c000' });
  await dialog.getByText('Index in memory').waitFor();
  t.match(await dialog.locator('dl').textContent(), /Documents70Chunks70Original files/);
  await dialog.getByLabel('Results per document').fill('2');
  await dialog.getByRole('button', { name: 'Save defaults' }).click();
  await page.getByText('Query defaults saved.').waitFor();
  t.match(await api.call('collections/get-collection-list', {}), {
    query_defaults: [{ collection_name: 'c000', query_defaults: { max_per_document: 2 } }],
  });
  await changeHistory(t, page, api, openSettings);

  const change = {
    collection_name: 'c000',
    embedding_model: 'other',
    num_documents: 70,
    num_documents_done: 14,
  };
  await page.route('**/v1/status/get-status', async (route) => {
    const reply = await route.fetch();
    await route.fulfill({ response: reply, json: { ...(await reply.json()), model_changes: [change] } });
  });
  const requested: unknown[] = [];
  await page.route('**/v1/collections/change-model', (route) => {
    requested.push(route.request().postDataJSON());
    return route.fulfill({ json: { message: 'Success!' } });
  });
  await page.reload();
  await page.getByText('New model 20%').first().waitFor();
  await openSettings();
  await dialog.getByText('14 of 70').waitFor();
  await dialog.getByRole('button', { name: 'Cancel the change' }).click();
  await waitFor('the change is canceled', async () => (requested.length > 0 ? true : null));
  t.same(requested, [{ collection_name: 'c000', embedding_model: 'zembed-1' }]);
  await page.unrouteAll({ behavior: 'wait' });
}

/** Old versions are kept for a number of days; a change that deletes some of them says so. */
async function changeHistory(
  t: Test,
  page: Page,
  api: CheckedApiClient,
  openSettings: () => Promise<void>,
): Promise<void> {
  const historyDays = async () => {
    const reply = await api.call('collections/get-collection-info', { collection_name: 'c000' });
    return (reply.collection as { readonly history_days?: number }).history_days;
  };
  await openSettings();
  const dialog = page.getByRole('dialog', { name: 'c000' });
  const days = dialog.getByLabel('Keep old versions');
  await days.fill('30');
  await dialog.getByRole('button', { name: 'Save history' }).click();
  await dialog.locator('dl').getByText('Old versions').waitFor();
  t.equal(await historyDays(), 30);
  await days.fill('7');
  await dialog.getByText('Old versions of more than 7 days will be deleted.').waitFor();
  await days.fill('');
  await dialog.getByText('All old versions of this collection will be deleted.').waitFor();
  await dialog.getByRole('button', { name: 'Delete history' }).click();
  await dialog.locator('dl').getByText('Old versions').waitFor({ state: 'detached' });
  t.equal(await historyDays(), undefined);
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
}

/** Hundreds of uploads are canceled; hundreds of collections and results load in pages. */
export async function largeListsScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  for (let i = 0; i < 130; i += 1)
    await api.call('collections/add-collection', { collection_name: `c${String(i).padStart(3, '0')}` });
  const documents = Array.from({ length: 70 }, (_, i) => ({
    path: `${i}.txt`,
    content: { type: 'text', text: `Granite ${i}.` } as const,
  }));
  await api.addAll('c000', documents);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);

  await page.goto(`${server.url}/app/collections`);
  const rows = page.getByRole('table', { name: 'Collections' }).getByRole('row');
  await page.getByRole('button', { name: 'Show 30 more of 30' }).waitFor();
  t.equal(await rows.count(), 101);
  await page.getByRole('link', { name: 'c070' }).scrollIntoViewIfNeeded();
  const scrolled = await page.evaluate<number>('window.scrollY');
  t.ok(scrolled > 1_000, `${scrolled} px`);
  await page.getByRole('link', { name: 'c070' }).click();
  await page.getByText('This collection is empty').waitFor();
  await page.goBack();
  await waitFor('going back restores the scroll position', async () =>
    (await page.evaluate('window.scrollY')) === scrolled ? true : null,
  );
  await page.getByRole('button', { name: 'Show 30 more of 30' }).click();
  await page.getByRole('link', { name: 'c129' }).waitFor();
  await waitFor('every row has its counts', async () =>
    (await page.locator('.table .skeleton').count()) === 0 ? true : null,
  );

  await changeCollection(t, page, api);

  await page.goto(`${server.url}/app/search?collection=c000`);
  await page.getByLabel('Query').fill('granite');
  await page.getByRole('spinbutton', { name: 'Results' }).fill('70');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const results = page.getByRole('region', { name: 'Results' }).getByRole('listitem');
  await page.getByRole('button', { name: 'Show 20 more of 20' }).click();
  await waitFor('all results', async () => ((await results.count()) === 70 ? true : null));

  let sent = 0;
  await page.route('**/v1/documents/c001/**', () => {
    sent += 1; // never replies
  });
  await page.goto(`${server.url}/app/upload?collection=c001`);
  const files = Array.from({ length: 300 }, (_, i) => ({
    name: `${i}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from('text'),
  }));
  await page.getByLabel('Files to upload').setInputFiles(files);
  await waitFor('the first uploads are in flight', async () => (sent === 3 ? true : null));
  await page.getByRole('button', { name: 'Cancel all' }).click();
  await page.getByRole('button', { name: 'Clear list' }).waitFor();
  t.equal(sent, 3, 'no waiting upload starts after cancellation');
  await page.getByRole('button', { name: 'Clear list' }).click();
  t.same((await api.call('status/get-status', { collection_name: 'c001' })).num_documents, 0);
  t.same(problems, []);
}
