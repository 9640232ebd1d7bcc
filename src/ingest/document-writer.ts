import { AppError } from '../core/app-error.ts';
import { startInBackground } from '../core/async/background-scheduler.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import { shardOf } from '../index/shard-of.ts';
import type { VersionPublisher } from '../index/version-publisher.ts';
import type { ChangeType } from '../schemas/changes.ts';
import type { Collection } from '../storage/collections.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { isExpired } from '../storage/expirations.ts';
import { type Job, putJob } from '../storage/jobs.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import { ExpectationFailedError, type WriteOperation } from '../storage/store.ts';
import type { VersionHistory } from '../storage/version-history.ts';
import type { DirectIndexer } from './direct-indexer.ts';
import { appendDocumentChange } from './document-change.ts';
import {
  createJob,
  DocumentWriteOperations,
  type DocumentWriteOperationsOptions,
  findDeleted,
  type NewDocument,
} from './document-write-operations.ts';

export interface DocumentWriterOptions extends DocumentWriteOperationsOptions {
  readonly versionPublisher: VersionPublisher;
  readonly history: Pick<VersionHistory, 'erase'>;
  /** All changes of one path run under the lock `pathKey`. */
  readonly locks: KeyedMutex;
  /** Indexes small texts without the queue; absent: all documents are queued. */
  readonly direct?: Pick<DirectIndexer, 'add'>;
  /** Called with a job that is durable. */
  readonly onJob: (job: Job) => void;
  /** Called with a record whose version is no longer needed; work on it may stop. */
  readonly onAbandoned: (record: DocumentRecord) => void;
}

/** Whether the caller may see a document; an invisible document is treated as nonexistent. */
export type VisibilityCheck = (record: DocumentRecord) => boolean;

const allVisible: VisibilityCheck = () => true;

export interface DocumentDeleteOptions {
  /** Invisible documents are treated as nonexistent. */
  readonly isVisible?: VisibilityCheck;
  /** Operations included in the write of each deletion. */
  readonly extraOperations?: readonly WriteOperation[];
  /** Whether kept versions are deleted, too, those of a deleted document included; absent: no. */
  readonly erasesHistory?: boolean;
}

/** Storage that a write adds. */
export interface StorageGrowth {
  readonly documents: number;
  /** Raw bytes of the document minus those of the document that it replaces, unless its version is kept. */
  readonly bytes: number;
  /** Raw bytes of the document, and those of a text supplied with a file. */
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

/** Fields to change; absent fields keep their values. */
export interface MetadataChanges {
  readonly metadata?: Metadata;
  /** Null: never. */
  readonly expiresAt?: number | null;
}

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
  readonly #operations: DocumentWriteOperations;

