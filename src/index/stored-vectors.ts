import { assertDefined } from '../core/assert.ts';
import type { ChunkEmbeddingInput, ChunkVectors } from '../models/model.ts';
import { type Collections, getGeneration, getVectorState, type VectorSet } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import { operationsBytes, type SpaceGuard, type Store, type WriteOperation } from '../storage/store.ts';

/** Makes vectors of one generation of a collection. */
export interface VectorMaker {
  readonly id: string;
  readonly generation: number;
  readonly dimensions: number;
  readonly embedChunks: (chunks: readonly ChunkEmbeddingInput[], onStep: () => void) => Promise<ChunkVectors>;
}

export interface StoredVectorsOptions {
  readonly store: Store;
  readonly contents: Contents;
  /** Refuses while the disk is nearly full. */
  readonly space: SpaceGuard;
}

export interface RebuildOptions {
  /** A write is refused when these do not hold: nothing may come to a document that is gone. */
  readonly expectations: readonly WriteOperation[];
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
  async rebuild(
    documentId: string,
    vectorMaker: VectorMaker,
    { expectations, signal }: RebuildOptions,
  ): Promise<void> {
    const { contents, space } = this.#options;
    const { id: model, generation, dimensions, embedChunks } = vectorMaker;
    const rows = contents.readRowLayout(documentId);
    const chunks = this.#chunks(documentId);
    // Deleted meanwhile.
    if (rows === undefined || chunks === null) return;
    space.check();
    const embedded = [...rows.chunkOfRow].map((chunk) => chunks[chunk]!);
    const output = await embedChunks(embedded, () => signal.throwIfAborted());
    signal.throwIfAborted();
    const block = { ...rows, model, generation, dimensions, vectors: output.vectors };
    const operations: WriteOperation[] = [];
    const codesCount = embedded.reduce((sum, { children }) => sum + children.length, 0);
    const codeBytes = output.codes.length / Math.max(1, codesCount);
    let at = 0;
    embedded.forEach(({ children }, row) => {
      const bytes = children.length * codeBytes;
      const codes = output.codes.subarray(at, at + bytes);
      if (bytes > 0) operations.push(contents.putCodes(documentId, rows.chunkOfRow[row]!, codes, generation));
      at += bytes;
    });
    operations.push(...contents.putVectorPieces(documentId, block));
    await this.#write([...operations, contents.putVectorHead(documentId, block)], expectations);
  }

  #chunks(documentId: string): ChunkEmbeddingInput[] | null {
    const { contents } = this.#options;
    const layout = contents.readLayout(documentId);
    if (layout === undefined) return null;
    const keys = Array.from(layout.chunkStarts, (_, chunk) => ({ documentId, chunk }));
    const chunks = contents.readChunks(keys);
    if (chunks.includes(undefined)) return null;
    return chunks.map((chunk) => assertDefined(chunk, 'no chunk is missing'));
  }

  async #write(
    operations: readonly WriteOperation[],
    expectations: readonly WriteOperation[],
  ): Promise<void> {
    const { store } = this.#options;
    let batch: WriteOperation[] = [];
    let bytes = 0;
    for (const operation of operations) {
      const operationBytes = operationsBytes([operation]);
      if (batch.length > 0 && bytes + operationBytes > writeBytesTarget) {
        await store.write([...expectations, ...batch], { mayExceedQueue: true });
        batch = [];
        bytes = 0;
      }
      batch.push(operation);
      bytes += operationBytes;
    }
    await store.write([...expectations, ...batch], { mayUseReserve: true, mayExceedQueue: true });
  }
}

/** Makes the vectors of a chunked document whose collection has got another model since; does nothing for others. */
export function createVectorRenewal({
  collections,
  documents,
  contents,
  vectors,
  vectorMakerOf,
}: {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly contents: Contents;
  readonly vectors: StoredVectors;
  readonly vectorMakerOf: (set: VectorSet) => VectorMaker;
}): (record: DocumentRecord, signal: AbortSignal) => Promise<void> {
  return async ({ collectionId, path, version, documentId }, signal) => {
    const collection = collections.findById(collectionId);
    if (collection === undefined || contents.hasVectors(documentId, getGeneration(collection))) return;
    const expectations = [
      collections.expectExists(collectionId),
      documents.expectVersion(collectionId, path, version),
    ];
    await vectors.rebuild(documentId, vectorMakerOf(getVectorState(collection)), { expectations, signal });
  };
}
