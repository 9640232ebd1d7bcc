import { AppError } from '../core/app-error.ts';
import {
  type BackgroundScheduler,
  collectInBackground,
  startInBackground,
} from '../core/async/background-scheduler.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { createUuidV7, type Random } from '../core/ids.ts';
import { countOfTexts, type Texts } from '../core/packed-texts.ts';
import { shardOf } from '../index/shard-of.ts';
import type { VersionPublisher } from '../index/version-publisher.ts';
import { putBlobReference } from '../storage/blob-references.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Counts } from '../storage/counts.ts';
import type { ContentKind, DocumentRecord, Documents } from '../storage/documents.ts';
import { putGarbage } from '../storage/garbage.ts';
import { deleteJob, type Job, putJob } from '../storage/jobs.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import type { Sequence } from '../storage/sequence.ts';
import { ExpectationFailedError, type WriteOperation } from '../storage/store.ts';
import type { Versions } from '../storage/versions.ts';
import type { DocumentEvent } from './document-event.ts';

/** A validated document from a request. */
export interface NewDocument {
  readonly path: string;
  readonly metadata: Metadata;
  readonly overwrite: boolean;
  readonly contentKind: ContentKind;
  readonly contentType: string;
  /**
   * SHA-256 of the raw bytes, lower-case hex. For `auto` the blob of that name is durable and protected from
   * deletion.
   */
  readonly rawHash: string;
  /** Raw bytes. */
  readonly size: number;
  /** Pages of the text variants, as text or as UTF-8; null for `auto`. */
  readonly pages: Texts | null;
  /** One vector of unit length per page, in collections with vectors supplied by the caller. */
  readonly vectors?: readonly Float32Array[];
  /** Approximate bytes of the chunk vectors derived from them. */
  readonly vectorBytes?: number;
}

export interface DocumentWriterOptions {
  readonly documents: Documents;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly counts: Counts;
  readonly sequence: Sequence;
  readonly versionPublisher: VersionPublisher;
  /** All changes of one path run under the lock `pathKey`. */
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns operations that count an event, to be included in the write that causes it. */
  readonly count: (event: DocumentEvent) => WriteOperation[];
  /** Called with a job that is durable. */
  readonly onJob: (job: Job) => void;
  /** Called with a record whose version is no longer needed; work on it may stop. */
  readonly onAbandoned: (record: DocumentRecord) => void;
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'yield' | 'slice'>;
}

/** Whether the caller may see a document; an invisible document is treated as nonexistent. */
export type VisibilityCheck = (record: DocumentRecord) => boolean;

const allVisible: VisibilityCheck = () => true;

export interface DocumentDeleteOptions {
  /** Invisible documents are treated as nonexistent. */
  readonly isVisible?: VisibilityCheck;
  /** Operations included in the write of each deletion. */
  readonly extraOperations?: readonly WriteOperation[];
}

/** Storage that a write adds. */
export interface StorageGrowth {
  readonly documents: number;
  /** Raw bytes of the document minus those of the document that it replaces. */
  readonly bytes: number;
  /** Raw bytes of the document. */
  readonly received: number;
}

/**
 * Reserves the storage that a write needs and releases it when the write ends; null without a limit. Errors:
 * 429.
 */
export type ReserveCapacity = (
  growth: StorageGrowth,
) => Promise<{ readonly end: (isWritten: boolean) => void }> | null;

const withoutLimit: ReserveCapacity = () => null;

export interface AddDocumentResult {
  readonly created: boolean;
  readonly version: number;
  readonly status: DocumentRecord['status'];
}

/** Returns the key of the lock for a path. */
export function pathKey(collectionId: string, path: string): string {
  return `${collectionId} ${path}`;
}

/**
 * User operations on documents: add, overwrite, delete, update metadata, retry. Each is one atomic, durable
 * write; a rejected operation changes nothing.
 */
export class DocumentWriter {
  readonly #options: DocumentWriterOptions;

  constructor(options: DocumentWriterOptions) {
    this.#options = options;
  }

