import { assertDefined } from '../core/assert.ts';
import { type BackgroundScheduler, collectInBackground } from '../core/async/background-scheduler.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { EncodedPages } from '../core/line-box-codec.ts';
import { countTexts, isPacked, type Texts } from '../core/packed-texts.ts';
import type { VersionChange, VersionPublisher } from '../index/version-publisher.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Counts } from '../storage/counts.ts';
import type { DocumentError, DocumentRecord, Documents } from '../storage/documents.ts';
import { deleteJob, type Job, putJob } from '../storage/jobs.ts';
import type { ParsedHead } from '../storage/parsed-pages.ts';
import { type FreeSpaceCheck, operationsBytes, type Store, type WriteOperation } from '../storage/store.ts';
import type { Versions } from '../storage/versions.ts';
import {
  type ChunkedContent,
  type ChunkedDocument,
  ContentOperations,
  toIndexed,
} from './content-operations.ts';
import { appendDocumentChange } from './document-change.ts';
import type { DocumentEvent } from './document-event.ts';
import { findReplaced, releaseLiveId } from './document-write-operations.ts';
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
  readonly feeds: Pick<ChangeFeeds, 'append'>;
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'slice'>;
}

export interface ParsedText {
  readonly head: ParsedHead;
  readonly pages: Texts;
  /** Boxes of the lines of the pages; absent if no page has them. */
  readonly lineBoxes?: EncodedPages;
  /** Whether page images can be rendered from the file. */
  readonly hasImages: boolean;
  readonly timeTakenMs: number;
}

/** Bytes per write while large content is stored in pieces. */
const writeBytesTarget = 4_000_000;

/**
 * State transitions of a version. Each method is one durable step that leaves the document in a state from
 * which the next attempt can continue. All throw `AbandonedError` when the version is no longer the current
 * one of its path.
 */
export class DocumentTransitions {
  readonly #options: DocumentTransitionsOptions;
  /** Shared by all components that store chunks, because it knows the languages that are being stored. */
  readonly content: ContentOperations;

