import { shardOf } from '../index/shard-of.ts';
import type { VersionChange } from '../index/version-publisher.ts';
import type { Layout } from '../storage/chunks.ts';
import { type Collection, type Collections, ownVectors } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import type { IndexBlock } from '../storage/index-blocks.ts';
import { deleteJob, type Job } from '../storage/jobs.ts';
import type { WriteOperation } from '../storage/store.ts';
import type { DocumentEvent } from './document-event.ts';

export interface ChunkedContent {
  /** Records of the chunks; see `encodeChunk`. */
  readonly chunks: readonly Uint8Array[];
  /** 8-bit vectors of the fine chunks, per coarse chunk; undefined for a chunk without vectors. */
  readonly codes: readonly (Uint8Array | undefined)[];
  /** Terms of the fine chunks, per coarse chunk; undefined for a blank chunk. */
  readonly fineTerms: readonly (Uint8Array | undefined)[];
  readonly layout: Layout;
  readonly block: IndexBlock;
  readonly languages: readonly string[];
  readonly fineChunks: number;
  readonly tokens: { readonly content: number; readonly embedding: number };
  readonly timeTakenMs: number;
}

/** The current record of a document, and its chunks. */
export interface ChunkedRecord {
  readonly record: DocumentRecord;
  readonly content: ChunkedContent;
}

export interface ChunkedDocument extends ChunkedRecord {
  readonly job: Job;
}

export interface ContentOperationsOptions {
  readonly collections: Pick<Collections, 'update'>;
  readonly contents: Contents;
  /** Returns operations that count an event, to be included in the write that causes it. */
  readonly count: (event: DocumentEvent) => WriteOperation[];
}

/** The store operations for the chunks, vectors and terms of documents. Writes nothing itself. */
export class ContentOperations {
  readonly #options: ContentOperationsOptions;
  /** Languages per collection while some of them are not stored yet. */
  readonly #languages = new Map<string, Set<string>>();

  constructor(options: ContentOperationsOptions) {
    this.#options = options;
  }

  /**
   * Yields the operations for the chunks of a document and their related data; each entry must be in one
   * write. The last entry marks the content as complete.
   */
  *put(
    { documentId }: Pick<Job, 'documentId'>,
    { chunks, codes, fineTerms, layout, block }: ChunkedContent,
  ): Generator<WriteOperation[]> {
    const { contents } = this.#options;
    for (const [i, chunk] of chunks.entries()) {
      const codesOfChunk = codes[i];
      const termsOfChunk = fineTerms[i];
      const entries = [contents.chunks.putRecord(documentId, i, chunk)];
      if (codesOfChunk !== undefined)
        entries.push(contents.blocks.putCodes(documentId, i, codesOfChunk, block.generation));
      if (termsOfChunk !== undefined) entries.push(contents.blocks.putFineTerms(documentId, i, termsOfChunk));
      yield entries;
    }
    for (const put of contents.blocks.putPieces(documentId, block)) yield [put];
    yield [contents.chunks.putLayout(documentId, layout), contents.blocks.putHead(documentId, block)];
  }

  /** Deletes the parsed pages, since the chunks contain the text from now on. */
  deleteParsed({ documentId }: Job, { layout, block }: ChunkedContent): Iterable<WriteOperation> {
    const vectors = block.model === ownVectors;
    return this.#options.contents.parsed.delete(documentId, layout.pageStarts.length, { vectors });
  }

  /** Updates the languages of the collection and the usage for the chunks of documents. */
  note(collection: Collection, documents: readonly ChunkedRecord[]): WriteOperation[] {
    if (documents.length === 0) return [];
    const { organizationId, collectionId } = collection;
    const sum = (amountOf: (document: ChunkedRecord) => number) =>
      documents.reduce((total, document) => total + amountOf(document), 0);
    return [
      ...this.#addLanguages(
        collection,
        documents.flatMap(({ content }) => content.languages),
      ),
      ...this.#options.count({
        organizationId,
        collectionId,
        event: 'indexed',
        documents: documents.length,
        fileBytes: sum(({ record }) => record.size),
        pages: sum(({ record }) => record.numPages ?? 0),
        contentTokens: sum(({ content }) => content.tokens.content),
        embeddingTokens: sum(({ content }) => content.tokens.embedding),
        coarseChunks: sum(({ content }) => content.chunks.length),
        fineChunks: sum(({ content }) => content.fineChunks),
        timeTakenMs: sum(({ content }) => content.timeTakenMs),
      }),
    ];
  }

  /** Adds languages that queries of the collection must consider. */
  #addLanguages(collection: Collection, languages: readonly string[]): WriteOperation[] {
    const { collectionId } = collection;
    // Writes of other documents may be in flight: this write must not lose the languages they add. These
    // writes may fail, too: only stored languages count as known.
    const stored = new Set(collection.languages);
    const union = new Set([...stored, ...(this.#languages.get(collectionId) ?? []), ...languages]);
    if (union.size === stored.size) this.#languages.delete(collectionId);
    else this.#languages.set(collectionId, union);
    if (languages.every((language) => stored.has(language))) return [];
    return this.#options.collections.update({ ...collection, languages: [...union] });
  }
}

/** Returns the record of a document whose staged version becomes visible, the change and the end of its job. */
export function toIndexed(
  record: DocumentRecord,
  { collectionId, shards }: Collection,
): { readonly record: DocumentRecord; readonly change: VersionChange; readonly operation: WriteOperation } {
  const { version, documentId, live } = record;
  return {
    record: {
      ...record,
      status: 'indexed',
      error: null,
      live: version,
      liveDocumentId: documentId,
      indexedBytes: record.textBytes,
    },
    change: {
      collectionId,
      shard: shardOf(record.path, shards),
      add: { version, documentId },
      remove: live,
    },
    operation: deleteJob(version),
  };
}
