import { randomUUID } from 'node:crypto';
import { Collections } from '../../src/storage/collections.ts';
import { Counts } from '../../src/storage/counts.ts';
import { type DocumentRecord, Documents } from '../../src/storage/documents.ts';
import { tables, uuid } from '../../src/storage/keys.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { ExpectationFailedError, encodeCounters } from '../../src/storage/store.ts';
import { Versions } from '../../src/storage/versions.ts';
import t from '../support/tap.ts';
import { collection, document, version } from './records.ts';

async function pathsOf(records: AsyncIterable<DocumentRecord>): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of records) paths.push(path);
  return paths;
}

t.test('paths list in the order of their UTF-8 bytes, by prefix and after a path', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const collectionId = randomUUID();
  // UTF-16 order would put 😀 before ﬀ.
  const paths = ['a', 'a/b', 'a/ﬀ', 'a/😀', 'ab', 'b'];
  for (const path of [...paths].reverse())
    await store.write(documents.put(document({ collectionId, path }), null));
  await store.write(documents.put(document({ path: 'a' }), null));
  t.same(await pathsOf(documents.list(collectionId)), paths);
  const cases = [
    [{ prefix: 'a/' }, ['a/b', 'a/ﬀ', 'a/😀']],
    [{ prefix: 'a/', pathGt: 'a/b' }, ['a/ﬀ', 'a/😀']],
    [{ prefix: 'a/', pathGt: 'A' }, ['a/b', 'a/ﬀ', 'a/😀']],
    [{ prefix: 'a/', pathGt: 'z' }, []],
    [{ prefix: 'a/', pathGt: 'a/' }, ['a/b', 'a/ﬀ', 'a/😀']],
    [{ pathGt: 'a/ﬀ', limit: 2 }, ['a/😀', 'ab']],
    [{ prefix: 'c' }, []],
  ] as const;
  for (const [options, expected] of cases)
    t.same(await pathsOf(documents.list(collectionId, options)), expected);
});

t.test('metadata is stored unchanged, regardless of its names', async (t) => {
  const store = new MemoryStore();
  const metadata = JSON.parse('{"__proto__":"x","constructor":"y","list:tags":["a","ü"],"empty":""}');
  const record = document({ metadata });
  const found = version({ metadata });
  await store.write([...new Documents(store).put(record, null), new Versions(store).put(found)]);
  const read = new Documents(store).get(record.collectionId, record.path);
  t.equal(JSON.stringify(read?.metadata), JSON.stringify(metadata));
  t.equal(JSON.stringify(new Versions(store).get(found.collectionId, 1)?.metadata), JSON.stringify(metadata));
  t.equal(({} as { x?: string }).x, undefined);
});

t.test('a document id finds its document while it is the current or the searchable one', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const old = document({ live: 1 });
  const indexed = { ...old, liveDocumentId: old.documentId };
  await store.write(documents.put(indexed, null));
  const next = { ...indexed, documentId: randomUUID(), version: 2 };
  await store.write(documents.put(next, indexed));
  t.same(documents.findById(old.documentId), next, 'search still returns the old version');
  t.same(documents.findById(next.documentId), next);
  const switched = { ...next, live: 2, liveDocumentId: next.documentId };
  await store.write([...documents.put(switched, next), documents.deleteId(old.documentId)]);
  t.equal(documents.findById(old.documentId), undefined);
  await store.write(documents.delete(switched));
  t.equal(documents.findById(next.documentId), undefined);
  t.equal(documents.get(next.collectionId, next.path), undefined);
});

t.test('a write that expects a version is rejected after a concurrent change', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const record = document();
  const { collectionId, path } = record;
  await store.write([documents.expectAbsent(collectionId, path), ...documents.put(record, null)]);
  await t.rejects(store.write([documents.expectAbsent(collectionId, path)]), ExpectationFailedError);
  await store.write([
    documents.expectVersion(collectionId, path, 1),
    ...documents.put({ ...record, version: 2 }, record),
  ]);
  await t.rejects(store.write([documents.expectVersion(collectionId, path, 1)]), ExpectationFailedError);
});

