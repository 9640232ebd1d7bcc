import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { type Chance, timedUuid } from '../base/ids.ts';
import { countOfTexts, type Texts } from '../base/packed-texts.ts';
import { collectInTurns, startInTurns, type Turns } from '../base/turns.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import { putBlobReference } from '../store/blob-references.ts';
import type { Collection, Collections } from '../store/collections.ts';
import type { Contents } from '../store/content.ts';
import type { Counts } from '../store/counts.ts';
import type { ContentKind, DocumentRecord, Documents } from '../store/documents.ts';
import { putGarbage } from '../store/garbage.ts';
import { deleteJob, type Job, putJob } from '../store/jobs.ts';
import type { Metadata } from '../store/metadata-codec.ts';
import type { Sequence } from '../store/sequence.ts';
import { ExpectationFailed, type Operation } from '../store/store.ts';
import type { Versions } from '../store/versions.ts';
import type { DocumentEvent } from './document-event.ts';
import { shardOf } from './shard-of.ts';
import type { Switchboard } from './switchboard.ts';

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
  readonly switchboard: Switchboard;
  /** Everything about one path happens under `pathKey`. */
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Operations that count an event, joined to the write that causes it. */
  readonly count: (event: DocumentEvent) => Operation[];
  /** Work that is durable now. */
  readonly onJob: (job: Job) => void;
  /** A record whose version nobody needs any more; work on it may stop. */
  readonly onAbandoned: (record: DocumentRecord) => void;
  readonly turns: Pick<Turns, 'next' | 'slice'>;
}

/** Whether the caller sees a document; one that it does not see is not there for it. */
export type Sees = (record: DocumentRecord) => boolean;

const seesAll: Sees = () => true;

export interface Removal {
  /** Others are not there for the caller. */
  readonly sees?: Sees;
  /** Written with each deletion. */
  readonly alongside?: readonly Operation[];
}

/** What a write adds to what is stored. */
export interface Growth {
  readonly documents: number;
  /** Raw bytes of the document, less those of the one that it replaces. */
  readonly bytes: number;
  /** Raw bytes of the document. */
  readonly received: number;
}

/** Takes the room that a write needs, which it gives back when it ends; null where there is no limit. Errors: 429. */
export type TakeRoom = (growth: Growth) => Promise<{ readonly end: (isWritten: boolean) => void }> | null;

const unlimited: TakeRoom = () => null;

