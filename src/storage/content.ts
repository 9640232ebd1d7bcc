import { assert, assertDefined } from '../core/assert.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { eachText, type PackedTexts, type Texts } from '../core/packed-texts.ts';
import { sliceCodePoints } from './code-points.ts';
import { tables, u8, u32, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, recordCodec, Table } from './table.ts';

/**
 * Parts stored per document id and shared by its versions. Text is stored once: as parsed pages until the
 * document is chunked, then as chunks, which cover the text of the document exactly.
 */
const parts = {
  /** Index 0: `ParsedHead`. */
  parsedHead: 1,
  /** Index = page: UTF-8. */
  parsedPage: 2,
  /** Index 0: `Layout`. */
  layout: 3,
  /** Index = chunk: `StoredChunk`. */
  chunk: 4,
  /** Index = chunk: 8-bit vectors of its fine chunks, concatenated. For even generations, like the next two. */
  codes: 5,
  /** Index 0: `IndexHead`. */
  indexHead: 6,
  /** Index = piece: row vectors, little-endian f32. */
  vectors: 7,
  /** Index = piece: the TermBlock in engine format. */
  terms: 8,
  /** Counterparts of `codes`, `indexHead` and `vectors` for odd generations. */
  oddCodes: 9,
  oddIndexHead: 10,
  oddVectors: 11,
  /** Index = page: the vector supplied with the page, little-endian f32. */
  suppliedVector: 12,
} as const;

/**
 * Parts of even and odd generations: during a change of model, the current vectors are stored alongside the
 * new ones. The head has the exact generation of the other parts.
 */
const generationParts = [
  { codes: parts.codes, head: parts.indexHead, vectors: parts.vectors },
  { codes: parts.oddCodes, head: parts.oddIndexHead, vectors: parts.oddVectors },
] as const;

function partsOfGeneration(generation: number): (typeof generationParts)[number] {
  return generationParts[(generation % 2) as 0 | 1];
}

/** Maximum bytes per piece of vectors or terms: those of a long document are too large for one write. */
const pieceBytesMax = 4_000_000;

/** Result of the parse step, without the pages. */
export interface ParsedHead {
  readonly kind: string;
  readonly contentType: string;
  readonly pageCount: number;
  readonly unordered: boolean;
  /** Lines that start with `#` are headings. */
  readonly headings: boolean;
  readonly title: string | null;
  readonly language: string | null;
  readonly warnings: readonly string[];
}

/** Positions of pages and chunks in the document text; offsets and lengths in code points. */
export interface Layout {
  readonly length: number;
  /** UTF-8 bytes of the whole text. */
  readonly textBytes: number;
  readonly unordered: boolean;
  readonly title: string | null;
  readonly language: string | null;
  /** Content omitted during parsing; absent for documents parsed before this was recorded. */
  readonly warnings?: readonly string[];
  readonly pageStarts: Uint32Array;
  /** Without the separator after a page. */
  readonly pageLengths: Uint32Array;
  readonly chunkStarts: Uint32Array;
}

export interface FineChunkSpan {
  /** UTF-16 offsets inside the chunk's text. */
  readonly start: number;
  readonly end: number;
  /** Code points in the document's text. */
  readonly startCodePoint: number;
  readonly endCodePoint: number;
}

export interface StoredChunk {
  readonly text: string;
  /** Code points in the document's text, half-open. */
  readonly start: number;
  readonly end: number;
  /** First page, and the page after the last. */
  readonly pageStart: number;
  readonly pageEnd: number;
  /** Title and heading path; not part of the text. */
  readonly prefix: string;
  /** Whether the chunk has no searchable text: it has no row in the index. */
  readonly blank: boolean;
  /** Language used for stemming its words, null if unsure. */
  readonly language: string | null;
  readonly children: readonly FineChunkSpan[];
}

export interface IndexBlock {
  readonly rowCount: number;
  readonly dimensions: number;
  /** Model that textParts the vectors; vectors of another model must be recomputed. */
  readonly model: string;
  /** See `VectorSet`; absent: 0. */
  readonly generation?: number;
  /** [rowCount x dimensions], unit length. */
  readonly vectors: Float32Array;
  readonly terms: Uint8Array;
  /** Chunk of each row; blank chunks have none. */
  readonly chunkOfRow: Uint32Array;
}

