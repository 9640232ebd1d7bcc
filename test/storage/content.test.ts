import { randomUUID } from 'node:crypto';
import { unpackTexts } from '../../src/core/packed-texts.ts';
import type { Layout, StoredChunk } from '../../src/storage/chunks.ts';
import { Contents } from '../../src/storage/content.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { operationsBytes } from '../../src/storage/store.ts';
import type { TextParts } from '../../src/storage/text-parts.ts';
import t from '../support/tap.ts';
import { toNewChunk } from './new-chunk.ts';
import { createTestRandom } from './test-random.ts';

const random = createTestRandom();
const separator = '\n\n';

/** Document of random pages, split into random chunks, with the expected results of the reader. */
function randomDocument(): { pages: string[]; points: string[]; chunks: StoredChunk[]; layout: Layout } {
  const letters = ['a', 'b ', 'é', '中', '😀', '\n'];
  const page = () =>
    Array.from({ length: random.below(40) }, () => letters[random.below(letters.length)]).join('');
  const pages = Array.from({ length: 1 + random.below(5) }, page);
  const points = [...pages.join(separator)];
  const chunks: StoredChunk[] = [];
  for (let start = 0; start < points.length; ) {
    const end = Math.min(points.length, start + 1 + random.below(12));
    chunks.push(chunkOf(points, start, end));
    start = end;
  }
  const lengths = pages.map((text) => [...text].length);
  const starts = lengths.map((_, index) =>
    lengths.slice(0, index).reduce((sum, length) => sum + length + 2, 0),
  );
  const layout: Layout = {
    length: points.length,
    textBytes: Buffer.byteLength(points.join('')),
    unordered: false,
    title: 'T',
    language: null,
    pageStarts: Uint32Array.from(starts),
    pageLengths: Uint32Array.from(lengths),
    chunkStarts: Uint32Array.from(chunks.map(({ start }) => start)),
  };
  return { pages, points, chunks, layout };
}

function chunkOf(points: readonly string[], start: number, end: number): StoredChunk {
  const text = points.slice(start, end).join('');
  const child = { start: 0, end: text.length, startCodePoint: start, endCodePoint: end };
  return {
    text,
    start,
    end,
    pageStart: 0,
    pageEnd: 1,
    prefix: 'T > H',
    blank: text.trim() === '',
    language: null,
    children: [child],
  };
}

/** Whether two arrays have the same elements; `t.same` takes seconds for a million. */
const equal = (first: ArrayBufferView | undefined, second: ArrayBufferView): boolean =>
  first !== undefined && bytesOf(first).equals(bytesOf(second));
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const joined = (parts: TextParts | undefined) => (parts === undefined ? undefined : [...parts].join(''));

t.test(`text and pages read back exactly, in code points (seed ${random.seed})`, async (t) => {
  for (let round = 0; round < 60; round += 1) {
    const contents = await filled(randomUUID(), randomDocument());
    const { documentId, pages, points } = contents;
    if (joined(await contents.contents.chunks.readText(documentId)) !== points.join(''))
      t.fail('the text differs');
    pages.forEach((page, index) => {
      if (joined(contents.contents.chunks.readPage(documentId, index)) !== page)
        t.fail(`page ${index} differs`);
    });
  }
  t.pass('all rounds');
});

async function filled(documentId: string, made: ReturnType<typeof randomDocument>) {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const chunks = made.chunks.map((chunk, index) => contents.chunks.put(documentId, index, toNewChunk(chunk)));
  await store.write([...chunks, contents.chunks.putLayout(documentId, made.layout)]);
  return { ...made, store, contents, documentId };
}