  /**
   * Adds or overwrites a document. Errors: `conflict` if the path exists, unless `overwrite` is set and the
   * existing document is visible.
   */
  add(
    collection: Collection,
    input: NewDocument,
    isVisible: VisibilityCheck = allVisible,
    reserveCapacity: ReserveCapacity = withoutLimit,
  ): Promise<AddDocumentResult> {
    return this.#withPathLock(collection, input.path, async (existing) => {
      if (existing !== undefined)
        checkReplaceable(collection, existing, { overwrite: input.overwrite, isVisible });
      const { size } = input;
      // Reserved under the path lock: the document to be replaced cannot change meanwhile.
      const reservation = await reserveCapacity({
        documents: existing === undefined ? 1 : 0,
        bytes: size - (existing?.size ?? 0),
        received: size,
      });
      let isWritten = false;
      try {
        const added = await this.#write(collection, input, existing);
        isWritten = true;
        return added;
      } finally {
        reservation?.end(isWritten);
      }
    });
  }

  async #write(
    collection: Collection,
    input: NewDocument,
    existing: DocumentRecord | undefined,
  ): Promise<AddDocumentResult> {
    const { clock, versionPublisher, onJob } = this.#options;
    const record = this.#newRecord(collection, input, existing);
    const job = newJob(collection, record, input.contentKind === 'auto' ? 'parse' : 'chunk', clock.now());
    const content = await this.#contentOperations(record, input);
    await versionPublisher.publish(null, [
      ...this.#expectations(collection, input.path, existing),
      ...(existing === undefined ? [] : this.#discardPending(existing)),
      ...content,
      ...this.#put(collection, record, existing),
      this.#versionOf(collection, record, false),
      putJob(job),
      ...this.#count(collection, record, 'added'),
    ]);
    if (existing !== undefined) this.#options.onAbandoned(existing);
    onJob(job);
    return { created: existing === undefined, version: record.version, status: record.status };
  }

  /**
   * Deletes the documents of `paths` that exist and returns their paths; each deletion is atomic by itself.
   * Rejects with the first error after all deletions have ended: search then still finds the documents that
   * were not deleted.
   */
  async remove(
    collection: Collection,
    paths: readonly string[],
    options: DocumentDeleteOptions = {},
  ): Promise<string[]> {
    const uniquePaths = [...new Set(paths)];
    const removing = await startInBackground(this.#options.backgroundScheduler, uniquePaths, (path) =>
      this.#remove(collection, path, options),
    );
    const outcomes = await Promise.allSettled(removing);
    const removed: string[] = [];
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason;
      if (outcome.value) removed.push(uniquePaths[i]!);
    }
    return removed;
  }

  /**
   * Replaces the metadata of an indexed document; search uses the old metadata until the new version is
   * indexed.
   */
  updateMetadata(
    collection: Collection,
    path: string,
    metadata: Metadata,
    isVisible: VisibilityCheck = allVisible,
  ): Promise<void> {
    return this.#change(collection, path, (existing) => {
      if (!isVisible(existing)) throw pathNotFound(collection, path);
      if (existing.status !== 'indexed') {
        throw preconditionFailed(existing, 'its metadata can be replaced when it is "indexed"');
      }
      const version = this.#options.sequence.next();
      return {
        record: { ...existing, version, metadata, status: 'not_indexed', error: null },
        step: 'index',
      };
    });
  }

  /** Retries a failed document from the failed step. */
  retry(
    collection: Collection,
    path: string,
    status: 'not_parsed' | 'not_indexed',
    isVisible: VisibilityCheck = allVisible,
  ): Promise<void> {
    const [failed, step] =
      status === 'not_parsed'
        ? (['parsing_failed', 'parse'] as const)
        : (['indexing_failed', 'chunk'] as const);
    return this.#change(collection, path, (existing) => {
      if (!isVisible(existing)) throw pathNotFound(collection, path);
      if (existing.status !== failed) {
        throw preconditionFailed(existing, `index_status can be set to "${status}" when it is "${failed}"`);
      }
      return { record: { ...existing, status, error: null, attempts: 0 }, step };
    });
  }

  #change(
    collection: Collection,
    path: string,
    decide: (existing: DocumentRecord) => { record: DocumentRecord; step: Job['step'] },
  ): Promise<void> {
    return this.#withPathLock(collection, path, async (existing) => {
      if (existing === undefined) throw pathNotFound(collection, path);
      const { record, step } = decide(existing);
      const { clock, versions } = this.#options;
      const job = newJob(collection, record, step, clock.now());
      const hasImages = versions.get(collection.collectionId, existing.version)?.hasImages ?? false;
      await this.#options.versionPublisher.publish(null, [
        ...this.#expectations(collection, path, existing),
        ...this.#put(collection, record, existing),
        this.#versionOf(collection, record, hasImages),
        putJob(job),
      ]);
      this.#options.onJob(job);
    });
  }

  #remove(
    collection: Collection,
    path: string,
    { isVisible = allVisible, extraOperations = [] }: DocumentDeleteOptions,
  ): Promise<boolean> {
    return this.#withPathLock(collection, path, async (existing) => {
      if (existing === undefined || !isVisible(existing)) return false;
      const { documents, counts, versionPublisher } = this.#options;
      const { collectionId, live } = existing;
      await versionPublisher.publish(
        { collectionId, shard: shardOf(path, collection.shards), add: null, remove: live },
        [
          ...this.#expectations(collection, path, existing),
          ...this.#discardPending(existing),
          ...(live === null ? [] : this.#discardLive(existing)),
          ...documents.delete(existing),
          counts.change(collectionId, {
            from: existing.status,
            to: null,
            bytes: -existing.indexedBytes,
            stored: -existing.size,
          }),
          ...this.#count(collection, existing, 'deleted'),
          ...extraOperations,
        ],
        { mayUseReserve: true },
      );
      this.#options.onAbandoned(existing);
      return true;
    });
  }

  /**
   * Runs `work` with the record of a path under the path lock. Errors: 404 if the collection was deleted
   * meanwhile.
   */
  #withPathLock<T>(
    collection: Collection,
    path: string,
    work: (existing: DocumentRecord | undefined) => Promise<T>,
  ): Promise<T> {
    const { locks, documents } = this.#options;
    return locks.run(pathKey(collection.collectionId, path), async () => {
      try {
        return await work(documents.get(collection.collectionId, path));
      } catch (error) {
        // Under the lock only the collection itself can have changed: it was deleted.
        if (!(error instanceof ExpectationFailedError)) throw error;
        throw new AppError('not_found', `The collection ${JSON.stringify(collection.name)} was deleted.`);
      }
    });
  }

  #expectations(
    collection: Collection,
    path: string,
    existing: DocumentRecord | undefined,
  ): WriteOperation[] {
    const { documents, collections } = this.#options;
    const { collectionId } = collection;
    return [
      collections.expectExists(collectionId),
      existing === undefined
        ? documents.expectAbsent(collectionId, path)
        : documents.expectVersion(collectionId, path, existing.version),
    ];
  }

  #newRecord(
    collection: Collection,
    input: NewDocument,
    existing: DocumentRecord | undefined,
  ): DocumentRecord {
    const { sequence, random, clock } = this.#options;
    const now = clock.now();
    return {
      collectionId: collection.collectionId,
      path: input.path,
      // Time-ordered ids keep recent content adjacent in the store, so that compaction never has to merge it
      // into old data.
      documentId: createUuidV7(now, random.uuid()),
      version: sequence.next(),
      live: existing?.live ?? null,
      liveDocumentId: existing?.liveDocumentId ?? null,
      status: input.contentKind === 'auto' ? 'not_parsed' : 'not_indexed',
      error: null,
      createdAt: now,
      size: input.size,
      numPages: input.pages === null ? null : countOfTexts(input.pages),
      contentKind: input.contentKind,
      contentType: input.contentType,
      rawHash: input.rawHash,
      metadata: input.metadata,
      attempts: 0,
      textBytes: input.pages === null ? 0 : input.size,
      ...(input.vectorBytes === undefined ? {} : { vectorBytes: input.vectorBytes }),
      indexedBytes: existing?.indexedBytes ?? 0,
    };
  }

  /**
   * Returns the operations that store the content. Text variants are stored as parsed pages; for a file, a
   * blob reference keeps the blob.
   */
  async #contentOperations(record: DocumentRecord, input: NewDocument): Promise<WriteOperation[]> {
    const { contents, backgroundScheduler } = this.#options;
    const { documentId } = record;
    if (input.pages === null) return [putBlobReference(input.rawHash, documentId)];
    const pages = await collectInBackground(
      backgroundScheduler,
      contents.parsed.putPages(documentId, input.pages),
    );
    return [
      ...pages,
      ...(input.vectors ?? []).map((vector, i) => contents.parsed.putSuppliedVector(documentId, i, vector)),
      contents.parsed.putHead(documentId, {
        kind: input.contentKind,
        contentType: input.contentType,
        pageCount: pages.length,
        unordered: input.contentKind === 'text-pages-unordered',
        headings: true,
        title: null,
        language: null,
        warnings: [],
      }),
    ];
  }

  #put(
    collection: Collection,
    record: DocumentRecord,
    existing: DocumentRecord | undefined,
  ): WriteOperation[] {
    const { documents, counts } = this.#options;
    return [
      ...documents.put(record, existing ?? null),
      counts.change(collection.collectionId, {
        from: existing?.status ?? null,
        to: record.status,
        bytes: record.indexedBytes - (existing?.indexedBytes ?? 0),
        stored: record.size - (existing?.size ?? 0),
      }),
    ];
  }

  #versionOf(collection: Collection, record: DocumentRecord, hasImages: boolean): WriteOperation {
    const { collectionId, version, documentId, path, metadata, contentType, rawHash } = record;
    return this.#options.versions.put({
      collectionId,
      version,
      documentId,
      path,
      metadata,
      shard: shardOf(path, collection.shards),
      contentType,
      rawHash,
      hasImages,
    });
  }

  /** Discards the current version of a record unless it is live. */
  #discardPending(record: DocumentRecord): WriteOperation[] {
    const { documents, clock } = this.#options;
    const { collectionId, version, live, documentId, liveDocumentId, rawHash } = record;
    if (version === live) return [];
    const isShared = documentId === liveDocumentId;
    return [
      deleteJob(version),
      ...(isShared ? [] : [documents.deleteId(documentId)]),
      putGarbage({ collectionId, version, content: isShared ? null : { documentId, rawHash } }, clock.now()),
    ];
  }

  /** Discards the live version; running queries may still read it for a while. */
  #discardLive(record: DocumentRecord): WriteOperation[] {
    const { clock, versions } = this.#options;
    const live = versions.get(record.collectionId, record.live!);
    if (live === undefined) return [];
    const { collectionId, version, documentId, rawHash } = live;
    return [putGarbage({ collectionId, version, content: { documentId, rawHash } }, clock.now())];
  }

  #count(collection: Collection, record: DocumentRecord, event: 'added' | 'deleted'): WriteOperation[] {
    return this.#options.count({
      organizationId: collection.organizationId,
      collectionId: collection.collectionId,
      event,
      fileBytes: record.size,
      pages: record.numPages ?? 0,
    });
  }
}

