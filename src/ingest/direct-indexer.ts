import { setMaxListeners } from 'node:events';
import { assertDefined } from '../core/assert.ts';
import { waitForAll } from '../core/async/wait-for-all.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { countTexts } from '../core/packed-texts.ts';
import type { VersionPublisher } from '../index/version-publisher.ts';
import type { Collection } from '../storage/collections.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { type ContentGuard, guardContent } from '../storage/garbage.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { type ChunkedRecord, type ContentOperations, toIndexed } from './content-operations.ts';
import { appendDocumentChange } from './document-change.ts';
import {
  createParsedHead,
  DocumentWriteOperations,
  type DocumentWriteOperationsOptions,
  findReplaced,
  type NewDocument,
  releaseLiveId,
} from './document-write-operations.ts';
import { describeBatch } from './ingest-spans.ts';
import type { IngestSteps } from './ingest-steps.ts';

export interface DirectIndexerOptions extends DocumentWriteOperationsOptions {
  readonly store: Pick<Store, 'write'>;
  readonly content: ContentOperations;
  readonly steps: Pick<IngestSteps, 'fitsBatch' | 'chunkTexts' | 'stage' | 'unstage'>;
  readonly versionPublisher: VersionPublisher;
  /** Whether documents can be indexed now: none waits in the queue, and the memory is not used up. */
  readonly hasCapacity: () => boolean;
  readonly logger: Logger;
  readonly tracer: Pick<Tracer, 'startJob'> | null;
  /** Maximum number of groups that are processed at the same time. */
  readonly groupsMax: number;
}

/** Maximum number of documents that wait or are processed, and their memory. */
const documentsMax = 256;
const bytesMax = 64 * 1_048_576;
/** Maximum number of documents that are written together. */
const groupDocumentsMax = 64;
/** Milliseconds after which documents that are not chunked are queued. */
const chunkMsMax = 1_000;

/** A document to be added; the caller has the lock of its path. */
export interface DirectDocument {
  readonly collection: Collection;
  readonly input: NewDocument;
  readonly existing: DocumentRecord | undefined;
  /** The new version. */
  readonly record: DocumentRecord;
}

export interface DirectOutcome {
  /** Absent if the document must be queued. */
  readonly indexed?: DocumentRecord;
  /**
   * Whether content of the version is stored as garbage. If it is not indexed, it must not be queued: the sweep deletes
   * what belongs to it.
   */
  readonly isStored: boolean;
}

const notStored: DirectOutcome = { isStored: false };

interface PendingDocument extends DirectDocument {
  readonly bytes: number;
  readonly resolve: (outcome: DirectOutcome) => void;
}

/** A document that is chunked but not stored. */
interface PreparedDocument extends ChunkedRecord {
  readonly document: PendingDocument;
  readonly guard: ContentGuard;
}

/**
 * Adds small texts of batches in their final state: the write that makes a document exist also makes it searchable. A
 * queued document takes one more write, and its text is stored twice, as pages and as chunks. Documents that arrive
 * while others are processed form the next group. Gain of the bench case `ingest` with abstracts of 1,400 characters:
 * 25 % of the CPU per MB.
 */
export class DirectIndexer {
  readonly #options: DirectIndexerOptions;
  readonly #operations: DocumentWriteOperations;
  readonly #waiting: PendingDocument[] = [];
  #pendingDocuments = 0;
  #pendingBytes = 0;
  #runningGroups = 0;
  #scheduledStart: NodeJS.Immediate | null = null;

  constructor(options: DirectIndexerOptions) {
    this.#options = options;
    this.#operations = new DocumentWriteOperations(options);
  }