t.test('chunks, layout, codes and index block read back unchanged', async (t) => {
  const { store, contents, documentId, chunks, layout } = await filled(randomUUID(), randomDocument());
  t.same(contents.chunks.readLayout(documentId), layout);
  t.same(contents.chunks.read(chunks.map((_, chunk) => ({ documentId, chunk }))), chunks);
  t.same(contents.chunks.read([{ documentId, chunk: 999 }]), [undefined]);
  const block = {
    rowCount: 2,
    dimensions: 3,
    model: 'm',
    vectors: Float32Array.of(0, 1, 0, 0.6, 0.8, 0),
    terms: Uint8Array.of(1, 2, 3),
    chunkOfRow: Uint32Array.of(0, 5),
  };
  await store.write([
    ...contents.blocks.putPieces(documentId, block),
    contents.blocks.putHead(documentId, block),
    contents.blocks.putCodes(documentId, 5, Uint8Array.of(7)),
    contents.blocks.putFineTerms(documentId, 5, Uint8Array.of(8)),
  ]);
  t.same({ ...(await contents.blocks.readBlock(documentId)), terms: null }, { ...block, terms: null });
  t.same([...((await contents.blocks.readBlock(documentId))?.terms ?? [])], [1, 2, 3]);
  t.same(contents.blocks.readChunksOfRows([documentId]), [block.chunkOfRow]);
  t.same(
    contents.blocks
      .readFineChunks([5, 6].map((chunk) => ({ documentId, chunk })))
      .map(({ codes, terms }) => [codes?.[0], terms?.[0]]),
    [
      [7, 8],
      [undefined, undefined],
    ],
  );
});

t.test('vectors of two models are stored side by side, and deleting one keeps the other', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  const block = (generation: number, dimensions: number) => ({
    rowCount: 2,
    dimensions,
    model: `m${generation}`,
    generation,
    terms: Uint8Array.of(1, 2, 3),
    vectors: Float32Array.from({ length: 2 * dimensions }, (_, i) => generation + i),
    chunkOfRow: Uint32Array.of(0, 5),
  });
  const place = [{ documentId, chunk: 5 }];
  const codes = (generation: number) =>
    contents.blocks.readFineChunks(place, generation).map((found) => found.codes?.[0]);
  t.equal(contents.blocks.readRowLayout(documentId), undefined);
  await store.write([
    ...contents.blocks.putPieces(documentId, block(0, 3)),
    contents.blocks.putHead(documentId, block(0, 3)),
    contents.blocks.putCodes(documentId, 5, Uint8Array.of(70)),
  ]);
  for (const [generation, dimensions] of [
    [1, 5],
    [2, 4],
    [5, 2],
  ] as const) {
    const rows = contents.blocks.readRowLayout(documentId)!;
    t.same(rows, { rowCount: 2, chunkOfRow: Uint32Array.of(0, 5), termPieces: 1 });
    const made = { ...block(generation, dimensions), ...rows };
    await store.write([
      ...contents.blocks.putVectorPieces(documentId, made),
      contents.blocks.putCodes(documentId, 5, Uint8Array.of(70 + generation), generation),
    ]);
    t.notOk(
      contents.blocks.hasVectors(documentId, generation),
      'without the head the vectors are incomplete',
    );
    t.same(await contents.blocks.deleteOtherGeneration(documentId, generation, 10), [], 'the others remain');
    await store.write([contents.blocks.putVectorHead(documentId, made)]);
    t.equal(
      contents.blocks.readFineChunks(place, generation - 1)[0]?.codes?.length,
      1,
      'the others still exist',
    );
    await store.write(await contents.blocks.deleteOtherGeneration(documentId, generation, 100));
    t.same(await contents.blocks.deleteOtherGeneration(documentId, generation, 100), []);
    const { vectors, model, terms } = (await contents.blocks.readBlock(documentId, generation))!;
    t.same([vectors, model, [...terms]], [made.vectors, `m${generation}`, [1, 2, 3]]);
    t.equal(await contents.blocks.readBlock(documentId, generation - 1), undefined);
    t.equal(
      await contents.blocks.readBlock(documentId, generation + 2),
      undefined,
      'vectors of a later generation do not exist',
    );
    t.same([codes(generation), codes(generation + 1)], [[70 + generation], [undefined]]);
    t.same(contents.blocks.readChunksOfRows([documentId, randomUUID()]), [Uint32Array.of(0, 5), undefined]);
  }
});