function newJob(collection: Collection, record: DocumentRecord, step: Job['step'], now: number): Job {
  return {
    version: record.version,
    organizationId: collection.organizationId,
    collectionId: collection.collectionId,
    path: record.path,
    documentId: record.documentId,
    step,
    attempts: 0,
    notBefore: 0,
    createdAt: now,
  };
}

/**
 * Checks that a document may replace `existing`. Errors: `conflict` without `overwrite`, or if `existing` is
 * not visible.
 */
export function checkReplaceable(
  collection: Collection,
  existing: DocumentRecord,
  { overwrite, isVisible }: { readonly overwrite: boolean; readonly isVisible: VisibilityCheck },
): void {
  if (!isVisible(existing)) {
    throw new AppError(
      'conflict',
      `The path ${JSON.stringify(existing.path)} is used by a document that this API key cannot access. Choose another path.`,
    );
  }
  if (!overwrite) throw pathConflict(collection, existing.path);
}

function pathConflict(collection: Collection, path: string): AppError {
  return new AppError(
    'conflict',
    `The collection ${JSON.stringify(collection.name)} already has a document ${JSON.stringify(path)}. Set overwrite to true to replace it.`,
  );
}

export function pathNotFound(collection: Collection, path: string): AppError {
  return new AppError(
    'not_found',
    `The collection ${JSON.stringify(collection.name)} has no document ${JSON.stringify(path)}.`,
  );
}

function preconditionFailed(existing: DocumentRecord, rule: string): AppError {
  return new AppError('precondition_failed', `The document is "${existing.status}"; ${rule}.`);
}
