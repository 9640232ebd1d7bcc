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

/** A document as it came through the door, checked. */
export interface NewDocument {
  readonly path: string;
  readonly metadata: Metadata;
  readonly overwrite: boolean;
  readonly contentKind: ContentKind;
  readonly contentType: string;
  /** SHA-256 of the raw bytes, lower-case hex. For `auto` the blob of that name is durable and held. */
  readonly rawHash: string;
  /** Raw bytes. */
  readonly size: number;
  /** The text variants bring their pages, as text or as its UTF-8; `auto` has none yet. */
  readonly pages: Texts | null;
  /** One of unit length for each page, where the vectors of the collection come from its callers. */
  readonly vectors?: readonly Float32Array[];
  /** What becomes of them takes so many bytes, about. */
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
  /** Everything about one path happens under `pathKey`. */
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly random: Random;
  /** Operations that count an event, joined to the write that causes it. */
  readonly count: (event: DocumentEvent) => WriteOperation[];
  /** Work that is durable now. */
  readonly onJob: (job: Job) => void;
  /** A record whose version nobody needs any more; work on it may stop. */
  readonly onAbandoned: (record: DocumentRecord) => void;
  readonly turns: Pick<BackgroundScheduler, 'yield' | 'slice'>;
}

/** Whether the caller sees a document; one that it does not see is not there for it. */
export type VisibilityCheck = (record: DocumentRecord) => boolean;

const allVisible: VisibilityCheck = () => true;

export interface DocumentDeleteOptions {
  /** Others are not there for the caller. */
  readonly isVisible?: VisibilityCheck;
  /** Written with each deletion. */
  readonly extraOperations?: readonly WriteOperation[];
}

/** What a write adds to what is stored. */
export interface StorageGrowth {
  readonly documents: number;
  /** Raw bytes of the document, less those of the one that it replaces. */
  readonly bytes: number;
  /** Raw bytes of the document. */
  readonly received: number;
}

/** Takes the room that a write needs, which it gives back when it ends; null where there is no limit. Errors: 429. */
export type ReserveCapacity = (
  growth: StorageGrowth,
) => Promise<{ readonly end: (isWritten: boolean) => void }> | null;

const withoutLimit: ReserveCapacity = () => null;

export interface AddDocumentResult {
  readonly created: boolean;
  readonly version: number;
  readonly status: DocumentRecord['status'];
}

/** The name of the lock that guards a path. */
export function pathKey(collectionId: string, path: string): string {
  return `${collectionId} ${path}`;
}

/**
 * What users do to documents: add, overwrite, delete, change metadata, try again. Each is one atomic, durable write;
 * a refused one changes nothing.
 */
export class DocumentWriter {
  readonly #options: DocumentWriterOptions;

  constructor(options: DocumentWriterOptions) {
    this.#options = options;
  }

  /** Adds or overwrites. A path that exists is a conflict unless `overwrite`, and always where it is not seen. */
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
      // Measured where nobody changes the path meanwhile: what it replaces is what it finds now.
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
   * Deletes those of `paths` that exist and answers them; each deletion is atomic by itself. Rejects with the first
   * refusal, when all the others have ended too: search shows by then what was not deleted.
   */
  async remove(
    collection: Collection,
    paths: readonly string[],
    options: DocumentDeleteOptions = {},
  ): Promise<string[]> {
    const uniquePaths = [...new Set(paths)];
    const removing = await startInBackground(this.#options.turns, uniquePaths, (path) =>
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

  /** New metadata for an indexed document; search keeps the old until the new is indexed. */
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

  /** Tries a failed document again from the step that failed. */
  retry(
    collection: Collection,
    path: string,
    status: 'not_parsed' | 'not_indexed',
    sees: VisibilityCheck = allVisible,
  ): Promise<void> {
    const [failed, step] =
      status === 'not_parsed'
        ? (['parsing_failed', 'parse'] as const)
        : (['indexing_failed', 'chunk'] as const);
    return this.#change(collection, path, (existing) => {
      if (!sees(existing)) throw pathNotFound(collection, path);
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

  /** Runs `work` with the record of a path while nobody else changes it. A write that came too late is a 404. */
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
      // What is stored lately lies together: the store never has to merge it into what is old.
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

  /** The text variants are parsed as they come; a file is referenced, so that it stays. */
  async #contentOperations(record: DocumentRecord, input: NewDocument): Promise<WriteOperation[]> {
    const { contents, turns } = this.#options;
    const { documentId } = record;
    if (input.pages === null) return [putBlobReference(input.rawHash, documentId)];
    const pages = await collectInBackground(turns, contents.putParsedPages(documentId, input.pages));
    return [
      ...pages,
      ...(input.vectors ?? []).map((vector, i) => contents.putSuppliedVector(documentId, i, vector)),
      contents.putParsedHead(documentId, {
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

  /** Drops the current version of a record unless search answers from it. */
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

  /** Drops what search answers from; running queries may still read it for a while. */
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

/** Refuses to put a document in the place of `existing`, unless that is wanted and allowed. */
export function checkReplaceable(
  collection: Collection,
  existing: DocumentRecord,
  { overwrite, isVisible }: { readonly overwrite: boolean; readonly isVisible: VisibilityCheck },
): void {
  if (!isVisible(existing)) {
    throw new AppError(
      'conflict',
      `The path ${JSON.stringify(existing.path)} belongs to a document that this API key does not see: choose another.`,
    );
  }
  if (!overwrite) throw pathConflict(collection, existing.path);
}

function pathConflict(collection: Collection, path: string): AppError {
  return new AppError(
    'conflict',
    `The collection ${JSON.stringify(collection.name)} has a document ${JSON.stringify(path)} already; set overwrite to true to replace it.`,
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