  /**
   * Indexes the document. It must be queued if it is not a small text of a batch, if others wait already, or if a step
   * failed; the queue then reports the error. Never rejects.
   */
  async add(document: DirectDocument): Promise<DirectOutcome> {
    const bytes = limits.indexingBytesPerTextByte * document.input.size;
    const isFull = this.#pendingDocuments >= documentsMax || this.#pendingBytes + bytes > bytesMax;
    if (isFull || !this.#isEligible(document) || !this.#options.hasCapacity()) return notStored;
    this.#pendingDocuments += 1;
    this.#pendingBytes += bytes;
    return new Promise((resolve) => {
      this.#waiting.push({ ...document, bytes, resolve });
      this.#scheduledStart ??= setImmediate(() => {
        this.#scheduledStart = null;
        this.#startGroups();
      });
    });
  }

  #isEligible({ collection: { collectionId }, input }: DirectDocument): boolean {
    const { isBatched, pages, vectors, contentKind, size } = input;
    if (isBatched !== true || pages === null || vectors !== undefined || contentKind === 'auto') return false;
    try {
      return this.#options.steps.fitsBatch({ collectionId, textBytes: size, numPages: countTexts(pages) });
    } catch {
      // The model is unavailable: the job of the document reports it.
      return false;
    }
  }

  #startGroups(): void {
    while (this.#waiting.length > 0 && this.#runningGroups < this.#options.groupsMax) {
      const group = this.#takeGroup();
      this.#runningGroups += 1;
      void this.#process(group).finally(() => {
        this.#runningGroups -= 1;
        this.#pendingDocuments -= group.length;
        for (const { bytes } of group) this.#pendingBytes -= bytes;
        this.#startGroups();
      });
    }
  }

  /** Takes the first waiting documents of one collection, as many as fit into a group. */
  #takeGroup(): PendingDocument[] {
    const collectionId = this.#waiting[0]?.collection.collectionId;
    let count = 0;
    let textBytes = 0;
    for (const { collection, input } of this.#waiting) {
      const isFull = count >= groupDocumentsMax || textBytes >= limits.indexBatchBytesMax;
      if (isFull || collection.collectionId !== collectionId) break;
      textBytes += input.size;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** Never rejects. */
  async #process(group: readonly PendingDocument[]): Promise<void> {
    const { logger, tracer } = this.#options;
    const trace = tracer?.startJob() ?? null;
    let prepared: readonly PreparedDocument[] = [];
    let indexed: ReadonlyMap<PendingDocument, DocumentRecord> = new Map();
    const controller = new AbortController();
    setMaxListeners(0, controller.signal); // each document listens
    try {
      prepared = await this.#chunkInTime(group, controller);
      indexed = await this.#publish(prepared, controller.signal);
    } catch (error) {
      logger.debug(
        { documents: group.length, error: String(error) },
        'direct indexing failed, documents queued',
      );
    }
    trace?.end(describeBatch(group[0]!.collection, { documents: group.length, indexed: indexed.size }));
    const stored = new Set(prepared.map(({ document }) => document));
    for (const document of group) {
      const record = indexed.get(document);
      const isStored = stored.has(document);
      document.resolve(record === undefined ? { isStored } : { indexed: record, isStored });
    }
  }

  /** Rejects after a time: the workers may be busy with a long document, for which the addition must not wait. */
  async #chunkInTime(
    group: readonly PendingDocument[],
    controller: AbortController,
  ): Promise<PreparedDocument[]> {
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(new Error('chunking takes long')), chunkMsMax);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    try {
      return await Promise.race([this.#chunk(group, signal), aborted]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #chunk(group: readonly PendingDocument[], signal: AbortSignal): Promise<PreparedDocument[]> {
    const { steps } = this.#options;
    const documents = group.map((document) => {
      const { input, record } = document;
      const pages = assertDefined(input.pages, 'only texts are indexed directly');
      return { document, record, pages, head: createParsedHead(input), signal };
    });
    const contents = await steps.chunkTexts(documents);
    return documents.flatMap(({ document, record }, i) => {
      const content = contents[i];
      if (content === null || content === undefined) return [];
      return { document, record, content, guard: this.#guard(record) };
    });
  }

  /** The content is garbage until the document exists. */
  #guard({ collectionId, version, documentId }: DocumentRecord): ContentGuard {
    const garbage = { collectionId, version, content: { documentId, rawHash: null } };
    return guardContent(garbage, this.#options.clock.now() + limits.garbageDelayMs);
  }

  /**
   * Stores the content first, since a search that finds a version reads its content. Then the second write makes the
   * documents exist and searchable.
   */
  async #publish(
    prepared: readonly PreparedDocument[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<PendingDocument, DocumentRecord>> {
    const { steps, store, versions, versionPublisher, backgroundScheduler } = this.#options;
    const published = new Map<PendingDocument, DocumentRecord>();
    if (prepared.length === 0) return published;
    const { collection } = prepared[0]!.document;
    try {
      await waitForAll([
        ...prepared.map(({ record, content }) => steps.stage(record, content.block, signal)),
        this.#collect(prepared, (entry) => this.#contentOperations(entry)).then((operations) =>
          store.write([this.#expectExists(collection), ...operations], {
            organizationId: collection.organizationId,
          }),
        ),
      ]);
      await backgroundScheduler.yield();
      const indexed = prepared.map(({ record }) => toIndexed(record, collection));
      const operations = await this.#collect(prepared, (entry, i) =>
        this.#recordOperations(entry, indexed[i]!.record),
      );
      await versionPublisher.publishAll(
        collection.collectionId,
        indexed.map(({ change }, i) => ({ ...change, retired: findReplaced(prepared[i]!.record, versions) })),
        [...this.#sharedOperations(collection, prepared), ...operations],
        { mayExceedQueue: true },
      );
      for (const [i, { document }] of prepared.entries()) published.set(document, indexed[i]!.record);
      return published;
    } finally {
      if (published.size === 0) for (const { record } of prepared) steps.unstage(record);
    }
  }

  /** Lets other work run between the documents. */
  async #collect(
    prepared: readonly PreparedDocument[],
    operationsOf: (entry: PreparedDocument, i: number) => readonly WriteOperation[],
  ): Promise<WriteOperation[]> {
    const yieldToEventLoop = this.#options.backgroundScheduler.slice();
    const operations: WriteOperation[] = [];
    for (const [i, entry] of prepared.entries()) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      operations.push(...operationsOf(entry, i));
    }
    return operations;
  }

  #expectExists({ collectionId }: Collection): WriteOperation {
    return this.#options.collections.expectExists(collectionId);
  }

  /** Returns the operations that concern all documents. */
  #sharedOperations(collection: Collection, prepared: readonly PreparedDocument[]): WriteOperation[] {
    const { content, count } = this.#options;
    const { organizationId, collectionId } = collection;
    return [
      this.#expectExists(collection),
      ...count({
        organizationId,
        collectionId,
        event: 'added',
        documents: prepared.length,
        fileBytes: prepared.reduce((sum, { record }) => sum + record.size, 0),
        pages: prepared.reduce((sum, { record }) => sum + (record.numPages ?? 0), 0),
      }),
      ...content.note(collection, prepared),
    ];
  }

  #contentOperations({ document, record, content, guard }: PreparedDocument): WriteOperation[] {
    return [
      guard.begin,
      ...[...this.#options.content.put(record, content)].flat(),
      this.#operations.putVersion(document.collection, record, false),
    ];
  }

  /** `indexed`: the record to be stored. */
  #recordOperations(
    { document: { collection, existing }, record, guard }: PreparedDocument,
    indexed: DocumentRecord,
  ): WriteOperation[] {
    return [
      this.#operations.expectPathUnchanged(collection, indexed.path, existing),
      ...guard.complete,
      ...(existing === undefined ? [] : this.#operations.discardPending(existing)),
      ...this.#operations.putRecord(collection, indexed, existing),
      ...releaseLiveId(record, this.#options.documents),
      this.#operations.appendAddition(collection, indexed, existing),
      appendDocumentChange(this.#options.feeds, 'document.indexed', {
        collection,
        record: indexed,
        at: this.#options.clock.now(),
      }),
    ];
  }
}
