import { assertDefined } from '../core/assert.ts';
import type { ChunkEmbeddingInput, ChunkVectors } from '../models/model.ts';
import { type Collections, getGeneration, getVectorState, type VectorSet } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import { type FreeSpaceCheck, operationsBytes, type Store, type WriteOperation } from '../storage/store.ts';

/** Computes the vectors of one generation of a collection. */
export interface ChunkEmbedder {
  readonly id: string;
  readonly generation: number;
  readonly dimensions: number;
  readonly embedChunks: (chunks: readonly ChunkEmbeddingInput[], onStep: () => void) => Promise<ChunkVectors>;
}

export interface StoredVectorsOptions {
  readonly store: Store;
  readonly contents: Contents;
  /** Rejects writes while the disk is nearly full. */
  readonly space: FreeSpaceCheck;
}

export interface RebuildOptions {
  /**
   * Conditions of every write; it is rejected when they do not hold, so that nothing is added to a deleted
   * document.
   */
  readonly expectations: readonly WriteOperation[];
  readonly signal: AbortSignal;
}

/** Approximate bytes per write. */
const writeBytesTarget = 4_000_000;

/** Computes vectors of documents from their stored chunks, in addition to the vectors of another model. */
export class StoredVectors {
  readonly #options: StoredVectorsOptions;

  constructor(options: StoredVectorsOptions) {
    this.#options = options;
  }

  /**
   * Embeds a chunked document and stores the vectors. The head is written last and marks the vectors as
   * complete.
   */
  async rebuild(
    documentId: string,
    chunkEmbedder: ChunkEmbedder,
    { expectations, signal }: RebuildOptions,
  ): Promise<void> {
    const { contents, space } = this.#options;
    const { id: model, generation, dimensions, embedChunks } = chunkEmbedder;
    const rows = contents.blocks.readRowLayout(documentId);
    const chunks = this.#chunks(documentId);
    // The document was deleted meanwhile.
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
      if (bytes > 0)
        operations.push(contents.blocks.putCodes(documentId, rows.chunkOfRow[row]!, codes, generation));
      at += bytes;
    });
    operations.push(...contents.blocks.putVectorPieces(documentId, block));
    await this.#write([...operations, contents.blocks.putVectorHead(documentId, block)], expectations);
  }

  #chunks(documentId: string): ChunkEmbeddingInput[] | null {
    const { contents } = this.#options;
    const layout = contents.chunks.readLayout(documentId);
    if (layout === undefined) return null;
    const keys = Array.from(layout.chunkStarts, (_, chunk) => ({ documentId, chunk }));
    const chunks = contents.chunks.read(keys);
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

/**
 * Returns a function that embeds a chunked document again when the model of its collection has changed since;
 * it does nothing for other documents.
 */
export function createVectorRenewal({
  collections,
  documents,
  contents,
  vectors,
  chunkEmbedderOf,
}: {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly contents: Contents;
  readonly vectors: StoredVectors;
  readonly chunkEmbedderOf: (set: VectorSet) => ChunkEmbedder;
}): (record: DocumentRecord, signal: AbortSignal) => Promise<void> {
  return async ({ collectionId, path, version, documentId }, signal) => {
    const collection = collections.findById(collectionId);
    if (collection === undefined || contents.blocks.hasVectors(documentId, getGeneration(collection))) return;
    const expectations = [
      collections.expectExists(collectionId),
      documents.expectVersion(collectionId, path, version),
    ];
    await vectors.rebuild(documentId, chunkEmbedderOf(getVectorState(collection)), { expectations, signal });
  };
}