t.test('the vectors and terms of the longest documents read back unchanged, in bounded writes', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  for (const rowCount of [0, 1, 12_500, 12_501]) {
    const block = {
      rowCount,
      dimensions: 320,
      model: 'm',
      vectors: new Float32Array(rowCount * 320).map((_, i) => i % 1_000),
      terms: new Uint8Array(rowCount * 700).map((_, i) => i % 251),
      chunkOfRow: new Uint32Array(rowCount).map((_, i) => i),
    };
    const pieces = contents.blocks.putPieces(documentId, block);
    for (const piece of pieces) {
      await store.write([piece]);
      if (operationsBytes([piece]) > 4_100_000) t.fail('a piece is too large');
    }
    await store.write([contents.blocks.putHead(documentId, block)]);
    const found = (await contents.blocks.readBlock(documentId))!;
    t.ok(equal(found.vectors, block.vectors));
    t.ok(equal(found.terms, block.terms), `${rowCount} rows`);
    const [chunkOfRow, ...others] = contents.blocks.readChunksOfRows([documentId]);
    t.ok(equal(chunkOfRow, block.chunkOfRow));
    t.same(others, []);
  }
});

t.test('each piece of a long document is read in a separate turn, and none if one is missing', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  const rowCount = 4_000;
  const block = {
    rowCount,
    dimensions: 1_000,
    model: 'm',
    terms: Uint8Array.of(1),
    vectors: new Float32Array(rowCount * 1_000).map((_, i) => i % 999),
    chunkOfRow: new Uint32Array(rowCount).map((_, i) => i),
  };
  const pieces = contents.blocks.putPieces(documentId, block);
  await store.write([...pieces, contents.blocks.putHead(documentId, block)]);
  let turns = 0;
  let isRead = false;
  const count = () => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const found = await contents.blocks.readBlock(documentId);
  isRead = true;
  t.ok(equal(found?.vectors, block.vectors));
  const vectorPieces = pieces.length - 1;
  t.equal(vectorPieces, 4);
  t.ok(turns >= 2 * vectorPieces - 1, `${turns} turns to read and copy`);
  const reading = contents.blocks.readBlock(documentId);
  await store.write([{ type: 'delete', key: pieces[vectorPieces - 1]!.key }]);
  t.equal(await reading, undefined);
});

t.test('the vectors of some rows are read from the pieces that contain them', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  // A row is on the border of two pieces of 4,000,000 bytes.
  const [rowCount, dimensions] = [7_000, 300];
  const block = {
    rowCount,
    dimensions,
    model: 'm',
    generation: 1,
    terms: Uint8Array.of(1),
    vectors: Float32Array.from({ length: rowCount * dimensions }, (_, i) => i % 1_009),
    chunkOfRow: Uint32Array.from({ length: rowCount }, (_, i) => i),
  };
  const pieces = contents.blocks.putPieces(documentId, block);
  await store.write([...pieces, contents.blocks.putHead(documentId, block)]);
  for (const [first, end] of [
    [0, 1],
    [3_333, 3_334],
    [3_000, 6_999],
    [6_999, 7_000],
    [0, 7_000],
    [5, 5],
  ] as const) {
    const found = contents.blocks.readRowVectors(documentId, { first, end, generation: 1 });
    const expected = block.vectors.slice(first * dimensions, end * dimensions);
    t.equal(
      Buffer.compare(Buffer.from(found!.vectors.buffer), Buffer.from(expected.buffer)),
      0,
      `${first}-${end}`,
    );
    t.equal(found!.dimensions, dimensions);
  }
  const rows = { first: 0, end: 1, generation: 0 };
  t.equal(contents.blocks.readRowVectors(documentId, rows), undefined, 'another generation');
  t.equal(contents.blocks.readRowVectors(randomUUID(), { ...rows, generation: 1 }), undefined);
  await store.write([{ type: 'delete', key: pieces[0]!.key }]);
  t.equal(contents.blocks.readRowVectors(documentId, { ...rows, generation: 1 }), undefined);
  t.ok(contents.blocks.readRowVectors(documentId, { first: 6_999, end: 7_000, generation: 1 }));
});

