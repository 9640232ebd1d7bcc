import type { KeyedMutex } from '../core/async/mutex.ts';
import { createUuidV7, type Random } from '../core/ids.ts';
import type { VersionPublisher } from '../index/version-publisher.ts';
import { putBlobReference } from '../storage/blob-references.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { isExpired } from '../storage/expirations.ts';
import { guardContent } from '../storage/garbage.ts';
import { type Job, putJob } from '../storage/jobs.ts';
import {
  ExpectationFailedError,
  operationsBytes,
  type Store,
  type WriteOperation,
} from '../storage/store.ts';
import {
  createJob,
  DocumentWriteOperations,
  type DocumentWriteOperationsOptions,
} from './document-write-operations.ts';
import { pathKey, type ReserveCapacity } from './document-writer.ts';

export interface DocumentCopierOptions extends DocumentWriteOperationsOptions {
  readonly store: Pick<Store, 'write'>;
  readonly versionPublisher: VersionPublisher;
  /** The locks of the document writer. */
  readonly locks: KeyedMutex;
  readonly random: Random;
  /** Called with a job that is durable. */
  readonly onJob: (job: Job) => void;
}

interface CopyRequest {
  readonly from: Collection;
  readonly to: Collection;
  readonly path: string;
}

/** Bytes per write while large content is copied in pieces. */
const writeBytesTarget = 4_000_000;
/** Milliseconds after which unfinished content is deleted. */
const copyMsMax = 600_000;
/** Attempts to copy a document that is changed meanwhile. */
const attemptsMax = 5;

/**
 * Copies documents to another collection with the same model: texts, chunks, terms and vectors, so that only the rows of
 * the index have to be built again. Files are shared.
 */
export class DocumentCopier {
  readonly #options: DocumentCopierOptions;
  readonly #operations: DocumentWriteOperations;

  constructor(options: DocumentCopierOptions) {
    this.#options = options;
    this.#operations = new DocumentWriteOperations(options);
  }

  /**
   * Copies the document with this path. Returns false if it does not exist, or the other collection already has a
   * document with this path. Errors: those of `reserveCapacity`; `ExpectationFailedError` if a collection was deleted.
   */
  copy({ from, to, path }: CopyRequest, reserveCapacity: ReserveCapacity): Promise<boolean> {
    const { locks, documents, clock } = this.#options;
    return locks.run(pathKey(to.collectionId, path), async () => {
      for (let attempt = 1; ; attempt += 1) {
        const source = documents.get(from.collectionId, path);
        if (source === undefined || isExpired(source, clock.now())) return false;
        if (documents.get(to.collectionId, path) !== undefined) return false;
        const reservation = await reserveCapacity({ documents: 1, bytes: source.size, received: 0 });
        let isWritten = false;
        try {
          await this.#copy(source, from, to);
          isWritten = true;
          return true;
        } catch (error) {
          // The document was changed meanwhile: copy its new state.
          if (!(error instanceof ExpectationFailedError) || attempt === attemptsMax) throw error;
        } finally {
          reservation?.end(isWritten);
        }
      }
    });
  }

  async #copy(source: DocumentRecord, from: Collection, to: Collection): Promise<void> {
    const { clock, versions, documents, collections, versionPublisher, onJob } = this.#options;
    const record = this.#createRecord(source, to);
    const content = await this.#copyContent(source, record, from);
    const step = this.#nextStep(source);
    const job = step === null ? null : createJob(to, record, step, clock.now());
    const hasImages = versions.get(from.collectionId, source.version)?.hasImages ?? false;
    await versionPublisher.publish(
      null,
      [
        collections.expectExists(from.collectionId),
        // While the source is unchanged, its content and its file exist.
        documents.expectVersion(from.collectionId, source.path, source.version),
        ...this.#operations.expectUnchanged(to, record.path, undefined),
        ...content,
        ...(record.contentKind === 'auto' ? [putBlobReference(record.rawHash, record.documentId)] : []),
        ...this.#operations.putRecord(to, record, undefined),
        this.#operations.putVersion(to, record, hasImages),
        ...(job === null ? [] : [putJob(job)]),
        this.#operations.appendAddition(to, record, undefined),
        ...this.#operations.countEvent(to, record, 'added'),
      ],
      { organizationId: to.organizationId },
    );
    if (job !== null) onJob(job);
  }

  #createRecord(source: DocumentRecord, to: Collection): DocumentRecord {
    const { sequence, random, clock } = this.#options;
    const now = clock.now();
    const isFailed = source.status === 'parsing_failed' || source.status === 'indexing_failed';
    const isParsed = source.status !== 'not_parsed' && source.status !== 'parsing';
    return {
      ...source,
      collectionId: to.collectionId,
      documentId: createUuidV7(now, random.uuid()),
      version: sequence.next(),
      live: null,
      liveDocumentId: null,
      status: isFailed ? source.status : isParsed ? 'not_indexed' : 'not_parsed',
      createdAt: now,
      attempts: 0,
      indexedBytes: 0,
    };
  }

  /** Returns the first step of the copy; null for a document that has failed. */
  #nextStep({ status, documentId }: DocumentRecord): Job['step'] | null {
    if (status === 'parsing_failed' || status === 'indexing_failed') return null;
    if (status === 'not_parsed' || status === 'parsing') return 'parse';
    return this.#options.contents.parsed.readHead(documentId) === undefined ? 'index' : 'chunk';
  }

  /** Copies the content, and returns the operations for the write that completes the document. */
  async #copyContent(
    source: DocumentRecord,
    { documentId, version, collectionId }: DocumentRecord,
    from: Collection,
  ): Promise<WriteOperation[]> {
    const { contents, collections, clock, store } = this.#options;
    const garbage = { collectionId, version, content: { documentId, rawHash: null } };
    const guard = guardContent(garbage, clock.now() + copyMsMax);
    let isGuarded = false;
    let piece: WriteOperation[] = [];
    let bytes = 0;
    for await (const operation of contents.copy(source.documentId, documentId, getGeneration(from))) {
      const added = operationsBytes([operation]);
      if (piece.length > 0 && bytes + added > writeBytesTarget) {
        const begin = isGuarded ? [] : [guard.begin];
        await store.write([collections.expectExists(collectionId), ...begin, ...piece], {
          organizationId: from.organizationId,
        });
        isGuarded = true;
        piece = [];
        bytes = 0;
      }
      piece.push(operation);
      bytes += added;
    }
    return isGuarded ? [...guard.complete, ...piece] : piece;
  }
}
