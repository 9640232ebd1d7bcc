import { tables, u8, u32, uuid } from './keys.ts';
import type { Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/**
 * Parts stored per document id and shared by its versions. Text is stored once: as parsed pages until the
 * document is chunked, then as chunks, which cover the text of the document exactly.
 */
export const parts = {
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
  /** Index = piece: the packed TermBlock (native/FORMAT.md); before format 3 not packed. */
  terms: 8,
  /** Counterparts of `codes`, `indexHead` and `vectors` for odd generations. */
  oddCodes: 9,
  oddIndexHead: 10,
  oddVectors: 11,
  /** Index = page: the vector supplied with the page, little-endian f32. */
  suppliedVector: 12,
  /** Index = chunk: terms of its fine chunks (native/FORMAT.md). */
  fineTerms: 13,
  /** Index = page: boxes of its lines, see `core/line-box-codec.ts`. Absent for pages without known boxes. */
  lineBoxes: 14,
} as const;

/**
 * Parts of even and odd generations: during a change of model, the current vectors are stored alongside the
 * new ones. The head has the exact generation of the other parts.
 */
const generationParts = [
  { codes: parts.codes, head: parts.indexHead, vectors: parts.vectors },
  { codes: parts.oddCodes, head: parts.oddIndexHead, vectors: parts.oddVectors },
] as const;

export function partsOfGeneration(generation: number): (typeof generationParts)[number] {
  return generationParts[(generation % 2) as 0 | 1];
}

export const contentTable = new Table<readonly [documentId: string, part: number, index: number], Uint8Array>(
  tables.content,
  [uuid, u8, u32],
  bytesCodec,
);

export interface ChunkKey {
  readonly documentId: string;
  readonly chunk: number;
}

/** Returns the given parts of each chunk, in the order of `keys`. */
export function readChunkParts(
  store: Store,
  keys: readonly ChunkKey[],
  partsOfChunk: readonly number[],
): (Uint8Array | undefined)[] {
  return store.getMany(
    keys.flatMap(({ documentId, chunk }) =>
      partsOfChunk.map((part) => contentTable.keyOf(documentId, part, chunk)),
    ),
  );
}
