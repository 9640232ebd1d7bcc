import { assert, present } from '../base/assert.ts';
import { sliceCodePoints } from './code-points.ts';
import { tables, u8, u32, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { bytesCodec, recordCodec, Table } from './table.ts';

/**
 * What belongs to a document id, and is shared by its versions. Text is stored once: as parsed pages until it is
 * chunked, then as chunks, which tile the document's text exactly.
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
  /** Index = chunk: 8-bit vectors of its precise chunks, one after the other. */
  codes: 5,
  /** Index 0: `IndexHead`. */
  indexHead: 6,
  /** Index = piece: row vectors, little-endian f32. */
  vectors: 7,
  /** Index = piece: the TermBlock as the engine takes it. */
  terms: 8,
} as const;

/** Bytes of one piece of vectors or terms: those of a long document are too large for one write. */
const pieceBytesMax = 4_000_000;

/** Result of the parse step beside the pages themselves. */
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

/** Where pages and chunks lie in the document's text; offsets and lengths in code points. */
export interface Layout {
  readonly length: number;
  /** UTF-8 bytes of the whole text. */
  readonly textBytes: number;
  readonly unordered: boolean;
  readonly title: string | null;
  readonly language: string | null;
  readonly pageStarts: Uint32Array;
  /** Without the separator that follows a page. */
  readonly pageLengths: Uint32Array;
  readonly chunkStarts: Uint32Array;
}

export interface PreciseSpan {
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
  /** First page, and the page behind the last. */
  readonly pageStart: number;
  readonly pageEnd: number;
  /** Title and heading path; no part of the text. */
  readonly prefix: string;
  /** Nothing to search for in it: it has no row in the index. */
  readonly blank: boolean;
  /** Language its words were stemmed in, null where unsure. */
  readonly language: string | null;
  readonly children: readonly PreciseSpan[];
}

export interface IndexBlock {
  readonly rowCount: number;
  readonly dimensions: number;
  /** Model that made the vectors; another model's need embedding again. */
  readonly model: string;
  /** `rowCount` x `dimensions`, unit length. */
  readonly vectors: Float32Array;
  readonly terms: Uint8Array;
  /** Chunk of each row; blank chunks have none. */
  readonly chunkOfRow: Uint32Array;
}

export interface ChunkPlace {
  readonly documentId: string;
  readonly chunk: number;
}

interface IndexHead {
  readonly rowCount: number;
  readonly dimensions: number;
  readonly model: string;
  readonly chunkOfRow: Uint8Array;
  /** How many there are of each; one where the first builds of format 1 did not say. */
  readonly pieces?: { readonly vectors: number; readonly terms: number };
}

type StoredLayout = Omit<Layout, 'pageStarts' | 'pageLengths' | 'chunkStarts'> & {
  readonly pageStarts: Uint8Array;
  readonly pageLengths: Uint8Array;
  readonly chunkStarts: Uint8Array;
};

/** A chunk to be stored. */
export interface NewChunk extends Omit<StoredChunk, 'children'> {
  /** Its precise chunks, four numbers each, in the order of `PreciseSpan`. */
  readonly spans: Uint32Array;
}

type PackedChunk = Omit<StoredChunk, 'children'> & { readonly children: Uint8Array };

const content = new Table<readonly [documentId: string, part: number, index: number], Uint8Array>(
  tables.content,
  [uuid, u8, u32],
  bytesCodec,
);
const heads = recordCodec<ParsedHead>();
const layouts = recordCodec<StoredLayout>();
const packedChunks = recordCodec<PackedChunk>();
const indexHeads = recordCodec<IndexHead>();

/** Text, pages, chunks, vectors and terms by document id. */
export class Contents {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  // parsed, not yet chunked

  putParsedPage(documentId: string, page: number, text: string): Operation {
    return content.put([documentId, parts.parsedPage, page], Buffer.from(text, 'utf8'));
  }

  /** Write this with or after the last page: it says that the parse step is complete. */
  putParsedHead(documentId: string, head: ParsedHead): Operation {
    return content.put([documentId, parts.parsedHead, 0], heads.encode(head));
  }

  parsedHead(documentId: string): ParsedHead | undefined {
    const bytes = this.#get(documentId, parts.parsedHead, 0);
    return bytes === undefined ? undefined : heads.decode(bytes);
  }

  /** One page while the document is not chunked; undefined otherwise. */
  parsedPage(documentId: string, page: number): string | undefined {
    const bytes = this.#get(documentId, parts.parsedPage, page);
    return bytes === undefined ? undefined : utf8(bytes);
  }

