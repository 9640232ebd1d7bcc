import { type BackgroundScheduler, collectInBackground } from '../core/async/background-scheduler.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { countTexts, isPacked, type Texts } from '../core/packed-texts.ts';
import { shardOf } from '../index/shard-of.ts';
import type { VersionPublisher } from '../index/version-publisher.ts';
import type { Layout, NewChunk } from '../storage/chunks.ts';
import { type Collection, type Collections, ownVectors } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Counts } from '../storage/counts.ts';
import type { DocumentError, DocumentRecord, Documents } from '../storage/documents.ts';
import { putGarbage } from '../storage/garbage.ts';
import type { IndexBlock } from '../storage/index-blocks.ts';
import { deleteJob, type Job, putJob } from '../storage/jobs.ts';
import type { ParsedHead } from '../storage/parsed-pages.ts';
import { type FreeSpaceCheck, operationsBytes, type Store, type WriteOperation } from '../storage/store.ts';
import type { Versions } from '../storage/versions.ts';
import type { DocumentEvent } from './document-event.ts';
import { pathKey } from './document-writer.ts';

/**
 * The version is no longer needed: its document was deleted, overwritten or updated, or its collection was
 * deleted.
 */
export class AbandonedError extends Error {
  override readonly name = 'AbandonedError';
  constructor() {
    super('processing of this version was abandoned');
  }
}

export interface DocumentTransitionsOptions {
  readonly store: Store;
  readonly documents: Documents;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly counts: Counts;
  readonly versionPublisher: VersionPublisher;
  /** Rejects writes while the disk is nearly full. */
  readonly space: FreeSpaceCheck;
  /** The locks of the document writer. */
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly count: (event: DocumentEvent) => WriteOperation[];
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'slice'>;
}

export interface ParsedText {
  readonly head: ParsedHead;
  readonly pages: Texts;
  /** Whether page images can be rendered from the file. */
  readonly hasImages: boolean;
  readonly timeTakenMs: number;
}

export interface ChunkedContent {
  readonly chunks: readonly NewChunk[];
  /** 8-bit vectors of the fine chunks, per coarse chunk; undefined for a chunk without vectors. */
  readonly codes: readonly (Uint8Array | undefined)[];
  /** Terms of the fine chunks, per coarse chunk; undefined for a blank chunk. */
  readonly fineTerms: readonly (Uint8Array | undefined)[];
  readonly layout: Layout;
  readonly block: IndexBlock;
  readonly languages: readonly string[];
  readonly tokens: { readonly content: number; readonly embedding: number };
  readonly timeTakenMs: number;
}

/** Numbers per fine chunk in `NewChunk.spans`. */
const numbersPerSpan = 4;

/** Bytes per write while large content is stored in pieces. */
const writeBytesTarget = 4_000_000;

/**
 * State transitions of a version. Each method is one durable step that leaves the document in a state from
 * which the next attempt can continue. All throw `AbandonedError` when the version is no longer the current
 * one of its path.
 */
export class DocumentTransitions {
  readonly #options: DocumentTransitionsOptions;
  /** Languages per collection while some of them are not stored yet. */
  readonly #languages = new Map<string, Set<string>>();

  constructor(options: DocumentTransitionsOptions) {
    this.#options = options;
  }

  /** Returns the record of the document of a job. */
  getCurrent(job: Job): DocumentRecord {
    this.#requireCollection(job);
    const record = this.#options.documents.get(job.collectionId, job.path);
    if (record?.version !== job.version) throw new AbandonedError();
    return record;
  }

