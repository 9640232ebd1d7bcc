import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '../core/assert.ts';
import { type ChunkKey, contentTable, parts, partsOfGeneration, readChunkParts } from './content-table.ts';
import { positionalCodec } from './positional-codec.ts';
import type { Store, WriteOperation } from './store.ts';
import { recordCodec } from './table.ts';
import { asBytes, asUint32, toAlignedBuffer } from './typed-bytes.ts';

/** Maximum bytes per piece of vectors or terms: those of a long document are too large for one write. */
const pieceBytesMax = 4_000_000;

export interface IndexBlock {
  readonly rowCount: number;
  readonly dimensions: number;
  /** Model that computed the vectors; vectors of another model must be recomputed. */
  readonly model: string;
  /** See `VectorSet`; absent: 0. */
  readonly generation?: number;
  /** [rowCount x dimensions], unit length. */
  readonly vectors: Float32Array;
  readonly terms: Uint8Array;
  /** Chunk of each row; blank chunks have none. */
  readonly chunkOfRow: Uint32Array;
}

/** Stored data of the fine chunks of one chunk. */
export interface FineChunkParts {
  /** 8-bit vectors; undefined for a chunk without vectors. */
  readonly codes: Uint8Array | undefined;
  /** Undefined for a document that was stored before this part existed. */
  readonly terms: Uint8Array | undefined;
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

const headCodec = positionalCodec<IndexHead>({
  fields: { rowCount: null, dimensions: null, model: null, chunkOfRow: null, generation: null, pieces: null },
  named: recordCodec<IndexHead>(),
});

/** Vectors and terms of the rows of documents, as the index loads them. */
export class IndexBlocks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  putCodes(documentId: string, chunk: number, codes: Uint8Array, generation = 0): WriteOperation {
    return contentTable.put([documentId, partsOfGeneration(generation).codes, chunk], codes);
  }

  putFineTerms(documentId: string, chunk: number, fineTerms: Uint8Array): WriteOperation {
    return contentTable.put([documentId, parts.fineTerms, chunk], fineTerms);
  }

  /** Returns the data of the fine chunks of each chunk. */
  readFineChunks(keys: readonly ChunkKey[], generation = 0): FineChunkParts[] {
    const { codes } = partsOfGeneration(generation);
    const found = readChunkParts(this.#store, keys, [codes, parts.fineTerms]);
    return keys.map((_, i) => ({ codes: found[2 * i], terms: found[2 * i + 1] }));
  }

  /** Returns the large parts of an index block, each small enough to share a write with others. */
  putPieces(documentId: string, block: IndexBlock): WriteOperation[] {
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
  putHead(documentId: string, block: IndexBlock): WriteOperation {
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
    const head = headCodec.encode({
      rowCount,
      dimensions,
      model,
      ...(generation === 0 ? {} : { generation }),
      chunkOfRow: asBytes(chunkOfRow),
      pieces: { vectors: countPieces(vectors.byteLength), terms: termPieces },
    });
    return contentTable.put([documentId, partsOfGeneration(generation).head, 0], head);
  }

  /**
   * Returns the block with the vectors of exactly this generation; undefined if there are none, or if they
   * are deleted meanwhile.
   */
  async readBlock(documentId: string, generation = 0): Promise<IndexBlock | undefined> {
    const head = this.#readHead(documentId, generation);
    if (head === undefined) return undefined;
    const { chunkOfRow, pieces = { vectors: 1, terms: 1 }, ...rest } = head;
    const part = partsOfGeneration(generation).vectors;
    const vectors = await this.#readPieces(documentId, part, pieces.vectors);
    const terms = await this.#readPieces(documentId, parts.terms, pieces.terms);
    if (vectors === undefined || terms === undefined) return undefined;
    return {
      ...rest,
      chunkOfRow: asUint32(chunkOfRow),
      vectors: new Float32Array(toAlignedBuffer(vectors)),
      terms,
    };
  }

  /**
   * Returns the vectors of rows `first` to `end` (exclusive), with the dimensions of each; undefined if the document has
   * none of exactly this generation. Reads only the pieces that contain them.
   */
  readRowVectors(
    documentId: string,
    { first, end, generation }: { readonly first: number; readonly end: number; readonly generation: number },
  ): { readonly dimensions: number; readonly vectors: Float32Array } | undefined {
    const head = this.#readHead(documentId, generation);
    if (head === undefined) return undefined;
    const { dimensions, rowCount, pieces = { vectors: 1 } } = head;
    assert(first <= end && end <= rowCount, 'the rows exist');
    const rowBytes = dimensions * Float32Array.BYTES_PER_ELEMENT;
    const pieceBytes = pieces.vectors === 1 ? Number.POSITIVE_INFINITY : pieceBytesMax;
    const bytes = Buffer.alloc((end - first) * rowBytes);
    const part = partsOfGeneration(generation).vectors;
    for (let at = first * rowBytes; at < end * rowBytes; ) {
      const index = Math.floor(at / pieceBytes);
      const piece = this.#get(documentId, part, index);
      if (piece === undefined) return undefined;
      const start = index === 0 ? 0 : index * pieceBytes;
      const read = piece.subarray(at - start, end * rowBytes - start);
      assert(read.byteLength > 0, 'a piece has the bytes of its rows');
      bytes.set(read, at - first * rowBytes);
      at += read.byteLength;
    }
    return { dimensions, vectors: new Float32Array(toAlignedBuffer(bytes)) };
  }

  hasVectors(documentId: string, generation: number): boolean {
    return this.#readHead(documentId, generation) !== undefined;
  }

  /**
   * Returns the row layout shared by the vectors of all generations; undefined until a document has its first
   * vectors, and after its deletion.
   */
  readRowLayout(documentId: string): Pick<VectorBlock, 'rowCount' | 'chunkOfRow' | 'termPieces'> | undefined {
    const bytes = this.#get(documentId, parts.indexHead, 0) ?? this.#get(documentId, parts.oddIndexHead, 0);
    if (bytes === undefined) return undefined;
    const { rowCount, chunkOfRow, pieces } = headCodec.decode(bytes);
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
      return found === undefined ? undefined : asUint32(headCodec.decode(found).chunkOfRow);
    });
  }

  /**
   * Returns the first `count` pieces of a part, joined; undefined if one was deleted. Several pieces are read
   * and copied in a turn of the event loop each.
   */
  async #readPieces(documentId: string, part: number, count: number): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    for (let i = 0; i < count; i += 1) {
      if (i > 0) await nextTurn();
      const piece = this.#get(documentId, part, i);
      if (piece === undefined) return undefined;
      pieces.push(piece);
    }
    if (pieces.length === 1) return pieces[0];
    const joined = Buffer.allocUnsafeSlow(pieces.reduce((bytes, { byteLength }) => bytes + byteLength, 0));
    let at = 0;
    for (const piece of pieces) {
      await nextTurn();
      joined.set(piece, at);
      at += piece.byteLength;
    }
    return joined;
  }

  #readHeads(documentIds: readonly string[], part: number): (Uint8Array | undefined)[] {
    return this.#store.getMany(documentIds.map((documentId) => contentTable.keyOf(documentId, part, 0)));
  }

  #readHead(documentId: string, generation: number): IndexHead | undefined {
    const bytes = this.#get(documentId, partsOfGeneration(generation).head, 0);
    const head = bytes === undefined ? undefined : headCodec.decode(bytes);
    return (head?.generation ?? 0) === generation ? head : undefined;
  }

  #get(documentId: string, part: number, index: number): Uint8Array | undefined {
    return contentTable.get(this.#store, [documentId, part, index]);
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