  async parsedPages(documentId: string): Promise<string[]> {
    const pages: string[] = [];
    for await (const { value } of content.range(this.#store, [documentId, parts.parsedPage])) {
      pages.push(utf8(value));
    }
    return pages;
  }

  /** Join this to the write that completes the chunks: from then on they hold the text. */
  deleteParsed(documentId: string, pageCount: number): Operation[] {
    const operations = [content.delete([documentId, parts.parsedHead, 0])];
    for (let page = 0; page < pageCount; page += 1) {
      operations.push(content.delete([documentId, parts.parsedPage, page]));
    }
    return operations;
  }

  // chunks

  putChunk(documentId: string, index: number, { spans, ...chunk }: NewChunk): Operation {
    const packed = packedChunks.encode({ ...chunk, children: asBytes(spans) });
    return content.put([documentId, parts.chunk, index], packed);
  }

  /** Write this with or after the last chunk: it says that the chunk step is complete. */
  putLayout(documentId: string, layout: Layout): Operation {
    const stored: StoredLayout = {
      ...layout,
      pageStarts: asBytes(layout.pageStarts),
      pageLengths: asBytes(layout.pageLengths),
      chunkStarts: asBytes(layout.chunkStarts),
    };
    return content.put([documentId, parts.layout, 0], layouts.encode(stored));
  }

  layout(documentId: string): Layout | undefined {
    const bytes = this.#get(documentId, parts.layout, 0);
    if (bytes === undefined) return undefined;
    const stored = layouts.decode(bytes);
    return {
      ...stored,
      pageStarts: asUint32(stored.pageStarts),
      pageLengths: asUint32(stored.pageLengths),
      chunkStarts: asUint32(stored.chunkStarts),
    };
  }

  /** Chunks in the order asked; undefined where a document was deleted meanwhile. */
  chunks(places: readonly ChunkPlace[]): (StoredChunk | undefined)[] {
    return this.#getMany(places, parts.chunk).map((bytes) =>
      bytes === undefined ? undefined : unpackChunk(bytes),
    );
  }

  // vectors and terms

  putCodes(documentId: string, chunk: number, codes: Uint8Array): Operation {
    return content.put([documentId, parts.codes, chunk], codes);
  }

  /** Codes of the precise chunks of each place; undefined where there are none. */
  codes(places: readonly ChunkPlace[]): (Uint8Array | undefined)[] {
    return this.#getMany(places, parts.codes);
  }

  /** The large parts of an index block, each small enough to share a write with others. */
  putIndexPieces(documentId: string, { vectors, terms }: IndexBlock): Operation[] {
    return [
      ...pieces(asBytes(vectors)).map((piece, i) => content.put([documentId, parts.vectors, i], piece)),
      ...pieces(terms).map((piece, i) => content.put([documentId, parts.terms, i], piece)),
    ];
  }

  /** Write this with or after the last piece: it says that the embed step is complete. */
  putIndexHead(documentId: string, block: IndexBlock): Operation {
    const { rowCount, dimensions, model, vectors, terms, chunkOfRow } = block;
    assert(vectors.length === rowCount * dimensions, 'an index block has a vector per row');
    assert(chunkOfRow.length === rowCount, 'an index block has a chunk per row');
    const head = indexHeads.encode({
      rowCount,
      dimensions,
      model,
      chunkOfRow: asBytes(chunkOfRow),
      pieces: { vectors: pieceCount(vectors.byteLength), terms: pieceCount(terms.byteLength) },
    });
    return content.put([documentId, parts.indexHead, 0], head);
  }

