import { assertDefined } from '../core/assert.ts';
import { sliceCodePoints } from './code-points.ts';
import { type ChunkKey, contentTable, parts, readChunkParts } from './content-table.ts';
import { isPositional, positionalCodec } from './positional-codec.ts';
import { decodeSpans, encodeSpans, numbersPerSpan } from './span-codec.ts';
import type { Store, WriteOperation } from './store.ts';
import { recordCodec } from './table.ts';
import type { TextParts } from './text-parts.ts';
import { asBytes, asUint32 } from './typed-bytes.ts';

/** Positions of pages and chunks in the document text; offsets and lengths in code points. */
export interface Layout {
  readonly length: number;
  /** UTF-8 bytes of the whole text. */
  readonly textBytes: number;
  readonly unordered: boolean;
  /** Whether headings were detected; absent for documents chunked before this was recorded. */
  readonly headings?: boolean;
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

/** A chunk to be stored. */
export interface NewChunk extends Omit<StoredChunk, 'children'> {
  /** Its fine chunks, four numbers each, in the order of `FineChunkSpan`. */
  readonly spans: Uint32Array;
}

/** `children`: see `encodeSpans`; before format 5 four 32-bit numbers each. */
type PackedChunk = Omit<StoredChunk, 'children'> & { readonly children: Uint8Array };

type StoredLayout = Omit<Layout, 'pageStarts' | 'pageLengths' | 'chunkStarts'> & {
  readonly pageStarts: Uint8Array;
  readonly pageLengths: Uint8Array;
  readonly chunkStarts: Uint8Array;
};

const layoutCodec = positionalCodec<StoredLayout>({
  fields: {
    length: null,
    textBytes: null,
    unordered: null,
    title: null,
    language: null,
    pageStarts: null,
    pageLengths: null,
    chunkStarts: null,
    headings: null,
    warnings: null,
  },
  named: recordCodec<StoredLayout>(),
});
const chunkCodec = positionalCodec<PackedChunk>({
  fields: {
    text: null,
    start: null,
    end: null,
    pageStart: null,
    pageEnd: null,
    prefix: null,
    blank: null,
    language: null,
    children: null,
  },
  named: recordCodec<PackedChunk>(),
});

/** Maximum number of chunks per part of a text. */
const partChunksMax = 32;

/** Returns the value of a chunk in the store. */
export function encodeChunk({ spans, ...chunk }: NewChunk): Uint8Array {
  return chunkCodec.encode({ ...chunk, children: encodeSpans(spans, chunk.start) });
}

/** Chunks of documents; they cover the text of a document exactly. */
export class Chunks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  put(documentId: string, index: number, chunk: NewChunk): WriteOperation {
    return this.putRecord(documentId, index, encodeChunk(chunk));
  }

  /** `record`: the result of `encodeChunk`. */
  putRecord(documentId: string, index: number, record: Uint8Array): WriteOperation {
    return contentTable.put([documentId, parts.chunk, index], record);
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
  read(keys: readonly ChunkKey[]): (StoredChunk | undefined)[] {
    return readChunkParts(this.#store, keys, [parts.chunk]).map((bytes) =>
      bytes === undefined ? undefined : decodeChunk(bytes),
    );
  }

  /** Returns the whole text in parts; undefined until the document is chunked. */
  async readText(documentId: string): Promise<readonly string[] | undefined> {
    const layout = this.readLayout(documentId);
    if (layout === undefined) return undefined;
    const textPieces: string[] = [];
    let texts: string[] = [];
    // An interrupted attempt may have left chunks after the last one.
    const lt = contentTable.keyOf(documentId, parts.chunk, layout.chunkStarts.length);
    for await (const { value } of contentTable.range(this.#store, [documentId, parts.chunk], { lt }))
      if (texts.push(decodeChunk(value).text) === partChunksMax) {
        textPieces.push(texts.join(''));
        texts = [];
      }
    textPieces.push(texts.join(''));
    return textPieces;
  }

  /**
   * Returns one page without its separator; undefined if the page does not exist or the document is not
   * chunked.
   */
  readPage(documentId: string, page: number): TextParts | undefined {
    const layout = this.readLayout(documentId);
    return layout === undefined ? undefined : pageParts(layout, page, this.#chunkReader(documentId));
  }

  /** Returns the code points [start, end) of the text, from a layout of the same document. */
  readRange(
    documentId: string,
    layout: Layout,
    span: { readonly start: number; readonly end: number },
  ): TextParts {
    return readSlice(layout, span, this.#chunkReader(documentId));
  }

  /** Returns the start offset of a page, in code points; null if there is none, or the document is not chunked. */
  readPageStart(documentId: string, page: number): number | null {
    return this.readLayout(documentId)?.pageStarts[page] ?? null;
  }

  #chunkReader(documentId: string): ReadChunks {
    return (numbers) => this.read(numbers.map((chunk) => ({ documentId, chunk })));
  }

  #get(documentId: string, part: number, index: number): Uint8Array | undefined {
    return contentTable.get(this.#store, [documentId, part, index]);
  }
}

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

/** Returns the index of the last chunk that starts at or before an offset. */
export function findChunkAt(starts: Uint32Array, offset: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] as number) <= offset) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Returns the chunk of a record. */
export function decodeChunk(bytes: Uint8Array): StoredChunk {
  const { children, ...rest } = chunkCodec.decode(bytes);
  const spans = isPositional(bytes) ? decodeSpans(children, rest.start) : asUint32(children);
  const fineChunks: FineChunkSpan[] = [];
  for (let i = 0; i < spans.length; i += numbersPerSpan)
    fineChunks.push({
      start: spans[i]!,
      end: spans[i + 1]!,
      startCodePoint: spans[i + 2]!,
      endCodePoint: spans[i + 3]!,
    });
  return { ...rest, children: fineChunks };
}