t.test('a document without text has empty text and no page; one without chunks has none', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  t.equal(joined(await contents.chunks.readText(documentId)), undefined);
  t.equal(joined(contents.chunks.readPage(documentId, 0)), undefined);
  t.equal(await contents.blocks.readBlock(documentId), undefined);
  t.same(contents.blocks.readChunksOfRows([documentId]), [undefined]);
  const none = new Uint32Array(0);
  const empty = { length: 0, textBytes: 0, unordered: false, title: null, language: null };
  const layout = { ...empty, pageStarts: none, pageLengths: none, chunkStarts: none };
  await store.write([contents.chunks.putLayout(documentId, layout)]);
  t.equal(joined(await contents.chunks.readText(documentId)), '');
  t.equal(joined(contents.chunks.readPage(documentId, 0)), undefined);
});

t.test('chunks left by an interrupted attempt are not part of the text', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  const points = [...'the text'];
  const chunks = [chunkOf(points, 0, 4), chunkOf(points, 4, 8)];
  const rest = { textBytes: 8, unordered: false, title: null, language: null };
  const pages = { pageStarts: Uint32Array.of(0), pageLengths: Uint32Array.of(8) };
  const layout = { length: 8, ...rest, ...pages, chunkStarts: Uint32Array.of(0, 4) };
  await store.write([
    contents.chunks.putLayout(documentId, layout),
    ...[...chunks, chunkOf([...'left over'], 0, 9)].map((chunk, i) =>
      contents.chunks.put(documentId, i, toNewChunk(chunk)),
    ),
  ]);
  t.equal(joined(await contents.chunks.readText(documentId)), 'the text');
});

t.test('parsed pages are kept until chunking and then deleted in one write', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const [documentId, other] = [randomUUID(), randomUUID()];
  const pages = Array.from({ length: 300 }, (_, index) => `page ${index} é`);
  const head = {
    kind: 'text',
    contentType: 'text/plain',
    pageCount: 300,
    unordered: false,
    headings: true,
    title: null,
    language: 'de',
    warnings: ['w'],
  };
  await store.write(pages.map((page, index) => contents.parsed.putPage(documentId, index, page)));
  t.equal(contents.parsed.readHead(documentId), undefined, 'without the head the step is not complete');
  await store.write([contents.parsed.putHead(documentId, head), contents.parsed.putPage(other, 0, 'x')]);
  t.same(contents.parsed.readHead(documentId), head);
  t.same((await contents.parsed.readPages(documentId, 1_000)).map(joined), pages);
  t.same(
    [299, 300].map((page) => joined(contents.parsed.readPage(documentId, page))),
    [pages[299], undefined],
  );
  await store.write([...contents.parsed.delete(documentId, 300)]);
  t.same(await contents.deleteAll(documentId, 10), []);
  t.equal((await contents.deleteAll(other, 10)).length, 1);
});

t.test('a long page is decoded in parts of whole characters', async (t) => {
  const store = new MemoryStore();
  const contents = new Contents(store);
  const documentId = randomUUID();
  for (const text of ['é'.repeat(400_000), `a${'😀'.repeat(200_000)}`, `${'x'.repeat(262_142)}€ end`]) {
    await store.write([contents.parsed.putPage(documentId, 0, text)]);
    const parts = [...contents.parsed.readPage(documentId, 0)!];
    t.ok(parts.length > 1);
    t.ok(parts.join('') === text);
    const packed = await contents.parsed.packPages(documentId, 1, () => null);
    t.ok(unpackTexts(packed)[0] === text);
  }
});
