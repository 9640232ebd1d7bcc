import { randomUUID } from 'node:crypto';
import type { StoredChunk } from '../../src/storage/chunks.ts';
import { Contents } from '../../src/storage/content.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { VersionReader } from '../../src/storage/version-reader.ts';
import { type VersionRecord, Versions } from '../../src/storage/versions.ts';
import t from '../support/tap.ts';
import { toNewChunk } from './new-chunk.ts';
import { version } from './records.ts';

const chunkCount = 4;

function chunkOf(words: string, number: number): StoredChunk {
  const text = `${words} "${number}" \\ é 中 \n`;
  const length = [...text].length;
  const start = number * length;
  const end = start + length;
  const child = { start: 0, end: text.length, startCodePoint: start, endCodePoint: end };
  const rest = { prefix: 'T', blank: false, language: 'en', children: [child] };
  return { text, start, end, pageStart: number, pageEnd: number + 1, ...rest };
}

/** Store with versions of four chunks and four pages each; row 0 is chunk 1, row 1 is chunk 3. */
async function openReader(bytesMax: number) {
  const store = new MemoryStore();
  const directReaders = { versions: new Versions(store), contents: new Contents(store) };
  let reads = 0;
  const countingStore = {
    revisionOf: () => 0,
    range: store.range,
    write: store.write,
    statistics: store.statistics,
    close: () => store.close(),
    snapshot: () => store.snapshot(),
    get: (key: Uint8Array) => countingStore.getMany([key])[0],
    getMany(keys: readonly Uint8Array[]) {
      reads += keys.length;
      return store.getMany(keys);
    },
  };
  const countingReaders = { versions: new Versions(countingStore), contents: new Contents(countingStore) };
  const encodeFineTerms = ({ text }: StoredChunk) => Buffer.from(text.slice(0, 3));
  const reader = new VersionReader({
    ...countingReaders,
    encodeFineTerms,
    bytesMax,
    now: () => 0,
    dependent: null,
  });
  const add = async (words: string, fields: Partial<VersionRecord> = {}) => {
    const record = version({ path: `${words}.txt`, ...fields });
    const { contents, versions } = directReaders;
    const { documentId } = record;
    const chunks = Array.from({ length: chunkCount }, (_, number) => chunkOf(words, number));
    const starts = Uint32Array.from(chunks, ({ start }) => start);
    const layout = {
      length: chunks.at(-1)!.end,
      textBytes: 0,
      unordered: false,
      title: null,
      language: null,
      pageStarts: starts,
      pageLengths: Uint32Array.from(
        chunks,
        ({ start, end }, i) => end - start - (i === chunkCount - 1 ? 1 : 0),
      ),
      chunkStarts: starts,
    };
    const vectors = new Float32Array(2);
    const head = { rowCount: 2, dimensions: 1, model: 'm', chunkOfRow: Uint32Array.of(1, 3) };
    const block = { ...head, vectors, terms: new Uint8Array(0) };
    await store.write([
      versions.put(record),
      contents.chunks.putLayout(documentId, layout),
      ...chunks.map((chunk, number) => contents.chunks.put(documentId, number, toNewChunk(chunk))),
      ...chunks.map((_, number) => contents.blocks.putCodes(documentId, number, Uint8Array.of(number))),
      contents.blocks.putFineTerms(documentId, 1, Uint8Array.of(10)),
      ...contents.blocks.putPieces(documentId, block),
      contents.blocks.putHead(documentId, block),
    ]);
    return { record, chunks };
  };
  return { store, ...directReaders, reader, add, reads: () => reads };
}

t.test('rows, records, codes and pages equal those of the store, cached or not', async (t) => {
  for (const bytesMax of [0, 4_000, 1_000_000]) {
    const { reader, add, contents } = await openReader(bytesMax);
    const one = await add('one');
    const two = await add('two', { collectionId: one.record.collectionId, version: 2 });
    const { collectionId } = one.record;
    for (let round = 0; round < 3; round += 1) {
      const [second, missing, first] = reader.readRecords(collectionId, [2, 9, 1]);
      t.same(second, two.record);
      t.equal(missing, undefined);
      t.same(first, one.record);
      const places = [
        { version: 2, row: 1 },
        { version: 1, row: 0 },
        { version: 2, row: 2 },
        { version: 7, row: 0 },
        { version: 2, row: 1 },
      ];
      const rows = reader.readRows(collectionId, places);
      t.same(
        rows.map((row) => row && [row.version.version, row.number, row.chunk.text]),
        [
          [2, 3, two.chunks[3]!.text],
          [1, 1, one.chunks[1]!.text],
          undefined,
          undefined,
          [2, 3, two.chunks[3]!.text],
        ],
        `${bytesMax} bytes`,
      );
      t.same(
        reader
          .readFineChunks(one.record.collectionId, [
            { version: 1, row: 0 },
            { version: 2, row: 1 },
            { version: 2, row: 9 },
            { version: 3, row: 0 },
          ])
          .map((data) => data && [data.codes[0], data.terms[0]]),
        [[1, 10], [3, 't'.charCodeAt(0)], undefined, undefined],
        'terms that are not stored are computed from the text',
      );
      for (let page = 0; page <= chunkCount; page += 1)
        t.same(
          [...(reader.readPage(two.record, page) ?? [])],
          [...(contents.chunks.readPage(two.record.documentId, page) ?? [])],
        );
      for (let page = 0; page <= chunkCount; page += 1) {
        // The last page ends before its chunk.
        const isChunk = page < chunkCount - 1;
        t.same(
          reader.readPageChunk(two.record, page)?.text,
          isChunk ? [...reader.readPage(two.record, page)!].join('') : undefined,
        );
      }
      t.ok(reader.bytes <= bytesMax, `${reader.bytes} bytes are cached`);
    }
  }
});