  /** Throws `AbandonedError` when the collection was deleted; its documents are swept later. */
  #requireCollection({ collectionId }: Job): Collection {
    const collection = this.#options.collections.findById(collectionId);
    if (collection === undefined) throw new AbandonedError();
    return collection;
  }

  /**
   * Throws `AppError` while the result of a step could not be stored, so that the work is not repeated
   * without effect.
   */
  checkCapacity(): void {
    this.#options.space.check();
  }

  /** Sets the status that shows that the step has begun. */
  async markStarted(job: Job, status: 'parsing' | 'indexing'): Promise<void> {
    if (this.getCurrent(job).status === status) return;
    await this.#advance(job, (record) => ({ record: { ...record, status }, operations: [] }));
  }

  /** Stores the pages of a parsed file. Returns the next job. */
  async storeParsed(job: Job, { head, pages, hasImages, timeTakenMs }: ParsedText): Promise<Job> {
    const { contents, versions } = this.#options;
    const rest = await this.#writeInPieces(job, this.#pageEntries(job, pages));
    const [pageCount, textBytes] = [countTexts(pages), countTextBytes(pages)];
    const next: Job = { ...job, step: 'chunk', attempts: 0, notBefore: 0 };
    await this.#advance(job, (record) => {
      const version = versions.get(job.collectionId, job.version);
      const { contentType } = head;
      return {
        record: {
          ...record,
          status: 'not_indexed',
          numPages: pageCount,
          textBytes,
          contentType,
        },
        operations: [
          ...rest,
          contents.parsed.putHead(job.documentId, head),
          ...(version === undefined ? [] : [versions.put({ ...version, contentType, hasImages })]),
          putJob(next),
          ...this.#count(job, record, { event: 'parsed', pages: pageCount, timeTakenMs }),
        ],
      };
    });
    return next;
  }

  /** Stores the chunks and their vectors and deletes the parsed pages. Returns the next job. */
  async storeChunked(job: Job, content: ChunkedContent): Promise<Job> {
    const rest = await this.#writeInPieces(job, this.#contentEntries(job, content));
    const next: Job = { ...job, step: 'index', attempts: 0, notBefore: 0 };
    const deleted = await collectInBackground(
      this.#options.backgroundScheduler,
      this.#deleteParsed(job, content),
    );
    await this.#advance(job, (record) => ({
      record,
      operations: [...rest, ...deleted, ...this.#noteContent(job, record, content), putJob(next)],
    }));
    return next;
  }

  /**
   * Stores the chunked content of a small document in addition to its parsed pages, in one write. This does
   * not complete a step: `publishIndexed` with the same content does, and if it is never reached, the next
   * attempt overwrites this content.
   */
  async storePrepared(job: Job, content: ChunkedContent): Promise<void> {
    const operations = [...this.#expectations(job), ...[...this.#contentEntries(job, content)].flat()];
    await this.#options.store.write(operations, { mayUseReserve: true, mayExceedQueue: true });
  }

  /**
   * Publishes the staged version, retires the previous one and deletes the job. `content`: the content stored
   * by `storePrepared`, which now replaces the parsed pages; null when the chunk step did that.
   */
  publishIndexed(job: Job, content: ChunkedContent | null): Promise<void> {
    return this.#advance(job, (record) => {
      const { version, documentId, live } = record;
      const shard = shardOf(job.path, this.#requireCollection(job).shards);
      return {
        record: {
          ...record,
          status: 'indexed',
          error: null,
          live: version,
          liveDocumentId: documentId,
          indexedBytes: record.textBytes,
        },
        change: { collectionId: job.collectionId, shard, add: { version, documentId }, remove: live },
        operations: [
          deleteJob(version),
          ...(content === null
            ? []
            : [...this.#deleteParsed(job, content), ...this.#noteContent(job, record, content)]),
          ...this.#retireLive(record),
        ],
      };
    });
  }

  /**
   * Marks a version that cannot be parsed or indexed as failed, removes the live version from search and
   * deletes the job.
   */
  markFailed(job: Job, status: 'parsing_failed' | 'indexing_failed', error: DocumentError): Promise<void> {
    const { versions } = this.#options;
    return this.#advance(job, (record) => {
      const { live } = record;
      const shard = live === null ? 0 : (versions.get(job.collectionId, live)?.shard ?? 0);
      const numPages = status === 'parsing_failed' ? null : record.numPages;
      return {
        record: { ...record, status, error, live: null, liveDocumentId: null, indexedBytes: 0, numPages },
        change: { collectionId: job.collectionId, shard, add: null, remove: live },
        operations: [deleteJob(job.version), ...this.#retireLive(record)],
      };
    });
  }

  /** Records a failed attempt that will be retried. */
  async markPostponed(job: Job): Promise<void> {
    await this.#advance(job, (record) => ({
      record: { ...record, attempts: job.attempts },
      operations: [putJob(job)],
    }));
  }

  /**
   * Yields the operations for the chunks of a document and their related data; each entry must be in one
   * write. The last entry marks the content as complete.
   */
  *#contentEntries(
    { documentId }: Job,
    { chunks, codes, fineTerms, layout, block }: ChunkedContent,
  ): Generator<WriteOperation[]> {
    const { contents } = this.#options;
    for (const [i, chunk] of chunks.entries()) {
      const codesOfChunk = codes[i];
      const termsOfChunk = fineTerms[i];
      const entries = [contents.chunks.put(documentId, i, chunk)];
      if (codesOfChunk !== undefined)
        entries.push(contents.blocks.putCodes(documentId, i, codesOfChunk, block.generation));
      if (termsOfChunk !== undefined) entries.push(contents.blocks.putFineTerms(documentId, i, termsOfChunk));
      yield entries;
    }
    for (const put of contents.blocks.putPieces(documentId, block)) yield [put];
    yield [contents.chunks.putLayout(documentId, layout), contents.blocks.putHead(documentId, block)];
  }

  *#pageEntries({ documentId }: Job, pages: Texts): Generator<WriteOperation[]> {
    for (const put of this.#options.contents.parsed.putPages(documentId, pages)) yield [put];
  }

  /** Deletes the parsed pages, since the chunks contain the text from now on. */
  #deleteParsed({ documentId }: Job, { layout, block }: ChunkedContent): Iterable<WriteOperation> {
    const vectors = block.model === ownVectors;
    return this.#options.contents.parsed.delete(documentId, layout.pageStarts.length, { vectors });
  }

  /** Updates the languages of the collection and the usage for the chunks. */
  #noteContent(job: Job, record: DocumentRecord, content: ChunkedContent): WriteOperation[] {
    const { chunks, tokens, timeTakenMs, languages } = content;
    return [
      ...this.#addLanguages(job, languages),
      ...this.#count(job, record, {
        event: 'indexed',
        contentTokens: tokens.content,
        embeddingTokens: tokens.embedding,
        coarseChunks: chunks.length,
        fineChunks: chunks.reduce((sum, chunk) => sum + chunk.spans.length / numbersPerSpan, 0),
        timeTakenMs,
      }),
    ];
  }

  /** Adds languages that queries of the collection must consider. */
  #addLanguages(job: Job, languages: readonly string[]): WriteOperation[] {
    const { collections } = this.#options;
    const { collectionId } = job;
    const collection = this.#requireCollection(job);
    // Writes of other documents may be in flight: this write must not lose the languages they add. These
    // writes may fail, too: only stored languages count as known.
    const stored = new Set(collection.languages);
    const union = new Set([...stored, ...(this.#languages.get(collectionId) ?? []), ...languages]);
    if (union.size === stored.size) this.#languages.delete(collectionId);
    else this.#languages.set(collectionId, union);
    if (languages.every((language) => stored.has(language))) return [];
    return collections.update({ ...collection, languages: [...union] });
  }

  /** Retires the live version; running queries may still read it for a while. */
  #retireLive(record: DocumentRecord): WriteOperation[] {
    const { versions, documents, clock } = this.#options;
    const { collectionId, live, liveDocumentId, documentId } = record;
    if (live === null || live === record.version) return [];
    const old = versions.get(collectionId, live);
    const isReplaced = liveDocumentId !== null && liveDocumentId !== documentId;
    return [
      ...(isReplaced ? [documents.deleteId(liveDocumentId)] : []),
      putGarbage(
        {
          collectionId,
          version: live,
          content:
            isReplaced && old !== undefined ? { documentId: liveDocumentId, rawHash: old.rawHash } : null,
        },
        clock.now(),
      ),
    ];
  }

  /**
   * Changes the record of the document of a job in one step. Errors: `AbandonedError` when the version is no
   * longer current.
   */
  #advance(
    job: Job,
    decide: (record: DocumentRecord) => {
      record: DocumentRecord;
      operations: WriteOperation[];
      change?: Parameters<VersionPublisher['publish']>[0];
    },
  ): Promise<void> {
    const { locks, documents, counts, versionPublisher } = this.#options;
    return locks.run(pathKey(job.collectionId, job.path), async () => {
      const before = this.getCurrent(job);
      const { record, operations, change = null } = decide(before);
      await versionPublisher.publish(
        change,
        [
          ...this.#expectations(job),
          ...documents.update(record, before),
          counts.change(job.collectionId, {
            from: before.status,
            to: record.status,
            bytes: record.indexedBytes - before.indexedBytes,
          }),
          ...operations,
        ],
        { mayUseReserve: true, mayExceedQueue: true },
      );
    });
  }

  /** Returns the conditions of every write of a job: the version is current and the collection exists. */
  #expectations({ collectionId, path, version }: Job): WriteOperation[] {
    const { documents, collections } = this.#options;
    return [collections.expectExists(collectionId), documents.expectVersion(collectionId, path, version)];
  }

  /**
   * Writes large content in bounded pieces, each with the conditions of the job. Returns the remaining
   * operations, to be included in the write that completes the step: all of them for a small document.
   */
  async #writeInPieces(job: Job, entries: Iterable<readonly WriteOperation[]>): Promise<WriteOperation[]> {
    const { store, backgroundScheduler } = this.#options;
    const yieldToEventLoop = backgroundScheduler.slice();
    let piece: WriteOperation[] = [];
    let bytes = 0;
    for (const entry of entries) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      const entryBytes = operationsBytes(entry);
      if (piece.length > 0 && bytes + entryBytes > writeBytesTarget) {
        await store.write([...this.#expectations(job), ...piece], { mayExceedQueue: true });
        piece = [];
        bytes = 0;
      }
      piece.push(...entry);
      bytes += entryBytes;
    }
    return piece;
  }

  #count(
    job: Job,
    record: DocumentRecord,
    event: Omit<DocumentEvent, 'organizationId' | 'collectionId' | 'fileBytes' | 'pages'> & {
      pages?: number;
    },
  ): WriteOperation[] {
    return this.#options.count({
      organizationId: job.organizationId,
      collectionId: job.collectionId,
      fileBytes: record.size,
      pages: record.numPages ?? 0,
      ...event,
    });
  }
}

/** Returns the UTF-8 bytes of the document text: the pages with two line feeds between them. */
function countTextBytes(pages: Texts): number {
  const separators = 2 * Math.max(0, countTexts(pages) - 1);
  if (isPacked(pages)) return pages.block.byteLength + separators;
  return pages.reduce((sum, page) => sum + Buffer.byteLength(page), separators);
}
