import { createHistoryTrimTask } from '../../src/ingest/history-trim.ts';
import { collectGarbage } from '../../src/storage/garbage.ts';
import { countOrphanRows } from '../../src/storage/orphan-rows.ts';
import { sweepCollections } from '../../src/storage/sweep.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { type IngestComponents, ingestText, openComponents } from './controllable-store.ts';

/** Data of kept versions: it is deleted with the last version that needs it. */

t.setTimeout(testFileMsMax);
const dayMs = 86_400_000;
const later = 2 ** 52;

async function openWithHistory(t: Test) {
  const components = await openComponents(t);
  const { store, collections, history, papers } = components;
  const collection = { ...papers, historyDays: 10 };
  await store.write([
    ...collections.putSettings(papers.collectionId, { historyDays: 10 }),
    ...history.start(collection),
  ]);
  return { ...components, papers: collections.findById(papers.collectionId)! };
}

async function setTag({ writer, documents, papers }: IngestComponents, tag: string): Promise<void> {
  await writer.updateMetadata(papers, 'a.txt', { metadata: { tag } });
  await waitUntil('the version is indexed', async () => {
    return documents.get(papers.collectionId, 'a.txt')?.status === 'indexed';
  });
}

/** Numbers of versions, and of documents with content, that are stored after the garbage was collected. */
async function countStored({ store, blobs, versions, contents, papers }: IngestComponents, ids: Set<string>) {
  await collectGarbage({ store, blobs }, later);
  let stored = 0;
  for await (const { documentId } of versions.list(papers.collectionId)) {
    ids.add(documentId);
    stored += 1;
  }
  let withContent = 0;
  for (const id of ids) if ((await contents.deleteAll(id, 1)).length > 0) withContent += 1;
  return [stored, withContent];
}

function trim({ history, papers }: IngestComponents, atMin: number | null): Promise<number> {
  return history.trim(papers.collectionId, { atMin, signal: AbortSignal.timeout(testFileMsMax) });
}

t.test('versions that differ in metadata share their content until the last is trimmed', async (t) => {
  const components = await openWithHistory(t);
  const { writer, history, store, papers } = components;
  const ids = new Set<string>();
  await ingestText(components, 'a.txt', 'one');
  await setTag(components, 'x');
  t.same(await countStored(components, ids), [2, 1]);
  t.equal(history.countBytes(papers.collectionId), 0, 'the live version has the content');
  t.equal(await trim(components, later), 2);
  t.same(await countStored(components, ids), [1, 1], 'the content of the live version remains');
  await setTag(components, 'y');
  await ingestText(components, 'a.txt', 'second');
  t.same(await countStored(components, ids), [3, 2]);
  t.equal(history.countBytes(papers.collectionId), 3);
  await writer.remove(papers, ['a.txt']);
  t.same(await countStored(components, ids), [3, 2]);
  t.equal(history.countBytes(papers.collectionId), 9);
  t.equal(await trim(components, later), 3);
  t.same(await countStored(components, ids), [0, 0]);
  t.equal(history.countBytes(papers.collectionId), 0);
  t.equal((await countOrphanRows(store)).size, 0);
});

t.test('erasing deletes the versions of one path', async (t) => {
  const components = await openWithHistory(t);
  const { writer, history, papers } = components;
  const ids = new Set<string>();
  for (const text of ['one', 'second']) await ingestText(components, 'a.txt', text);
  await setTag(components, 'x');
  await ingestText(components, 'b.txt', 'other');
  t.same(await countStored(components, ids), [4, 3]);
  t.same(await writer.remove(papers, ['a.txt', 'none.txt'], { erasesHistory: true }), ['a.txt']);
  t.same(await countStored(components, ids), [1, 1]);
  t.equal(history.countBytes(papers.collectionId), 0);
  t.same(await writer.remove(papers, ['a.txt'], { erasesHistory: true }), []);
});

t.test('a failed version does not take the content of a kept one', async (t) => {
  const components = await openWithHistory(t);
  const { documents, writer, papers, indexes } = components;
  const ids = new Set<string>();
  await ingestText(components, 'a.txt', 'one');
  const before = documents.get(papers.collectionId, 'a.txt')!;
  // The version that replaces the metadata is pending when the document is deleted.
  await indexes.remove(papers.collectionId);
  await writer.updateMetadata(papers, 'a.txt', { metadata: { tag: 'x' } });
  t.not(documents.get(papers.collectionId, 'a.txt')!.version, before.version);
  await writer.remove(papers, ['a.txt']);
  t.same(await countStored(components, ids), [1, 1]);
});

t.test(
  'the task deletes what history_days no longer keeps, and the history of a setting that was removed',
  async (t) => {
    const components = await openWithHistory(t);
    const { store, collections, history, papers } = components;
    const { collectionId } = papers;
    for (const text of ['one', 'second']) await ingestText(components, 'a.txt', text);
    let today = Date.now();
    const task = createHistoryTrimTask({ ...components, now: async () => today });
    const run = () => task.run(AbortSignal.timeout(testFileMsMax));
    await run();
    t.equal(history.countBytes(collectionId), 3);
    today += 9 * dayMs;
    await run();
    t.equal(history.countBytes(collectionId), 3);
    const start = history.findStart(collectionId)!;
    today += 2 * dayMs;
    await run();
    t.equal(history.countBytes(collectionId), 0);
    t.ok(history.findStart(collectionId)!.sequence > start.sequence);
    await ingestText(components, 'a.txt', 'third');
    await store.write(collections.putSettings(collectionId, {}));
    await run();
    t.equal(history.findStart(collectionId), undefined);
    t.equal(history.countBytes(collectionId), 0);
    await ingestText(components, 'a.txt', 'fourth');
    t.same(await countStored(components, new Set()), [1, 1]);
  },
);

t.test('another model begins a new history, because kept versions have no vectors of it', async (t) => {
  const components = await openWithHistory(t);
  const { collections, history, changeModel, papers } = components;
  const { collectionId } = papers;
  for (const text of ['one', 'second']) await ingestText(components, 'a.txt', text);
  const last = (await history.findLast(collectionId))!;
  await changeModel(papers);
  await waitUntil('the model is changed', async () => {
    return collections.findById(collectionId)?.model?.id === 'sounds';
  });
  t.ok(history.findStart(collectionId)!.sequence > last.sequence);
  t.equal(await trim(components, 0), 2, 'versions before the start are deleted');
  t.equal(history.countBytes(collectionId), 0);
});

t.test('the deletion of a collection deletes its history', async (t) => {
  const components = await openWithHistory(t);
  const { store, blobs, collections, indexes, papers } = components;
  for (const text of ['one', 'second']) await ingestText(components, 'a.txt', text);
  await store.write(collections.delete(papers, 0));
  await indexes.remove(papers.collectionId);
  t.same(await sweepCollections({ store, blobs }, later), [papers.collectionId]);
  t.equal((await countOrphanRows(store)).size, 0);
  t.same(await countStored(components, new Set()), [0, 0]);
});