export interface ChunkKey {
  readonly documentId: string;
  readonly chunk: number;
}

/** Vectors of a document whose rows and terms are already stored. */
export type VectorBlock = Omit<IndexBlock, 'terms'> & {
  readonly generation: number;
  /** Number of pieces of the terms. */
  readonly termPieces: number;
};

interface IndexHead {
  readonly rowCount: number;
  readonly dimensions: number;
  readonly model: string;
  readonly generation?: number;
  readonly chunkOfRow: Uint8Array;
  /** Number of pieces; 1 each where the first builds of format 1 did not record it. */
  readonly pieces?: { readonly vectors: number; readonly terms: number };
}

type StoredLayout = Omit<Layout, 'pageStarts' | 'pageLengths' | 'chunkStarts'> & {
  readonly pageStarts: Uint8Array;
  readonly pageLengths: Uint8Array;
  readonly chunkStarts: Uint8Array;
};

/** A chunk to be stored. */
export interface NewChunk extends Omit<StoredChunk, 'children'> {
  /** Its fine chunks, four numbers each, in the order of `FineChunkSpan`. */
  readonly spans: Uint32Array;
}

type PackedChunk = Omit<StoredChunk, 'children'> & { readonly children: Uint8Array };

const contentTable = new Table<readonly [documentId: string, part: number, index: number], Uint8Array>(
  tables.content,
  [uuid, u8, u32],
  bytesCodec,
);
const parsedHeadCodec = recordCodec<ParsedHead>();
const layoutCodec = recordCodec<StoredLayout>();
const chunkCodec = recordCodec<PackedChunk>();
const indexHeadCodec = recordCodec<IndexHead>();

/** Text, pages, chunks, vectors and terms by document id. */
export class Contents {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  // Parsed, not yet chunked

  /** `text`: a string or its UTF-8. */
  putParsedPage(documentId: string, page: number, text: string | Uint8Array): WriteOperation {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    return contentTable.put([documentId, parts.parsedPage, page], bytes);
  }

  /** Yields one operation per page of the document. */
  *putParsedPages(documentId: string, pages: Texts): Generator<WriteOperation> {
    let page = 0;
    for (const text of eachText(pages)) {
      yield this.putParsedPage(documentId, page, text);
      page += 1;
    }
  }

  putSuppliedVector(documentId: string, page: number, vector: Float32Array): WriteOperation {
    return contentTable.put([documentId, parts.suppliedVector, page], asBytes(vector));
  }

  /** Returns the vectors supplied with the pages of a document that is not chunked yet, concatenated. */
  readSuppliedVectors(documentId: string, pageCount: number): Float32Array {
    return new Float32Array(
      toAlignedBuffer(this.#readJoinedPieces(documentId, parts.suppliedVector, pageCount)),
    );
  }

  /** Write this with or after the last page: it marks the parse step as complete. */
  putParsedHead(documentId: string, head: ParsedHead): WriteOperation {
    return contentTable.put([documentId, parts.parsedHead, 0], parsedHeadCodec.encode(head));
  }

  readParsedHead(documentId: string): ParsedHead | undefined {
    const bytes = this.#get(documentId, parts.parsedHead, 0);
    return bytes === undefined ? undefined : parsedHeadCodec.decode(bytes);
  }

  /** Returns one page of a document that is not chunked yet; otherwise undefined. */
  readParsedPage(documentId: string, page: number): TextParts | undefined {
    const bytes = this.#get(documentId, parts.parsedPage, page);
    return bytes === undefined ? undefined : decodedParts(bytes);
  }

  /** Returns the first `count` pages, or all if there are fewer. */
  async readParsedPages(documentId: string, count: number): Promise<TextParts[]> {
    const pages: TextParts[] = [];
    // An attempt that ended with a crash may have left more pages than the successful one.
    for await (const { value } of contentTable.range(this.#store, [documentId, parts.parsedPage], {
      limit: count,
    }))
      pages.push(decodedParts(value));
    return pages;
  }

