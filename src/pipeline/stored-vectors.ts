import { present } from '../base/assert.ts';
import type { ChunkVectors, EmbeddedChunk } from '../models/model.ts';
import { type Collections, generationOf, type VectorSet, vectorsOf } from '../store/collections.ts';
import type { Contents } from '../store/content.ts';
import type { DocumentRecord, Documents } from '../store/documents.ts';
import { type Operation, operationsBytes, type SpaceGuard, type Store } from '../store/store.ts';

/** Makes vectors of one generation of a collection. */
export interface VectorMaker {
  readonly id: string;
  readonly generation: number;
  readonly dimensions: number;
  readonly embedChunks: (chunks: readonly EmbeddedChunk[], onStep: () => void) => Promise<ChunkVectors>;
}

export interface StoredVectorsOptions {
  readonly store: Store;
  readonly contents: Contents;
  /** Refuses while the disk is nearly full. */
  readonly space: SpaceGuard;
}

export interface RenewOptions {
  /** A write is refused when these do not hold: nothing may come to a document that is gone. */
  readonly guard: readonly Operation[];
  readonly signal: AbortSignal;
}

/** Bytes of one write, about. */
const writeBytesTarget = 4_000_000;

/** Makes vectors of documents from their stored chunks, beside the vectors that another model made. */
export class StoredVectors {
  readonly #options: StoredVectorsOptions;

  constructor(options: StoredVectorsOptions) {
    this.#options = options;
  }

  /** Stores what a model makes of a chunked document; the head goes last and says that all are there. */
  async renew(documentId: string, maker: VectorMaker, { guard, signal }: RenewOptions): Promise<void> {
    const { contents, space } = this.#options;
    const { id: model, generation, dimensions, embedChunks } = maker;
    const rows = contents.rowsOf(documentId);
    const chunks = this.#chunks(documentId);
    // Deleted meanwhile.
    if (rows === undefined || chunks === null) return;
    space.check();
    const embedded = [...rows.chunkOfRow].map((chunk) => chunks[chunk]!);
    const made = await embedChunks(embedded, () => signal.throwIfAborted());
    signal.throwIfAborted();
    const block = { ...rows, model, generation, dimensions, vectors: made.vectors };
    const operations: Operation[] = [];
    const codesCount = embedded.reduce((sum, { children }) => sum + children.length, 0);
    const codeBytes = made.codes.length / Math.max(1, codesCount);
    let at = 0;
    embedded.forEach(({ children }, row) => {
      const bytes = children.length * codeBytes;
      const codes = made.codes.subarray(at, at + bytes);
      if (bytes > 0) operations.push(contents.putCodes(documentId, rows.chunkOfRow[row]!, codes, generation));
      at += bytes;
    });
    operations.push(...contents.putVectorPieces(documentId, block));
    await this.#write([...operations, contents.putVectorHead(documentId, block)], guard);
  }

  #chunks(documentId: string): EmbeddedChunk[] | null {
    const { contents } = this.#options;
    const layout = contents.layout(documentId);
    if (layout === undefined) return null;
    const places = Array.from(layout.chunkStarts, (_, chunk) => ({ documentId, chunk }));
    const chunks = contents.chunks(places);
    if (chunks.includes(undefined)) return null;
    return chunks.map((chunk) => present(chunk, 'no chunk is missing'));
  }

  async #write(operations: readonly Operation[], guard: readonly Operation[]): Promise<void> {
    const { store } = this.#options;
    let piece: Operation[] = [];
    let bytes = 0;
    for (const operation of operations) {
      const more = operationsBytes([operation]);
      if (piece.length > 0 && bytes + more > writeBytesTarget) {
        await store.write([...guard, ...piece], { mayExceedQueue: true });
        piece = [];
        bytes = 0;
      }
      piece.push(operation);
      bytes += more;
    }
    await store.write([...guard, ...piece], { mayUseReserve: true, mayExceedQueue: true });
  }
}

/** Makes the vectors of a chunked document whose collection has got another model since; does nothing for others. */
export function vectorRenewal({
  collections,
  documents,
  contents,
  vectors,
  makerOf,
}: {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly contents: Contents;
  readonly vectors: StoredVectors;
  readonly makerOf: (set: VectorSet) => VectorMaker;
}): (record: DocumentRecord, signal: AbortSignal) => Promise<void> {
  return async ({ collectionId, path, version, documentId }, signal) => {
    const collection = collections.byId(collectionId);
    if (collection === undefined || contents.hasVectors(documentId, generationOf(collection))) return;
    const guard = [
      collections.expectExists(collectionId),
      documents.expectVersion(collectionId, path, version),
    ];
    await vectors.renew(documentId, makerOf(vectorsOf(collection)), { guard, signal });
  };
}
