import { type BackgroundScheduler, collectInBackground } from '../core/async/background-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import { createUuidV7, type Random } from '../core/ids.ts';
import { countTexts, type Texts } from '../core/packed-texts.ts';
import { shardOf } from '../index/shard-of.ts';
import { putBlobReference } from '../storage/blob-references.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Counts } from '../storage/counts.ts';
import type { ContentKind, DocumentRecord, Documents } from '../storage/documents.ts';
import { putGarbage } from '../storage/garbage.ts';
import { deleteJob, type Job } from '../storage/jobs.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import type { ParsedHead } from '../storage/parsed-pages.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { WriteOperation } from '../storage/store.ts';
import type { RetiredVersion } from '../storage/version-history.ts';
import type { Versions } from '../storage/versions.ts';
import { appendDocumentChange } from './document-change.ts';
import type { DocumentEvent } from './document-event.ts';

/** A validated document from a request. */
export interface NewDocument {
  readonly path: string;
  readonly metadata: Metadata;
  readonly overwrite: boolean;
  /** Whether the request adds several documents. */
  readonly isBatched?: boolean;
  /** Milliseconds since the epoch; absent: never. */
  readonly expiresAt?: number;
  readonly contentKind: ContentKind;
  readonly contentType: string;
  /**
   * SHA-256 of the raw bytes, lower-case hex. For `auto` the blob of that name is durable and protected from
   * deletion.
   */
  readonly rawHash: string;
  /** Raw bytes. */
  readonly size: number;
  /** Text of the pages, as text or as UTF-8; null for a file to be parsed. */
  readonly pages: Texts | null;
  /** Details of a file whose pages are supplied. */
  readonly parsed?: ParsedFile;
  /** One vector of unit length per page, in collections with vectors supplied by the caller. */
  readonly vectors?: readonly Float32Array[];
  /** Approximate bytes of the chunk vectors derived from them. */
  readonly vectorBytes?: number;
  /** Operations included in the write; only for files to be parsed. */
  readonly extraOperations?: readonly WriteOperation[];
}

/** A file that is not parsed, because its pages are supplied. */
export interface ParsedFile {
  /** UTF-8 bytes of the pages and their separators. */
  readonly textBytes: number;
  readonly head: Omit<ParsedHead, 'pageCount'>;
  readonly hasImages: boolean;
  /** The file is the current one of the document, which must not change before the write. */
  readonly isCurrentFile: boolean;
}

export interface DocumentWriteOperationsOptions {
  readonly documents: Documents;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly counts: Counts;
  readonly sequence: Sequence;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns operations that count an event, to be included in the write that causes it. */
  readonly count: (event: DocumentEvent) => WriteOperation[];
  readonly feeds: Pick<ChangeFeeds, 'append'>;
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'yield' | 'slice'>;
}

/** The records and store operations of which a change of a document consists. Writes nothing itself. */
export class DocumentWriteOperations {
  readonly #options: DocumentWriteOperationsOptions;

  constructor(options: DocumentWriteOperationsOptions) {
    this.#options = options;
  }

  /** Makes the write fail when the collection is deleted or its document of this path changes. */
  expectUnchanged(
    collection: Collection,
    path: string,
    existing: DocumentRecord | undefined,
  ): WriteOperation[] {
    const { collections } = this.#options;
    return [
      collections.expectExists(collection.collectionId),
      this.expectPathUnchanged(collection, path, existing),
    ];
  }

  /** Makes the write fail when the document of this path changes. */
  expectPathUnchanged(
    { collectionId }: Collection,
    path: string,
    existing: DocumentRecord | undefined,
  ): WriteOperation {
    const { documents } = this.#options;
    return existing === undefined
      ? documents.expectAbsent(collectionId, path)
      : documents.expectVersion(collectionId, path, existing.version);
  }

