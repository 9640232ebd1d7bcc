import { randomUUID } from 'node:crypto';
import { LiveVersions } from '../../src/storage/changes.ts';
import { decodeChunk, encodeChunk } from '../../src/storage/chunks.ts';
import { Contents } from '../../src/storage/content.ts';
import { contentTable, parts } from '../../src/storage/content-table.ts';
import { type DocumentRecord, Documents } from '../../src/storage/documents.ts';
import { tables, text, u32, u53, uuid } from '../../src/storage/keys.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { WriteOperation } from '../../src/storage/store.ts';
import { recordCodec, Table } from '../../src/storage/table.ts';
import { asBytes } from '../../src/storage/typed-bytes.ts';
import { type VersionRecord, Versions } from '../../src/storage/versions.ts';
import t from '../support/tap.ts';
import { document, version } from './records.ts';
import { createTestRandom } from './test-random.ts';

/** Tables whose records had the names of their fields before format 5. */
const namedDocuments = new Table<readonly [string, string], object>(tables.documents, [uuid, text]);
const namedIds = new Table<readonly [string], readonly [string, string]>(tables.documentId, [uuid]);
const namedVersions = new Table<readonly [string, number], object>(tables.versions, [uuid, u53]);
const namedLive = new Table<readonly [string, number, number], string>(tables.live, [uuid, u32, u53]);

const named = ({ metadata, ...record }: DocumentRecord | VersionRecord) => ({
  ...record,
  metadata: JSON.stringify(metadata),
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

function bytesOf(operation: WriteOperation | undefined): number {
  return operation?.type === 'put' ? operation.value.byteLength : Number.NaN;
}

/** Documents in various states; the last one has values without a short form. */
const documents: readonly DocumentRecord[] = [
  document(),
  document({ path: 'live.txt', live: 7, liveDocumentId: randomUUID(), status: 'indexing', version: 8 }),
  document({ expiresAt: 1_764_000_000_000, vectorBytes: 4_096, numPages: 3, createdAt: 1_764_000_000_001 }),
  document({
    status: 'parsing_failed',
    error: { code: 'corrupt', message: 'The file is damaged.', retryable: false },
    contentType: 'application/x-unusual',
    rawHash: 'AB'.repeat(32),
    metadata: JSON.parse('{"__proto__":"kept","year":1887,"place":{"lat":1.5,"lon":2}}'),
  }),
].map((record, i) => (i === 2 ? { ...record, live: 1, liveDocumentId: record.documentId } : record));

t.test('documents are read as they were written, also those of format 4', async (t) => {
  for (const record of documents) {
    const store = new MemoryStore();
    const stored = new Documents(store);
    await store.write(stored.put(record, null));
    t.same(stored.get(record.collectionId, record.path), record);
    t.same(stored.findById(record.documentId), record);
    for await (const listed of stored.list(record.collectionId)) t.same(listed, record);
    const key = [record.collectionId, record.path] as const;
    const before = bytesOf(namedDocuments.put(key, named(record)));
    t.ok(bytesOf(stored.put(record, null)[0]) * 2 < before, 'takes less than half of the bytes');
    const older = new MemoryStore();
    await older.write([namedDocuments.put(key, named(record)), namedIds.put([record.documentId], key)]);
    t.same(new Documents(older).findById(record.documentId), record);
    await older.write([new Documents(older).expectVersion(...key, record.version)]);
  }
});

t.test('versions and live versions are read as they were written, also those of format 4', async (t) => {
  const store = new MemoryStore();
  const collectionId = randomUUID();
  const records = [
    version({ collectionId, version: 1, metadata: { year: '1887' }, hasImages: true }),
    version({ collectionId, version: 2, expiresAt: 1_764_000_000_000, size: 3, shard: 4 }),
    version({ collectionId, version: 2 ** 40, contentType: 'application/pdf' }),
  ];
  const versions = new Versions(store);
  const live = new LiveVersions(store);
  const entryOf = ({ shard, version: number, documentId }: VersionRecord) => ({
    shard,
    version: number,
    documentId,
  });
  const numbers = records.map((record) => record.version);
  await store.write(
    records.flatMap((record) => [versions.put(record), live.put(collectionId, entryOf(record))]),
  );
  t.same(versions.getMany(collectionId, numbers), records);
  const readLive = async () => (await collect(live.list(collectionId))).toSorted(byVersion);
  t.same(await readLive(), records.map(entryOf));
  await store.write(
    records.flatMap((record) => [
      namedVersions.put([collectionId, record.version], named(record)),
      namedLive.put([collectionId, record.shard, record.version], record.documentId),
    ]),
  );
  t.same(versions.getMany(collectionId, numbers), records);
  t.same(await collect(versions.list(collectionId)), records);
  t.same(await readLive(), records.map(entryOf));
});

const byVersion = (a: { readonly version: number }, b: { readonly version: number }) => a.version - b.version;

const chunk = {
  text: 'Fish 🐟 are packed. Barrels are salted.',
  start: 120,
  end: 158,
  pageStart: 0,
  pageEnd: 2,
  prefix: 'Herring',
  blank: false,
  language: null,
};

t.test('the spans of fine chunks are exact, also with characters of two units and in any order', (t) => {
  const random = createTestRandom();
  const spanLists = [
    [],
    [0, 20, 120, 139, 20, 39, 139, 158],
    [5, 9, 125, 129, 0, 5, 120, 125],
    Array.from({ length: 4 * 50 }, () => random.below(2 ** 28)),
  ];
  for (const spans of spanLists) {
    const { children, ...rest } = decodeChunk(encodeChunk({ ...chunk, spans: Uint32Array.from(spans) }));
    t.same(rest, chunk);
    const numbers = children.flatMap((span) => [
      span.start,
      span.end,
      span.startCodePoint,
      span.endCodePoint,
    ]);
    t.same(numbers, spans);
  }
  t.end();
});

t.test('chunks, layouts and index heads of format 4 are read', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  const spans = Uint32Array.of(0, 20, 120, 139, 20, 39, 139, 158);
  const layout = { length: 158, textBytes: 160, unordered: false, title: null, language: 'en' };
  const starts = Uint32Array.of(0, 120);
  const put = (part: number, index: number, record: object) =>
    contentTable.put([documentId, part, index], recordCodec<object>().encode(record));
  const numbers = { pageStarts: asBytes(starts), pageLengths: asBytes(starts), chunkStarts: asBytes(starts) };
  await store.write([
    put(parts.chunk, 1, { ...chunk, children: asBytes(spans) }),
    put(parts.layout, 0, { ...layout, ...numbers }),
    put(parts.indexHead, 0, { rowCount: 1, dimensions: 2, model: 'm', chunkOfRow: asBytes(starts) }),
  ]);
  t.same(contents.chunks.read([{ documentId, chunk: 1 }]), [decodeChunk(encodeChunk({ ...chunk, spans }))]);
  t.same(contents.chunks.readLayout(documentId), {
    ...layout,
    pageStarts: starts,
    pageLengths: starts,
    chunkStarts: starts,
  });
  t.same(contents.blocks.readRowLayout(documentId), { rowCount: 1, chunkOfRow: starts, termPieces: 1 });
});