  /**
   * Returns the first `count` parsed pages as UTF-8, or all if there are fewer; copies them in slices of
   * background work.
   */
  async packedPages(
    documentId: string,
    count: number,
    yieldToEventLoop: YieldToEventLoop,
  ): Promise<PackedTexts> {
    const pages: Uint8Array[] = [];
    let bytes = 0;
    // An attempt that ended with a crash may have left more pages than the successful one.
    for await (const { value } of contentTable.range(this.#store, [documentId, parts.parsedPage], {
      limit: count,
    })) {
      pages.push(value);
      bytes += value.byteLength;
    }
    const block = new Uint8Array(bytes);
    const lengths = new Uint32Array(pages.length);
    let start = 0;
    for (const [i, page] of pages.entries()) {
      lengths[i] = page.byteLength;
      for (let at = 0; at < page.byteLength; at += copiedBytesMax) {
        const pause = yieldToEventLoop();
        if (pause !== null) await pause;
        block.set(page.subarray(at, at + copiedBytesMax), start + at);
      }
      start += page.byteLength;
    }
    return { block, lengths };
  }

  /** Returns the parse result of a document with few pages in one read; undefined once it is chunked. */
  readParsedDocument(
    documentId: string,
    pageCount: number,
  ): { readonly head: ParsedHead; readonly pages: readonly string[] } | undefined {
    const keys = [contentTable.keyOf(documentId, parts.parsedHead, 0)];
    for (let page = 0; page < pageCount; page += 1)
      keys.push(contentTable.keyOf(documentId, parts.parsedPage, page));
    const [head, ...pages] = this.#store.getMany(keys);
    if (head === undefined) return undefined;
    const text = (page: Uint8Array | undefined) =>
      decodeUtf8(assertDefined(page, 'a parsed document has its pages'));
    return { head: parsedHeadCodec.decode(head), pages: pages.map(text) };
  }

  /** Include this in the write that completes the chunks: from then on they contain the text. */
  *deleteParsed(documentId: string, pageCount: number, { vectors = false } = {}): Generator<WriteOperation> {
    yield contentTable.delete([documentId, parts.parsedHead, 0]);
    for (let page = 0; page < pageCount; page += 1) {
      yield contentTable.delete([documentId, parts.parsedPage, page]);
      if (vectors) yield contentTable.delete([documentId, parts.suppliedVector, page]);
    }
  }

  // Chunks

  putChunk(documentId: string, index: number, { spans, ...chunk }: NewChunk): WriteOperation {
    const packed = chunkCodec.encode({ ...chunk, children: asBytes(spans) });
    return contentTable.put([documentId, parts.chunk, index], packed);
  }

  /** Write this with or after the last chunk: it marks the chunk step as complete. */
  putLayout(documentId: string, layout: Layout): WriteOperation {
    const stored: StoredLayout = {
      ...layout,
      pageStarts: asBytes(layout.pageStarts),
      pageLengths: asBytes(layout.pageLengths),
      chunkStarts: asBytes(layout.chunkStarts),
    };
    return contentTable.put([documentId, parts.layout, 0], layoutCodec.encode(stored));
  }

  readLayout(documentId: string): Layout | undefined {
    const bytes = this.#get(documentId, parts.layout, 0);
    if (bytes === undefined) return undefined;
    const stored = layoutCodec.decode(bytes);
    return {
      ...stored,
      pageStarts: asUint32(stored.pageStarts),
      pageLengths: asUint32(stored.pageLengths),
      chunkStarts: asUint32(stored.chunkStarts),
    };
  }

  /** Returns chunks in the order of `keys`; undefined if a document was deleted meanwhile. */
  readChunks(keys: readonly ChunkKey[]): (StoredChunk | undefined)[] {
    return this.#getMany(keys, parts.chunk).map((bytes) =>
      bytes === undefined ? undefined : unpackChunk(bytes),
    );
  }

  // Vectors and terms

  putCodes(documentId: string, chunk: number, codes: Uint8Array, generation = 0): WriteOperation {
    return contentTable.put([documentId, partsOfGeneration(generation).codes, chunk], codes);
  }

  /** Returns the codes of the fine chunks of each chunk; undefined if there are none. */
  readCodes(keys: readonly ChunkKey[], generation = 0): (Uint8Array | undefined)[] {
    return this.#getMany(keys, partsOfGeneration(generation).codes);
  }

  /** Returns the large parts of an index block, each small enough to share a write with others. */
  putIndexPieces(documentId: string, block: IndexBlock): WriteOperation[] {
    return [
      ...this.putVectorPieces(documentId, block),
      ...splitIntoPieces(block.terms).map((piece, i) =>
        contentTable.put([documentId, parts.terms, i], piece),
      ),
    ];
  }

  putVectorPieces(
    documentId: string,
    { vectors, generation = 0 }: Pick<IndexBlock, 'vectors' | 'generation'>,
  ): WriteOperation[] {
    const part = partsOfGeneration(generation).vectors;
    return splitIntoPieces(asBytes(vectors)).map((piece, i) =>
      contentTable.put([documentId, part, i], piece),
    );
  }

  /** Write this with or after the last piece: it marks the embed step as complete. */
  putIndexHead(documentId: string, block: IndexBlock): WriteOperation {
    const { generation = 0, terms } = block;
    return this.putVectorHead(documentId, {
      ...block,
      generation,
      termPieces: countPieces(terms.byteLength),
    });
  }

  /** Same for vectors stored in addition to others. */
  putVectorHead(documentId: string, block: VectorBlock): WriteOperation {
    const { rowCount, dimensions, model, generation, vectors, chunkOfRow, termPieces } = block;
    assert(vectors.length === rowCount * dimensions, 'an index block has a vector per row');
    assert(chunkOfRow.length === rowCount, 'an index block has a chunk per row');
    const head = indexHeadCodec.encode({
      rowCount,
      dimensions,
      model,
      ...(generation === 0 ? {} : { generation }),
      chunkOfRow: asBytes(chunkOfRow),
      pieces: { vectors: countPieces(vectors.byteLength), terms: termPieces },
    });
    return contentTable.put([documentId, partsOfGeneration(generation).head, 0], head);
  }

  /** Returns the block with the vectors of exactly this generation; undefined if there are none. */
  readIndexBlock(documentId: string, generation = 0): IndexBlock | undefined {
    const head = this.#readIndexHead(documentId, generation);
    if (head === undefined) return undefined;
    const { chunkOfRow, pieces = { vectors: 1, terms: 1 }, ...rest } = head;
    const { vectors } = partsOfGeneration(generation);
    return {
      ...rest,
      chunkOfRow: asUint32(chunkOfRow),
      vectors: new Float32Array(toAlignedBuffer(this.#readJoinedPieces(documentId, vectors, pieces.vectors))),
      terms: this.#readJoinedPieces(documentId, parts.terms, pieces.terms),
    };
  }

  hasVectors(documentId: string, generation: number): boolean {
    return this.#readIndexHead(documentId, generation) !== undefined;
  }

  /**
   * Returns the row layout shared by the vectors of all generations; undefined until a document has its first
   * vectors, and after its deletion.
   */
  readRowLayout(documentId: string): Pick<VectorBlock, 'rowCount' | 'chunkOfRow' | 'termPieces'> | undefined {
    const bytes = this.#get(documentId, parts.indexHead, 0) ?? this.#get(documentId, parts.oddIndexHead, 0);
    if (bytes === undefined) return undefined;
    const { rowCount, chunkOfRow, pieces } = indexHeadCodec.decode(bytes);
    return { rowCount, chunkOfRow: asUint32(chunkOfRow), termPieces: pieces?.terms ?? 1 };
  }

  /**
   * Deletes up to `limit` entries of vectors of other generations. Returns an empty list when none are left,
   * or when the document has no vectors of `generation`.
   */
  async deleteOtherGeneration(
    documentId: string,
    generation: number,
    limit: number,
  ): Promise<WriteOperation[]> {
    if (!this.hasVectors(documentId, generation)) return [];
    const { codes, vectors, head } = partsOfGeneration(generation + 1);
    const operations: WriteOperation[] = [];
    for (const part of [head, codes, vectors]) {
      const range = { limit: Math.max(1, limit - operations.length) };
      for await (const key of contentTable.keys(this.#store, [documentId, part], range))
        operations.push({ type: 'delete', key });
      if (operations.length >= limit) break;
    }
    return operations;
  }

  /**
   * Returns the chunk of each row per document, without reading the vectors; undefined for a deleted
   * document.
   */
  readChunksOfRows(documentIds: readonly string[]): (Uint32Array | undefined)[] {
    const heads = this.#readHeads(documentIds, parts.indexHead);
    // The rows are identical in all generations.
    const others = documentIds.filter((_, i) => heads[i] === undefined);
    const odd = others.length === 0 ? [] : this.#readHeads(others, parts.oddIndexHead);
    let next = 0;
    return heads.map((head) => {
      const found = head ?? odd[next++];
      return found === undefined ? undefined : asUint32(indexHeadCodec.decode(found).chunkOfRow);
    });
  }

  // Reading text

  /** Returns the whole text in parts; undefined until the document is chunked. */
  async textParts(documentId: string): Promise<readonly string[] | undefined> {
    const layout = this.readLayout(documentId);
    if (layout === undefined) return undefined;
    const textParts: string[] = [];
    let texts: string[] = [];
    // An interrupted attempt may have left chunks after the last one.
    const lt = contentTable.keyOf(documentId, parts.chunk, layout.chunkStarts.length);
    for await (const { value } of contentTable.range(this.#store, [documentId, parts.chunk], { lt }))
      if (texts.push(unpackChunk(value).text) === partChunksMax) {
        textParts.push(texts.join(''));
        texts = [];
      }
    textParts.push(texts.join(''));
    return textParts;
  }

  /**
   * Returns the code points [start, end) of the text, limited to its length; undefined until the document is
   * chunked.
   */
  readSlice(documentId: string, start: number, end: number): string | undefined {
    const layout = this.readLayout(documentId);
    if (layout === undefined) return undefined;
    return [...readSlice(layout, { start, end }, this.#chunkReader(documentId))].join('');
  }

  /**
   * Returns one page without its separator; undefined if the page does not exist or the document is not
   * chunked.
   */
  pageParts(documentId: string, page: number): TextParts | undefined {
    const layout = this.readLayout(documentId);
    return layout === undefined ? undefined : pageParts(layout, page, this.#chunkReader(documentId));
  }

  // Deleting

  /** Deletes up to `limit` entries of a document id. Returns an empty list when nothing is left. */
  async deleteAll(documentId: string, limit: number): Promise<WriteOperation[]> {
    const operations: WriteOperation[] = [];
    for await (const key of contentTable.keys(this.#store, [documentId], { limit })) {
      operations.push({ type: 'delete', key });
    }
    return operations;
  }

  #chunkReader(documentId: string): ReadChunks {
    return (numbers) => this.readChunks(numbers.map((chunk) => ({ documentId, chunk })));
  }

  #readHeads(documentIds: readonly string[], part: number): (Uint8Array | undefined)[] {
    return this.#store.getMany(documentIds.map((documentId) => contentTable.keyOf(documentId, part, 0)));
  }

  #readIndexHead(documentId: string, generation: number): IndexHead | undefined {
    const bytes = this.#get(documentId, partsOfGeneration(generation).head, 0);
    const head = bytes === undefined ? undefined : indexHeadCodec.decode(bytes);
    return (head?.generation ?? 0) === generation ? head : undefined;
  }

  #readJoinedPieces(documentId: string, part: number, count: number): Uint8Array {
    const keys = Array.from({ length: count }, (_, i) => contentTable.keyOf(documentId, part, i));
    const found = this.#store
      .getMany(keys)
      .map((piece) => assertDefined(piece, 'an index head has its pieces'));
    return found.length === 1 ? (found[0] as Uint8Array) : Buffer.concat(found);
  }

  #get(documentId: string, part: number, index: number): Uint8Array | undefined {
    return contentTable.get(this.#store, [documentId, part, index]);
  }

  #getMany(keys: readonly ChunkKey[], part: number): (Uint8Array | undefined)[] {
    return this.#store.getMany(
      keys.map(({ documentId, chunk }) => contentTable.keyOf(documentId, part, chunk)),
    );
  }
}

/** Bytes of a page copied per step. */
const copiedBytesMax = 524_288;

/** A possibly long text, in order. Each part is read when it is requested, in less than a millisecond. */
export type TextParts = Iterable<string>;

/** Maximum number of chunks per part of a text. */
const partChunksMax = 32;

/** Reads chunks of one document by index. */
type ReadChunks = (numbers: readonly number[]) => (StoredChunk | undefined)[];

/** Returns one page without its separator; undefined if the page does not exist. */
export function pageParts(layout: Layout, page: number, read: ReadChunks): TextParts | undefined {
  const start = layout.pageStarts[page];
  const length = layout.pageLengths[page];
  if (start === undefined || length === undefined) return undefined;
  return readSlice(layout, { start, end: start + length }, read);
}

function* readSlice(layout: Layout, span: { start: number; end: number }, read: ReadChunks): TextParts {
  const { start } = span;
  const end = Math.min(span.end, layout.length);
  if (start >= end) return;
  const numbers: number[] = [];
  for (let chunk = findChunkAt(layout.chunkStarts, start); chunk < layout.chunkStarts.length; chunk += 1) {
    if ((layout.chunkStarts[chunk] as number) >= end) break;
    numbers.push(chunk);
  }
  for (let i = 0; i < numbers.length; i += partChunksMax) {
    const texts = read(numbers.slice(i, i + partChunksMax)).map((found) => {
      const chunk = assertDefined(found, 'a chunked document has all its chunks');
      const part = { start: Math.max(start, chunk.start), end: Math.min(end, chunk.end) };
      const inChunk = { start: part.start - chunk.start, end: part.end - chunk.start };
      return sliceCodePoints(chunk.text, inChunk, chunk.end - chunk.start);
    });
    yield texts.join('');
  }
}

function countPieces(bytes: number): number {
  return Math.ceil(bytes / pieceBytesMax);
}

/** Returns views of consecutive bytes. */
function splitIntoPieces(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: countPieces(bytes.byteLength) }, (_, i) =>
    bytes.subarray(i * pieceBytesMax, (i + 1) * pieceBytesMax),
  );
}

/** Index of the last chunk that starts at or before an offset. */
function findChunkAt(starts: Uint32Array, offset: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] as number) <= offset) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function unpackChunk(bytes: Uint8Array): StoredChunk {
  const { children, ...rest } = chunkCodec.decode(bytes);
  const packed = asUint32(children);
  const spans: FineChunkSpan[] = [];
  for (let index = 0; index < packed.length; index += 4) {
    const [start = 0, end = 0, startCodePoint = 0, endCodePoint = 0] = packed.subarray(index, index + 4);
    spans.push({ start, end, startCodePoint, endCodePoint });
  }
  return { ...rest, children: spans };
}

/**
 * Returns the bytes of a typed array in memory order; all platforms of the RocksDB binding are little-endian.
 */
function asBytes(array: Uint32Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function asUint32(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(toAlignedBuffer(bytes));
}

/**
 * Returns a buffer that starts with these bytes, so that wider elements are aligned; copies only if
 * necessary.
 */
function toAlignedBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes;
  if (byteOffset === 0 && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) return buffer;
  return new Uint8Array(bytes).buffer;
}

/** Bytes decoded per step. */
const decodedBytesMax = 262_144;

function* decodedParts(bytes: Uint8Array): TextParts {
  for (let start = 0; start < bytes.byteLength; ) {
    let end = Math.min(bytes.byteLength, start + decodedBytesMax);
    // Keep the bytes of a character together: continuation bytes begin with the bits 10.
    while (end < bytes.byteLength && (bytes[end]! & 0xc0) === 0x80) end -= 1;
    yield decodeUtf8(bytes.subarray(start, end));
    start = end;
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