  /** Returns the record of a new version. */
  createRecord(
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
      status: input.pages === null ? 'not_parsed' : 'not_indexed',
      error: null,
      createdAt: now,
      size: input.size,
      numPages: input.pages === null ? null : countTexts(input.pages),
      contentKind: input.contentKind,
      contentType: input.contentType,
      rawHash: input.rawHash,
      metadata: input.metadata,
      attempts: 0,
      textBytes: input.pages === null ? 0 : (input.parsed?.textBytes ?? input.size),
      ...(input.vectorBytes === undefined ? {} : { vectorBytes: input.vectorBytes }),
      indexedBytes: existing?.indexedBytes ?? 0,
      ...(input.expiresAt === undefined ? {} : { expiresAt: input.expiresAt }),
    };
  }

  /**
   * Returns the operations that store the content: pages are stored as parsed pages; for a file, a blob
   * reference keeps the blob.
   */
  async putContent(record: DocumentRecord, input: NewDocument): Promise<WriteOperation[]> {
    const { contents, backgroundScheduler } = this.#options;
    const { documentId } = record;
    const file = input.contentKind === 'auto' ? [putBlobReference(input.rawHash, documentId)] : [];
    if (input.pages === null) return file;
    const pages = await collectInBackground(
      backgroundScheduler,
      contents.parsed.putPages(documentId, input.pages),
    );
    return [
      ...file,
      ...pages,
      ...(input.vectors ?? []).map((vector, i) => contents.parsed.putSuppliedVector(documentId, i, vector)),
      contents.parsed.putHead(documentId, createParsedHead(input)),
    ];
  }

  /** Stores the record and updates the counts of the collection. */
  putRecord(
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

  /** Stores the fields of a version that search returns. */
  putVersion(collection: Collection, record: DocumentRecord, hasImages: boolean): WriteOperation {
    const { collectionId, version, documentId, path, metadata, contentType, rawHash, expiresAt } = record;
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
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(collection.historyDays === undefined ? {} : { size: record.size }),
    });
  }

  /** Discards the current version of a record unless it is live. */
  discardPending(record: DocumentRecord): WriteOperation[] {
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

  /** Records that a document was added or overwritten. */
  appendAddition(
    collection: Collection,
    record: DocumentRecord,
    existing: DocumentRecord | undefined,
  ): WriteOperation {
    const { feeds, clock } = this.#options;
    const change = { collection, record, previous: existing };
    const type = existing === undefined ? 'document.added' : 'document.overwritten';
    return appendDocumentChange(feeds, type, { ...change, at: clock.now() });
  }

  countEvent(collection: Collection, record: DocumentRecord, event: 'added' | 'deleted'): WriteOperation[] {
    return this.#options.count({
      organizationId: collection.organizationId,
      collectionId: collection.collectionId,
      event,
      fileBytes: record.size,
      pages: record.numPages ?? 0,
    });
  }
}

/** Makes the id of a document that a new version replaces unknown. */
export function releaseLiveId(
  { version, live, liveDocumentId, documentId }: DocumentRecord,
  documents: Pick<Documents, 'deleteId'>,
): WriteOperation[] {
  const isReplaced = live !== null && live !== version && liveDocumentId !== null;
  return isReplaced && liveDocumentId !== documentId ? [documents.deleteId(liveDocumentId)] : [];
}

/** Returns the live version of a document whose new version replaces it; null for none. */
export function findReplaced(record: DocumentRecord, versions: Pick<Versions, 'get'>): RetiredVersion | null {
  const { version, live, liveDocumentId, documentId } = record;
  if (live === null || live === version) return null;
  const hasOwnContent = liveDocumentId !== null && liveDocumentId !== documentId;
  return describeLive(record, live, { versions, hasOwnContent });
}

/** Returns the live version of a document that is deleted; null for none. */
export function findDeleted(record: DocumentRecord, versions: Pick<Versions, 'get'>): RetiredVersion | null {
  const { live } = record;
  return live === null ? null : describeLive(record, live, { versions, hasOwnContent: true });
}

function describeLive(
  { collectionId, indexedBytes }: DocumentRecord,
  live: number,
  { versions, hasOwnContent }: { readonly versions: Pick<Versions, 'get'>; readonly hasOwnContent: boolean },
): RetiredVersion {
  const record = versions.get(collectionId, live);
  // A version from before its collection kept versions has no size.
  return { version: live, record, hasOwnContent, bytes: record?.size ?? indexedBytes };
}

/** Returns the result of the parse step for a document whose pages are supplied. */
export function createParsedHead({ contentKind, contentType, pages, parsed }: NewDocument): ParsedHead {
  return {
    kind: contentKind,
    contentType,
    pageCount: pages === null ? 0 : countTexts(pages),
    unordered: contentKind === 'text-pages-unordered',
    headings: true,
    title: null,
    language: null,
    warnings: [],
    ...parsed?.head,
  };
}

/** Returns the job that processes a version, beginning with `step`. */
export function createJob(
  collection: Collection,
  record: DocumentRecord,
  step: Job['step'],
  now: number,
): Job {
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