t.test('reads return the same objects until the version is evicted', async (t) => {
  const { reader, add } = await openReader(1_000_000);
  const { record } = await add('one');
  const { collectionId } = record;
  const row = () => reader.readRows(collectionId, [{ version: 1, row: 0 }])[0]!;
  const { version, chunk } = row();
  t.equal(row().version, version);
  t.equal(row().chunk, chunk);
  t.equal(reader.readRecords(collectionId, [1])[0], version);
  t.equal(reader.readRows(collectionId, [{ version: 1, row: 1 }])[0]!.version, version);
  reader.evict(collectionId, 1);
  t.not(row().version, version);
  t.not(row().chunk, chunk);
});

t.test('data that was read is cached', async (t) => {
  const { reader, add, reads } = await openReader(1_000_000);
  const { record } = await add('one');
  const all = () => {
    reader.readRows(record.collectionId, [{ version: 1, row: 0 }]);
    reader.readFineChunks(record.collectionId, [{ version: 1, row: 1 }]);
    reader.readPage(record, 2);
  };
  all();
  const once = reads();
  t.ok(once >= 5, `${once} reads`);
  all();
  t.equal(reads(), once);
});

t.test('a collection never finds versions of another', async (t) => {
  const { reader, add } = await openReader(1_000_000);
  const mine = await add('mine', { version: 1 });
  const theirs = randomUUID();
  t.equal(reader.readRecords(mine.record.collectionId, [1])[0]?.path, 'mine.txt');
  t.same(reader.readRecords(theirs, [1]), [undefined]);
  t.same(reader.readRows(theirs, [{ version: 1, row: 0 }]), [undefined]);
  const same = await add('theirs', { collectionId: theirs, version: 1 });
  t.equal(reader.readRows(theirs, [{ version: 1, row: 0 }])[0]?.chunk.text, same.chunks[1]!.text);
  t.equal(
    reader.readRows(mine.record.collectionId, [{ version: 1, row: 0 }])[0]?.chunk.text,
    mine.chunks[1]!.text,
  );
});

t.test('memory is bounded, and eviction frees it', async (t) => {
  const bytesMax = 20_000;
  const { reader, add } = await openReader(bytesMax);
  const { record } = await add('first');
  const { collectionId } = record;
  for (let number = 2; number < 40; number += 1) {
    await add(`number ${number}`, { collectionId, version: number });
    reader.readRows(collectionId, [{ version: number, row: 0 }]);
    t.ok(reader.bytes > 0 && reader.bytes <= bytesMax);
  }
  reader.evictCollection(collectionId);
  t.equal(reader.bytes, 0);
  reader.readRows(collectionId, [{ version: 1, row: 0 }]);
  t.ok(reader.bytes > 0);
  reader.evict(randomUUID(), 1);
  t.ok(reader.bytes > 0, 'another collection has another version 1');
  reader.evict(collectionId, 1);
  t.equal(reader.bytes, 0);
});

t.test('evicting a collection does not count as a use of the others', async (t) => {
  const probe = await openReader(1_000_000);
  probe.reader.readRecords((await probe.add('aa')).record.collectionId, [1]);
  const { reader, add, reads } = await openReader(2 * probe.reader.bytes);
  const { collectionId } = (await add('aa')).record;
  for (const [i, words] of ['bb', 'cc'].entries()) await add(words, { collectionId, version: i + 2 });
  reader.readRecords(collectionId, [1]);
  reader.readRecords(collectionId, [2]);
  reader.readRecords(collectionId, [1]);
  reader.evictCollection(randomUUID());
  reader.evict(randomUUID(), 2);
  reader.readRecords(collectionId, [3]);
  const before = reads();
  reader.readRecords(collectionId, [1]);
  t.equal(reads(), before, 'recently used data stays cached');
  reader.readRecords(collectionId, [2]);
  t.ok(reads() > before, 'unused data was evicted');
});