  indexBlock(documentId: string): IndexBlock | undefined {
    const head = this.#get(documentId, parts.indexHead, 0);
    if (head === undefined) return undefined;
    const { chunkOfRow, pieces = { vectors: 1, terms: 1 }, ...rest } = indexHeads.decode(head);
    return {
      ...rest,
      chunkOfRow: asUint32(chunkOfRow),
      vectors: new Float32Array(aligned(this.#joined(documentId, parts.vectors, pieces.vectors))),
      terms: this.#joined(documentId, parts.terms, pieces.terms),
    };
  }

  /** Per document the chunk of each row, without reading the vectors; undefined for a document that is gone. */
  chunksOfRows(documentIds: readonly string[]): (Uint32Array | undefined)[] {
    const keys = documentIds.map((documentId) => content.keyOf(documentId, parts.indexHead, 0));
    return this.#store
      .getMany(keys)
      .map((head) => (head === undefined ? undefined : asUint32(indexHeads.decode(head).chunkOfRow)));
  }

  // reading text

  /** The whole text; undefined until the document is chunked. */
  async readText(documentId: string): Promise<string | undefined> {
    const layout = this.layout(documentId);
    if (layout === undefined) return undefined;
    const texts: string[] = [];
    // Behind the last there may be some of an attempt that was broken off.
    const lt = content.keyOf(documentId, parts.chunk, layout.chunkStarts.length);
    for await (const { value } of content.range(this.#store, [documentId, parts.chunk], { lt }))
      texts.push(unpackChunk(value).text);
    return texts.join('');
  }

  /** Code points [start, end) of the text, cut to its length; undefined until the document is chunked. */
  readSlice(documentId: string, start: number, end: number): string | undefined {
    const layout = this.layout(documentId);
    return layout === undefined ? undefined : sliceText(layout, { start, end }, this.#reader(documentId));
  }

  /** One page without its separator; undefined when there is no such page or the document is not chunked. */
  readPage(documentId: string, page: number): string | undefined {
    const layout = this.layout(documentId);
    return layout === undefined ? undefined : pageText(layout, page, this.#reader(documentId));
  }

  // deleting

  /** Deletes up to `limit` of everything a document id has; an empty list when nothing is left. */
  async deletes(documentId: string, limit: number): Promise<Operation[]> {
    const operations: Operation[] = [];
    for await (const key of content.keys(this.#store, [documentId], { limit })) {
      operations.push({ type: 'delete', key });
    }
    return operations;
  }

  #reader(documentId: string): ReadChunks {
    return (numbers) => this.chunks(numbers.map((chunk) => ({ documentId, chunk })));
  }

  #joined(documentId: string, part: number, count: number): Uint8Array {
    const keys = Array.from({ length: count }, (_, i) => content.keyOf(documentId, part, i));
    const found = this.#store.getMany(keys).map((piece) => present(piece, 'an index head has its pieces'));
    return found.length === 1 ? (found[0] as Uint8Array) : Buffer.concat(found);
  }

  #get(documentId: string, part: number, index: number): Uint8Array | undefined {
    return content.get(this.#store, [documentId, part, index]);
  }

  #getMany(places: readonly ChunkPlace[], part: number): (Uint8Array | undefined)[] {
    return this.#store.getMany(places.map(({ documentId, chunk }) => content.keyOf(documentId, part, chunk)));
  }
}

/** Reads chunks of one document by their numbers. */
type ReadChunks = (numbers: readonly number[]) => (StoredChunk | undefined)[];

/** One page without its separator; undefined when there is no such page. */
export function pageText(layout: Layout, page: number, read: ReadChunks): string | undefined {
  const start = layout.pageStarts[page];
  const length = layout.pageLengths[page];
  if (start === undefined || length === undefined) return undefined;
  return sliceText(layout, { start, end: start + length }, read);
}

function sliceText(layout: Layout, span: { start: number; end: number }, read: ReadChunks): string {
  const { start } = span;
  const end = Math.min(span.end, layout.length);
  if (start >= end) return '';
  const numbers: number[] = [];
  for (let chunk = chunkAt(layout.chunkStarts, start); chunk < layout.chunkStarts.length; chunk += 1) {
    if ((layout.chunkStarts[chunk] as number) >= end) break;
    numbers.push(chunk);
  }
  const texts = read(numbers).map((found) => {
    const chunk = present(found, 'a chunked document has all its chunks');
    const part = { start: Math.max(start, chunk.start), end: Math.min(end, chunk.end) };
    const inChunk = { start: part.start - chunk.start, end: part.end - chunk.start };
    return sliceCodePoints(chunk.text, inChunk, chunk.end - chunk.start);
  });
  return texts.join('');
}

function pieceCount(bytes: number): number {
  return Math.ceil(bytes / pieceBytesMax);
}

/** Views of consecutive bytes. */
function pieces(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: pieceCount(bytes.byteLength) }, (_, i) =>
    bytes.subarray(i * pieceBytesMax, (i + 1) * pieceBytesMax),
  );
}

/** Index of the last chunk that starts at or before an offset. */
function chunkAt(starts: Uint32Array, offset: number): number {
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
  const { children, ...rest } = packedChunks.decode(bytes);
  const packed = asUint32(children);
  const spans: PreciseSpan[] = [];
  for (let index = 0; index < packed.length; index += 4) {
    const [start = 0, end = 0, startCodePoint = 0, endCodePoint = 0] = packed.subarray(index, index + 4);
    spans.push({ start, end, startCodePoint, endCodePoint });
  }
  return { ...rest, children: spans };
}

/** The bytes of a typed array in memory order; every platform of the store's binding is little-endian. */
function asBytes(array: Uint32Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function asUint32(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(aligned(bytes));
}

/** A buffer that starts with these bytes, so that wider elements lie aligned; copies only when it must. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes;
  if (byteOffset === 0 && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) return buffer;
  return new Uint8Array(bytes).buffer;
}

function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