  constructor(options: DocumentWriterOptions) {
    this.#options = options;
    this.#operations = new DocumentWriteOperations(options);
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
      const isHidden = existing !== undefined && isExpired(existing, this.#options.clock.now());
      if (existing !== undefined && !isHidden)
        checkReplaceable(collection, existing, { overwrite: input.overwrite, isVisible });
      if (input.parsed?.isCurrentFile === true && !hasFile(existing, input.rawHash))
        throw fileChangedError(input.path);
      const { size } = input;
      // Reserved under the path lock: the document to be replaced cannot change meanwhile.
      const reservation = await reserveCapacity({
        documents: existing === undefined ? 1 : 0,
        bytes: size - (collection.historyDays === undefined ? (existing?.size ?? 0) : 0),
        received: size + (input.parsed?.textBytes ?? 0),
      });
      let isWritten = false;
      try {
        const added = await this.#store(collection, input, existing);
        isWritten = true;
        return isHidden ? { ...added, created: true } : added;
      } finally {
        reservation?.end(isWritten);
      }
    });
  }

  /** Indexes the document, or queues it. */
  async #store(
    collection: Collection,
    input: NewDocument,
    existing: DocumentRecord | undefined,
  ): Promise<AddDocumentResult> {
    const createRecord = () => this.#operations.createRecord(collection, input, existing);
    // Before any wait: the versions of a batch are in the order of its documents, which orders results with equal scores.
    const record = createRecord();
    const outcome = await this.#options.direct?.add({ collection, input, existing, record });
    if (outcome?.indexed === undefined)
      return this.#queue(collection, input, {
        existing,
        record: outcome?.isStored ? createRecord() : record,
      });
    if (existing !== undefined) this.#options.onAbandoned(existing);
    const { version, status } = outcome.indexed;
    return { created: existing === undefined, version, status };
  }

  async #queue(
    collection: Collection,
    input: NewDocument,
    { existing, record }: { readonly existing: DocumentRecord | undefined; readonly record: DocumentRecord },
  ): Promise<AddDocumentResult> {
    const { clock, versionPublisher, onJob } = this.#options;
    const job = createJob(collection, record, input.pages === null ? 'parse' : 'chunk', clock.now());
    const content = await this.#operations.putContent(record, input);
    await versionPublisher.publish(
      null,
      [
        ...this.#operations.expectUnchanged(collection, input.path, existing),
        ...(existing === undefined ? [] : this.#operations.discardPending(existing)),
        ...content,
        ...this.#operations.putRecord(collection, record, existing),
        this.#operations.putVersion(collection, record, input.parsed?.hasImages ?? false),
        putJob(job),
        this.#operations.appendAddition(collection, record, existing),
        ...this.#operations.countEvent(collection, record, 'added'),
        ...(input.extraOperations ?? []),
      ],
      { organizationId: collection.organizationId },
    );
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
   * Replaces the metadata or the expiry time of an indexed document; search uses the old ones until the new version
   * is indexed. A function gets the current record under the lock of the path.
   */
  updateMetadata(
    collection: Collection,
    path: string,
    changes: MetadataChanges | ((existing: DocumentRecord) => MetadataChanges),
    isVisible: VisibilityCheck = allVisible,
  ): Promise<void> {
    return this.#change(collection, path, (existing) => {
      if (!isVisible(existing)) throw pathNotFound(collection, path);
      if (existing.status !== 'indexed') {
        throw preconditionFailed(existing, 'its metadata can be replaced only when it is "indexed"');
      }
      const { expiresAt: knownExpiry, ...known } = existing;
      const { metadata = existing.metadata, expiresAt = knownExpiry ?? null } =
        typeof changes === 'function' ? changes(existing) : changes;
      const version = this.#options.sequence.next();
      const expiry = expiresAt === null ? {} : { expiresAt };
      return {
        record: { ...known, ...expiry, version, metadata, status: 'not_indexed', error: null },
        step: 'index',
        change: 'document.metadata_changed',
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
    decide: (existing: DocumentRecord) => { record: DocumentRecord; step: Job['step']; change?: ChangeType },
  ): Promise<void> {
    return this.#withPathLock(collection, path, async (existing) => {
      if (existing === undefined) throw pathNotFound(collection, path);
      const { record, step, change } = decide(existing);
      const { clock, versions } = this.#options;
      const job = createJob(collection, record, step, clock.now());
      const hasImages = versions.get(collection.collectionId, existing.version)?.hasImages ?? false;
      await this.#options.versionPublisher.publish(
        null,
        [
          ...this.#operations.expectUnchanged(collection, path, existing),
          ...this.#operations.putRecord(collection, record, existing),
          this.#operations.putVersion(collection, record, hasImages),
          putJob(job),
          ...(change === undefined ? [] : [this.#append(change, { collection, record, previous: existing })]),
        ],
        { organizationId: collection.organizationId },
      );
      this.#options.onJob(job);
    });
  }

  #remove(
    collection: Collection,
    path: string,
    { isVisible = allVisible, extraOperations = [], erasesHistory = false }: DocumentDeleteOptions,
  ): Promise<boolean> {
    return this.#withPathLock(collection, path, async (existing) => {
      const { documents, versions, history, counts, versionPublisher } = this.#options;
      if (existing !== undefined && !isVisible(existing)) return false;
      // First, so that the document still exists after an interruption, and a repeated call continues.
      const isErased = erasesHistory && (await history.erase(collection.collectionId, path, extraOperations));
      if (existing === undefined) return isErased;
      const { collectionId, live } = existing;
      const shard = shardOf(path, collection.shards);
      const retired = findDeleted(existing, versions);
      await versionPublisher.publish(
        { collectionId, shard, add: null, remove: live, retired, isErased: erasesHistory },
        [
          ...this.#operations.expectUnchanged(collection, path, existing),
          ...this.#operations.discardPending(existing),
          ...documents.delete(existing),
          counts.change(collectionId, {
            from: existing.status,
            to: null,
            bytes: -existing.indexedBytes,
            stored: -existing.size,
          }),
          this.#append('document.deleted', { collection, record: existing }),
          ...this.#operations.countEvent(collection, existing, 'deleted'),
          ...extraOperations,
        ],
        { mayUseReserve: true, organizationId: collection.organizationId },
      );
      this.#options.onAbandoned(existing);
      return true;
    });
  }

  #append(type: ChangeType, change: Omit<Parameters<typeof appendDocumentChange>[2], 'at'>): WriteOperation {
    const { feeds, clock } = this.#options;
    return appendDocumentChange(feeds, type, { ...change, at: clock.now() });
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
      `A document with the path ${JSON.stringify(existing.path)} already exists, and this API key cannot access it. Choose another path.`,
    );
  }
  if (!overwrite) throw pathConflict(collection, existing.path);
}

/** Whether the current file of a document has this SHA-256. */
export function hasFile(existing: DocumentRecord | undefined, hash: string): boolean {
  return existing?.contentKind === 'auto' && existing.rawHash === hash;
}

export function fileChangedError(path: string): AppError {
  return new AppError(
    'conflict',
    `The document ${JSON.stringify(path)} has no file with this SHA-256. Upload the file first, or send it as base64_data.`,
  );
}

function pathConflict(collection: Collection, path: string): AppError {
  return new AppError(
    'conflict',
    `The document ${JSON.stringify(path)} already exists in the collection ${JSON.stringify(collection.name)}. Set overwrite to true to replace it.`,
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
