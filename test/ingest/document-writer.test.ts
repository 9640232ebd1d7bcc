import { AppError } from '../../src/core/app-error.ts';
import type { StorageGrowth } from '../../src/ingest/document-writer.ts';
import { type DocumentIndexStatus, indexStatuses } from '../../src/schemas/documents.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import {
  diskFullError,
  type IngestComponents,
  ingestText,
  openComponents,
  searchText,
  textDocument,
} from './controllable-store.ts';

type Change = (components: IngestComponents) => Promise<unknown>;
const changes: Readonly<Record<string, Change>> = {
  add: ({ writer, papers }) => writer.add(papers, textDocument('a.txt', 'again')),
  overwrite: ({ writer, papers }) => writer.add(papers, textDocument('a.txt', 'again', { overwrite: true })),
  metadata: ({ writer, papers }) => writer.updateMetadata(papers, 'a.txt', { metadata: { tag: 'new' } }),
  'parse again': ({ writer, papers }) => writer.retry(papers, 'a.txt', 'not_parsed'),
  'index again': ({ writer, papers }) => writer.retry(papers, 'a.txt', 'not_indexed'),
  delete: ({ writer, papers }) => writer.remove(papers, ['a.txt']),
};
/** Status after each change, by status before; or the error code of a refused change. */
const refused = 'precondition_failed';
const others = { add: 'conflict', overwrite: 'not_indexed', delete: 'gone' };
const pending = { ...others, metadata: refused, 'parse again': refused, 'index again': refused };
const outcomes: Readonly<Record<DocumentIndexStatus, Readonly<Record<string, string>>>> = {
  not_parsed: pending,
  parsing: pending,
  not_indexed: pending,
  indexing: pending,
  indexed: { ...pending, metadata: 'not_indexed' },
  parsing_failed: { ...pending, 'parse again': 'not_parsed' },
  indexing_failed: { ...pending, 'index again': 'not_indexed' },
};

t.test('each change is possible in exactly the documented states, and the counts follow', async (t) => {
  const first = await openComponents(t);
  const { store, documents, counts, papers, ingest } = first;
  const { collectionId } = papers;
  await ingestText(first, 'a.txt', 'the text');
  await ingest.close();
  const indexed = documents.get(collectionId, 'a.txt')!;
  const put = async (status: DocumentIndexStatus | null) => {
    const now = documents.get(collectionId, 'a.txt');
    const record = status === null ? null : { ...indexed, status, version: now?.version ?? indexed.version };
    const operations = record === null ? [] : documents.put(record, null);
    const from = now?.status ?? null;
    await store.write([...operations, counts.change(collectionId, { from, to: status, bytes: 0 })]);
  };
  for (const status of indexStatuses) {
    for (const [name, change] of Object.entries(changes)) {
      await put(status);
      const error = await change(first).then(
        () => null,
        (rejection: { code: string }) => rejection.code,
      );
      const after = documents.get(collectionId, 'a.txt')?.status ?? 'gone';
      t.equal(error ?? after, outcomes[status][name], `${status}: ${name}`);
      if (error !== null) t.equal(after, status, 'a rejected change has no effect');
      const { documents: counted } = counts.get(collectionId);
      t.same(counted, (await counts.recount(collectionId)).documents, 'the counts are exact');
    }
  }
});

t.test('of concurrent additions of one path exactly one succeeds', async (t) => {
  const { writer, papers } = await openComponents(t);
  const adding = Array.from({ length: 20 }, (_, i) => writer.add(papers, textDocument('a.txt', `text ${i}`)));
  const results = await Promise.allSettled(adding);
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const result of results)
    if (result.status === 'rejected') t.match(result.reason, { code: 'conflict' });
});

t.test('a write reserves its space when it holds the lock', async (t) => {
  const { writer, papers, store } = await openComponents(t);
  const requestedGrowth: StorageGrowth[] = [];
  const ended: boolean[] = [];
  const write = (text: string, overwrite = true) =>
    writer.add(papers, textDocument('a.txt', text, { overwrite }), undefined, async (growth) => {
      requestedGrowth.push(growth);
      return { end: (isWritten) => void ended.push(isWritten) };
    });
  const release = store.holdWrites();
  const writing = [write('1'), write('333'), writer.remove(papers, ['a.txt']), write('22')];
  const pendingWrite = write('1', false);
  release();
  await Promise.all(writing);
  await t.rejects(pendingWrite, { code: 'conflict' });
  t.same(requestedGrowth, [
    { documents: 1, bytes: 1, received: 1 },
    { documents: 0, bytes: 2, received: 3 },
    { documents: 1, bytes: 2, received: 2 },
  ]);
  store.nextFailure = diskFullError();
  await t.rejects(write('4444'), { code: 'reserve_reached' });
  t.same(
    ended,
    [true, true, true, false],
    'each write releases its reservation, and a rejected write stores nothing',
  );
  const full = new AppError('rate_limited', 'No space.');
  const refused = writer.add(papers, textDocument('b.txt', '1'), undefined, () => Promise.reject(full));
  await t.rejects(refused, full);
});

t.test('new metadata keeps the id, text and page images of a document', async (t) => {
  const first = await openComponents(t);
  const { store, documents, versions, writer, papers, ingest } = first;
  await ingestText(first, 'a.txt', 'a text about herring');
  const before = documents.get(papers.collectionId, 'a.txt')!;
  const version = versions.get(papers.collectionId, before.version)!;
  await store.write([versions.put({ ...version, hasImages: true })]);
  await writer.updateMetadata(papers, 'a.txt', { metadata: { tag: 'new' } });
  const now = documents.get(papers.collectionId, 'a.txt')!;
  t.match(now, { documentId: before.documentId, live: before.version, metadata: { tag: 'new' } });
  await ingest.waitUntilSettled(now.version, AbortSignal.timeout(testEventMsMax));
  t.match(versions.get(papers.collectionId, now.version), { hasImages: true, metadata: { tag: 'new' } });
  t.same(await searchText(first, 'herring'), ['a.txt']);
});

t.test('queries return the old text until an overwrite is indexed, then only the new one', async (t) => {
  const first = await openComponents(t);
  const { documents, writer, papers, ingest } = first;
  await ingestText(first, 'a.txt', 'a text about herring');
  const old = documents.get(papers.collectionId, 'a.txt')!;
  const { version } = await writer.add(
    papers,
    textDocument('a.txt', 'a text about salmon', { overwrite: true }),
  );
  const currentDocument = documents.get(papers.collectionId, 'a.txt')!;
  t.match(currentDocument, { status: 'not_indexed', live: old.version, liveDocumentId: old.documentId });
  t.ok(documents.findById(old.documentId), 'the old URL is still valid');
  t.same(await searchText(first, 'herring'), ['a.txt']);
  await ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
  t.same([await searchText(first, 'herring'), await searchText(first, 'salmon')], [[], ['a.txt']]);
  t.equal(documents.findById(old.documentId), undefined);
});

t.test('an addition to a collection deleted meanwhile fails with not_found', async (t) => {
  const first = await openComponents(t);
  await first.deleteCollection(first.papers);
  await t.rejects(first.writer.add(first.papers, textDocument('a.txt', 'late')), { code: 'not_found' });
  t.same(await first.writer.remove(first.papers, ['a.txt']), []);
});