  constructor(options: DocumentTransitionsOptions) {
    this.#options = options;
    this.content = new ContentOperations(options);
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
  async storeParsed(job: Job, { head, pages, lineBoxes, hasImages, timeTakenMs }: ParsedText): Promise<Job> {
    const { contents, versions } = this.#options;
    const rest = await this.#writeInPieces(job, this.#pageEntries(job, pages, lineBoxes));
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
    const rest = await this.#writeInPieces(job, this.content.put(job, content));
    const next: Job = { ...job, step: 'index', attempts: 0, notBefore: 0 };
    const deleted = await collectInBackground(
      this.#options.backgroundScheduler,
      this.content.deleteParsed(job, content),
    );
    await this.#advance(job, (record) => ({
      record,
      operations: [
        ...rest,
        ...deleted,
        ...this.content.note(this.#requireCollection(job), [{ record, content }]),
        putJob(next),
      ],
    }));
    return next;
  }

  /**
   * Stores the chunked content of small documents of one collection in addition to their parsed pages, in one
   * write. This does not complete a step: `publishIndexed` with the same content does, and if it is never
   * reached, the next attempt overwrites this content.
   */
  async storePrepared(documents: readonly Pick<ChunkedDocument, 'job' | 'content'>[]): Promise<void> {
    const { store, backgroundScheduler } = this.#options;
    const yieldToEventLoop = backgroundScheduler.slice();
    const operations = this.#expectations(documents.map(({ job }) => job));
    for (const { job, content } of documents) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      for (const entry of this.content.put(job, content)) operations.push(...entry);
    }
    await store.write(operations, { mayUseReserve: true, mayExceedQueue: true });
  }

  /**
   * Publishes the staged versions of documents of one collection in one write, retires the previous ones and
   * deletes the jobs. `content`: the content stored by `storePrepared`, which now replaces the parsed pages;
   * null when the chunk step did that. Returns the published versions: those that are still current.
   */
  publishIndexed(
    documents: readonly { readonly job: Job; readonly content: ChunkedContent | null }[],
  ): Promise<ReadonlySet<number>> {
    const { locks, documents: records, versions, counts, versionPublisher, feeds, clock } = this.#options;
    const { job: first } = assertDefined(documents[0], 'at least one document is published');
    const { collectionId } = first;
    const paths = documents.map(({ job }) => job.path);
    const keys = paths.map((path) => pathKey(collectionId, path));
    return locks.runAll(keys, async () => {
      const collection = this.#requireCollection(first);
      const found = records.getMany(collectionId, paths);
      const current = documents.flatMap(({ job, content }, i) => {
        const record = found[i];
        return record?.version === job.version ? { job, content, record } : [];
      });
      const changes: VersionChange[] = [];
      const operations = this.#expectations(current.map(({ job }) => job));
      for (const { job, content, record } of current) {
        const indexed = toIndexed(record, collection);
        changes.push({ ...indexed.change, retired: findReplaced(record, versions) });
        operations.push(
          ...records.update(indexed.record, record),
          counts.change(collectionId, {
            from: record.status,
            to: indexed.record.status,
            bytes: indexed.record.indexedBytes - record.indexedBytes,
          }),
          indexed.operation,
          ...(content === null ? [] : this.content.deleteParsed(job, content)),
          ...releaseLiveId(record, records),
          appendDocumentChange(feeds, 'document.indexed', {
            collection,
            record: indexed.record,
            at: clock.now(),
          }),
        );
      }
      operations.push(
        ...this.content.note(
          collection,
          current.flatMap(({ record, content }) => (content === null ? [] : { record, content })),
        ),
      );
      if (changes.length > 0)
        await versionPublisher.publishAll(collectionId, changes, operations, {
          mayUseReserve: true,
          mayExceedQueue: true,
        });
      return new Set(current.map(({ job }) => job.version));
    });
  }

  /**
   * Marks a version that cannot be parsed or indexed as failed, removes the live version from search and
   * deletes the job.
   */
  markFailed(job: Job, status: 'parsing_failed' | 'indexing_failed', error: DocumentError): Promise<void> {
    const { versions, documents, feeds, clock } = this.#options;
    return this.#advance(job, (previous) => {
      const { live } = previous;
      const shard = live === null ? 0 : (versions.get(job.collectionId, live)?.shard ?? 0);
      const numPages = status === 'parsing_failed' ? null : previous.numPages;
      const removed = { live: null, liveDocumentId: null, indexedBytes: 0 };
      const record = { ...previous, ...removed, status, error, numPages };
      const collection = this.#requireCollection(job);
      return {
        record,
        change: {
          collectionId: job.collectionId,
          shard,
          add: null,
          remove: live,
          retired: findReplaced(previous, versions),
        },
        operations: [
          deleteJob(job.version),
          ...releaseLiveId(previous, documents),
          appendDocumentChange(feeds, 'document.failed', { collection, record, at: clock.now() }),
        ],
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

  *#pageEntries(
    { documentId }: Job,
    pages: Texts,
    boxes: EncodedPages | undefined,
  ): Generator<WriteOperation[]> {
    const { parsed, lineBoxes } = this.#options.contents;
    for (const put of parsed.putPages(documentId, pages)) yield [put];
    if (boxes === undefined) return;
    for (const put of lineBoxes.put(documentId, boxes)) yield [put];
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
          ...this.#expectations([job]),
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

  /** Returns the conditions of every write of jobs of one collection: it exists, and the versions are current. */
  #expectations(jobs: readonly Job[]): WriteOperation[] {
    const { documents, collections } = this.#options;
    return [
      ...jobs.slice(0, 1).map(({ collectionId }) => collections.expectExists(collectionId)),
      ...jobs.map(({ collectionId, path, version }) => documents.expectVersion(collectionId, path, version)),
    ];
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
        await store.write([...this.#expectations([job]), ...piece], { mayExceedQueue: true });
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