export interface AddedDocument {
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
    sees: Sees = seesAll,
    takeRoom: TakeRoom = unlimited,
  ): Promise<AddedDocument> {
    return this.#locked(collection, input.path, async (existing) => {
      if (existing !== undefined) refuseTaken(collection, existing, { overwrite: input.overwrite, sees });
      const { size } = input;
      // Measured where nobody changes the path meanwhile: what it replaces is what it finds now.
      const room = await takeRoom({
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
        room?.end(isWritten);
      }
    });
  }

  async #write(
    collection: Collection,
    input: NewDocument,
    existing: DocumentRecord | undefined,
  ): Promise<AddedDocument> {
    const { clock, switchboard, onJob } = this.#options;
    const record = this.#newRecord(collection, input, existing);
    const job = newJob(collection, record, input.contentKind === 'auto' ? 'parse' : 'chunk', clock.now());
    const content = await this.#contentOperations(record, input);
    await switchboard.apply(null, [
      ...this.#expected(collection, input.path, existing),
      ...(existing === undefined ? [] : this.#abandon(existing)),
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
  async remove(collection: Collection, paths: readonly string[], how: Removal = {}): Promise<string[]> {
    const wanted = [...new Set(paths)];
    const removing = await startInTurns(this.#options.turns, wanted, (path) =>
      this.#remove(collection, path, how),
    );
    const ended = await Promise.allSettled(removing);
    const removed: string[] = [];
    for (const [i, outcome] of ended.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason;
      if (outcome.value) removed.push(wanted[i]!);
    }
    return removed;
  }

  /** New metadata for an indexed document; search keeps the old until the new is indexed. */
  updateMetadata(
    collection: Collection,
    path: string,
    metadata: Metadata,
    sees: Sees = seesAll,
  ): Promise<void> {
    return this.#change(collection, path, (existing) => {
      if (!sees(existing)) throw pathUnknown(collection, path);
      if (existing.status !== 'indexed') {
        throw precondition(existing, 'its metadata can be replaced when it is "indexed"');
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
    sees: Sees = seesAll,
  ): Promise<void> {
    const [failed, step] =
      status === 'not_parsed'
        ? (['parsing_failed', 'parse'] as const)
        : (['indexing_failed', 'chunk'] as const);
    return this.#change(collection, path, (existing) => {
      if (!sees(existing)) throw pathUnknown(collection, path);
      if (existing.status !== failed) {
        throw precondition(existing, `index_status can be set to "${status}" when it is "${failed}"`);
      }
      return { record: { ...existing, status, error: null, attempts: 0 }, step };
    });
  }

  #change(
    collection: Collection,
    path: string,
    decide: (existing: DocumentRecord) => { record: DocumentRecord; step: Job['step'] },
  ): Promise<void> {
    return this.#locked(collection, path, async (existing) => {
      if (existing === undefined) throw pathUnknown(collection, path);
      const { record, step } = decide(existing);
      const { clock, versions } = this.#options;
      const job = newJob(collection, record, step, clock.now());
      const hasImages = versions.get(collection.collectionId, existing.version)?.hasImages ?? false;
      await this.#options.switchboard.apply(null, [
        ...this.#expected(collection, path, existing),
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
    { sees = seesAll, alongside = [] }: Removal,
  ): Promise<boolean> {
    return this.#locked(collection, path, async (existing) => {
      if (existing === undefined || !sees(existing)) return false;
      const { documents, counts, switchboard } = this.#options;
      const { collectionId, live } = existing;
      await switchboard.apply(
        { collectionId, shard: shardOf(path, collection.shards), add: null, remove: live },
        [
          ...this.#expected(collection, path, existing),
          ...this.#abandon(existing),
          ...(live === null ? [] : this.#abandonLive(existing)),
          ...documents.delete(existing),
          counts.change(collectionId, {
            from: existing.status,
            to: null,
            bytes: -existing.indexedBytes,
            stored: -existing.size,
          }),
          ...this.#count(collection, existing, 'deleted'),
          ...alongside,
        ],
        { mayUseReserve: true },
      );
      this.#options.onAbandoned(existing);
      return true;
    });
  }

  /** Runs `work` with the record of a path while nobody else changes it. A write that came too late is a 404. */
  #locked<T>(
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
        if (!(error instanceof ExpectationFailed)) throw error;
        throw new AppError('not_found', `The collection ${JSON.stringify(collection.name)} was deleted.`);
      }
    });
  }

  #expected(collection: Collection, path: string, existing: DocumentRecord | undefined): Operation[] {
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
    const { sequence, chance, clock } = this.#options;
    const now = clock.now();
    return {
      collectionId: collection.collectionId,
      path: input.path,
      // What is stored lately lies together: the store never has to merge it into what is old.
      documentId: timedUuid(now, chance.uuid()),
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
  async #contentOperations(record: DocumentRecord, input: NewDocument): Promise<Operation[]> {
    const { contents, turns } = this.#options;
    const { documentId } = record;
    if (input.pages === null) return [putBlobReference(input.rawHash, documentId)];
    const pages = await collectInTurns(turns, contents.putParsedPages(documentId, input.pages));
    return [
      ...pages,
      ...(input.vectors ?? []).map((vector, i) => contents.putGivenVector(documentId, i, vector)),
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

  #put(collection: Collection, record: DocumentRecord, existing: DocumentRecord | undefined): Operation[] {
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

  #versionOf(collection: Collection, record: DocumentRecord, hasImages: boolean): Operation {
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
  #abandon(record: DocumentRecord): Operation[] {
    const { documents, clock } = this.#options;
    const { collectionId, version, live, documentId, liveDocumentId, rawHash } = record;
    if (version === live) return [];
    const shared = documentId === liveDocumentId;
    return [
      deleteJob(version),
      ...(shared ? [] : [documents.forgetId(documentId)]),
      putGarbage({ collectionId, version, content: shared ? null : { documentId, rawHash } }, clock.now()),
    ];
  }

  /** Drops what search answers from; running queries may still read it for a while. */
  #abandonLive(record: DocumentRecord): Operation[] {
    const { clock, versions } = this.#options;
    const live = versions.get(record.collectionId, record.live!);
    if (live === undefined) return [];
    const { collectionId, version, documentId, rawHash } = live;
    return [putGarbage({ collectionId, version, content: { documentId, rawHash } }, clock.now())];
  }

  #count(collection: Collection, record: DocumentRecord, event: 'added' | 'deleted'): Operation[] {
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
export function refuseTaken(
  collection: Collection,
  existing: DocumentRecord,
  { overwrite, sees }: { readonly overwrite: boolean; readonly sees: Sees },
): void {
  if (!sees(existing)) {
    throw new AppError(
      'conflict',
      `The path ${JSON.stringify(existing.path)} belongs to a document that this API key does not see: choose another.`,
    );
  }
  if (!overwrite) throw pathTaken(collection, existing.path);
}

function pathTaken(collection: Collection, path: string): AppError {
  return new AppError(
    'conflict',
    `The collection ${JSON.stringify(collection.name)} has a document ${JSON.stringify(path)} already; set overwrite to true to replace it.`,
  );
}

export function pathUnknown(collection: Collection, path: string): AppError {
  return new AppError(
    'not_found',
    `The collection ${JSON.stringify(collection.name)} has no document ${JSON.stringify(path)}.`,
  );
}

function precondition(existing: DocumentRecord, rule: string): AppError {
  return new AppError('precondition_failed', `The document is "${existing.status}"; ${rule}.`);
}