t.test('counts follow every change and agree with a recount', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const counts = new Counts(store);
  const collectionId = randomUUID();
  const records = Array.from({ length: 10 }, (_, index) => document({ collectionId, path: `p${index}` }));
  await Promise.all(
    records.map((record) =>
      store.write([
        ...documents.put(record, null),
        counts.change(collectionId, { from: null, to: 'not_parsed', bytes: 0, stored: record.size }),
      ]),
    ),
  );
  const [first, second] = records as [DocumentRecord, DocumentRecord];
  await store.write([
    ...documents.put({ ...first, status: 'indexed', indexedBytes: 7 }, first),
    counts.change(collectionId, { from: 'not_parsed', to: 'indexed', bytes: 7 }),
  ]);
  await store.write([
    ...documents.delete(second),
    counts.change(collectionId, { from: 'not_parsed', to: null, bytes: 0, stored: -second.size }),
  ]);
  const found = counts.get(collectionId);
  t.equal(found.documents.not_parsed, 8);
  t.equal(found.documents.indexed, 1);
  t.equal(found.indexedBytes, 7);
  t.same(await counts.recount(collectionId), found);
  await store.write([counts.delete(collectionId)]);
  t.equal(counts.get(collectionId).documents.indexed, 0);
  await store.write([counts.put(collectionId, found)]);
  t.same(counts.get(collectionId), found);
});

t.test('a deleted collection frees its name at once and accepts no documents', async (t) => {
  const store = new MemoryStore();
  const collections = new Collections(store);
  const first = collection();
  await store.write(collections.create(first));
  t.same(collections.findById(first.collectionId), first);
  await t.rejects(
    store.write(collections.create({ ...first, collectionId: randomUUID() })),
    ExpectationFailedError,
  );
  await store.write(collections.delete(first, 5_000));
  await t.rejects(store.write(collections.delete(first, 5_000)), ExpectationFailedError);
  await t.rejects(store.write([collections.expectExists(first.collectionId)]), ExpectationFailedError);
  t.equal(collections.findById(first.collectionId), undefined);
  const second = { ...first, collectionId: randomUUID() };
  await store.write(collections.create(second));
  t.same(await collections.list(first.organizationId), [second]);
  t.same(await collections.listAll(), [second]);
  t.same(await collections.listTombstones(), [
    { collectionId: first.collectionId, organizationId: first.organizationId, deletedAt: 5_000 },
  ]);
  await store.write(collections.update({ ...second, languages: ['de'] }));
  t.same(collections.find(first.organizationId, 'contracts')?.languages, ['de']);
});

t.test('counts of an earlier build without raw bytes are recognized', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const counts = new Counts(store);
  const collectionId = randomUUID();
  t.notOk(counts.isIncomplete(collectionId), 'raw bytes are not counted yet');
  const record = document({ collectionId, path: 'a', status: 'indexed', size: 7, indexedBytes: 5 });
  const key = Buffer.concat([Uint8Array.of(tables.counts), uuid.encode(collectionId)]);
  const earlier = encodeCounters([0, 0, 0, 0, 1, 0, 0, 5]);
  await store.write([...documents.put(record, null), { type: 'put', key, value: earlier }]);
  t.ok(counts.isIncomplete(collectionId));
  t.equal(counts.get(collectionId).storedBytes, 0);
  await store.write([counts.put(collectionId, await counts.recount(collectionId))]);
  t.notOk(counts.isIncomplete(collectionId));
  t.match(counts.get(collectionId), { indexedBytes: 5, storedBytes: 7 });
});

t.test('failed documents are listed until they are retried or deleted', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const collectionId = randomUUID();
  const others = ['a', 'b/1', 'b/2', 'b/3', 'c'].map((path) => document({ collectionId, path }));
  for (const record of others) await store.write(documents.put(record, null));
  const failed = others.slice(1, 4).map((record) => ({ ...record, status: 'parsing_failed' }) as const);
  for (const [i, record] of failed.entries()) await store.write(documents.update(record, others[i + 1]!));
  const listed = async (options = {}) => pathsOf(documents.listFailed(collectionId, options));
  t.same(await listed(), ['b/1', 'b/2', 'b/3']);
  t.same(await listed({ prefix: 'b/', pathGt: 'b/1', limit: 1 }), ['b/2']);
  t.same(await pathsOf(documents.listFailed(randomUUID())), []);
  const [first, second, third] = failed;
  await store.write(documents.update({ ...first!, status: 'indexing_failed' }, first!));
  await store.write(documents.put({ ...second!, status: 'not_parsed' }, second!));
  t.same(await listed(), ['b/1', 'b/3']);
  await store.write(documents.delete(third!));
  t.same(await listed(), ['b/1']);
});

t.test('failed documents of an earlier build, which did not list them, are found and listed', async (t) => {
  const store = new MemoryStore();
  const documents = new Documents(store);
  const record = document({ status: 'parsing_failed' });
  const [written] = documents.put(record, null);
  await store.write([written!]);
  t.same(await pathsOf(documents.listFailed(record.collectionId)), []);
  for await (const operation of documents.listMissingFailures(record.collectionId))
    await store.write([operation]);
  t.same(await pathsOf(documents.listFailed(record.collectionId)), [record.path]);
  for await (const _ of documents.listMissingFailures(record.collectionId))
    t.fail('all failed documents are listed');
});
