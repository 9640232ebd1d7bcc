import { AppError } from '../core/app-error.ts';
import { type BackgroundScheduler, startInBackground } from '../core/async/background-scheduler.ts';
import { withTimeout } from '../core/async/with-timeout.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { NewDocument } from '../ingest/document-write-operations.ts';
import {
  type AddDocumentResult,
  checkReplaceable,
  type DocumentWriter,
  fileChangedError,
  hasFile,
  type ReserveCapacity,
  type StorageGrowth,
} from '../ingest/document-writer.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { decodeFile } from '../requests/base64.ts';
import { validateBatchItem } from '../requests/batch-item.ts';
import {
  analyzeParsed,
  analyzeText,
  type ParsedContent,
  PreparedBatchItem,
  PreparedParsedFile,
  PreparedText,
} from '../requests/prepared-document.ts';
import type { TextDocumentContent } from '../schemas/document-content.ts';
import type {
  AddDocumentRequest,
  AddDocumentResponse,
  AddDocumentsRequest,
  AddDocumentsResponse,
  BatchDocumentResult,
  UploadParameters,
} from '../schemas/documents.ts';
import { successResponse } from '../schemas/wire.ts';
import type { Blobs, PinnedBlob } from '../storage/blobs.ts';
import { type Collection, type Collections, hasOwnVectors } from '../storage/collections.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import { isExpired } from '../storage/expirations.ts';
import { remainingMs, type ServiceReply } from './call.ts';
import {
  accessCollection,
  type CollectionAccess,
  checkWritableMetadata,
  type DocumentCall,
} from './document-access.ts';
import { parseExpiry } from './expiry.ts';
import { parseDocumentVectors, textRequiredError, type VectorFields } from './vector-inputs.ts';

/** Decides whether one more document may be added now. */
export interface IngestCheck {
  /** Errors: AppError `queue_full` or `reserve_reached`, with the name of the limit. */
  check(organizationId: string): void;
}

/** Storage quotas of organizations; implemented in `admission/quotas`. */
export interface DocumentQuotas {
  /**
   * Returns null without limits. Errors: `rate_limited` with the name of the limit; then nothing is reserved.
   */
  reserve(organizationId: string, growth: StorageGrowth): ReturnType<ReserveCapacity>;
}

export interface DocumentUploadServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly writer: DocumentWriter;
  readonly ingest: Pick<Ingest, 'waitUntilSettled'>;
  readonly admission: IngestCheck;
  readonly quotas: DocumentQuotas;
  /** Bounds concurrently waiting requests; a request without a permit is answered at once. */
  readonly waitLimiter: {
    tryAcquire(organizationId: string): boolean;
    release(organizationId: string): void;
  };
  /** Maximum bytes of a file, for every kind of upload. */
  readonly fileBytesMax: number;
  /** Maximum metadata bytes per document of an organization. */
  readonly metadataBytesMax: (organizationId: string) => number;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly backgroundScheduler: BackgroundScheduler;
}

const textContentType = 'text/plain; charset=utf-8';
const fileContentType = 'application/octet-stream';
const terminalStatuses: readonly DocumentRecord['status'][] = [
  'indexed',
  'parsing_failed',
  'indexing_failed',
];
const supersededMessage = 'The document was overwritten or deleted before it was indexed.';

/** Fields of every kind of document. */
type DocumentFields = Pick<NewDocument, 'path' | 'metadata' | 'overwrite' | 'isBatched' | 'expiresAt'>;

/** Document as received, or as prepared by a worker. */
type DocumentInput = Omit<AddDocumentRequest, keyof VectorFields> & VectorFields;

/** Adds documents to collections: texts, files and batches. */
export class DocumentUploadServices {
  readonly #options: DocumentUploadServicesOptions;

  constructor(options: DocumentUploadServicesOptions) {
    this.#options = options;
  }

  async addDocument(call: DocumentCall, request: DocumentInput): Promise<ServiceReply<AddDocumentResponse>> {
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const added = await this.#add(access, request, { isBatched: false });
    const body = request.wait
      ? await this.#withWaitLimit(call, (signal) =>
          this.#waitUntilIndexed(access.collection, request.path, added, signal),
        )
      : successResponse;
    return { status: added.created ? 201 : 200, body };
  }

  /** Adds each document independently; an error is reported in the result of its document. */
  async addDocuments(call: DocumentCall, request: AddDocumentsRequest): Promise<AddDocumentsResponse> {
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const { documents, wait } = request;
    const results = wait
      ? await this.#withWaitLimit(call, (signal) => this.#addAll(access, documents, signal))
      : await this.#addAll(access, documents, null);
    return { results };
  }

  /** Streams the file to disk while it arrives, hashing it along the way. */
  async uploadDocument(
    call: DocumentCall,
    parameters: UploadParameters,
    body: AsyncIterable<Uint8Array>,
  ): Promise<ServiceReply<AddDocumentResponse>> {
    const { path, metadata, overwrite, wait } = parameters;
    const place = accessCollection(this.#options.collections, call, parameters.collection_name);
    const { collection } = place;
    this.#checkWritable(place, metadata);
    if (hasOwnVectors(collection)) throw textRequiredError(collection);
    this.#checkPathAvailable(place, { path, overwrite });
    const file = await this.#receiveFile(body);
    const received = { ...call, receivedAt: this.#options.clock.monotonic() }; // the upload itself does not count
    const expiry = this.#expiryOf(collection, undefined);
    const added = await this.#addFile(place, file, { path, metadata, overwrite, ...expiry });
    const replyBody = wait
      ? await this.#withWaitLimit(received, (signal) =>
          this.#waitUntilIndexed(collection, path, added, signal),
        )
      : successResponse;
    return { status: added.created ? 201 : 200, body: replyBody };
  }

  /** `requested`: null for never, undefined for the default of the collection. Errors: 400 for a time in the past. */
  #expiryOf(
    { defaultTtlSeconds }: Collection,
    requested: string | null | undefined,
  ): Pick<NewDocument, 'expiresAt'> {
    const now = this.#options.clock.now();
    if (typeof requested === 'string') return { expiresAt: parseExpiry(requested, now) };
    if (requested === null || defaultTtlSeconds === undefined) return {};
    return { expiresAt: now + defaultTtlSeconds * 1_000 };
  }

  /** Rejects a document before any content is stored. */
  #checkWritable(access: CollectionAccess, metadata: NewDocument['metadata']): void {
    checkWritableMetadata(access, metadata);
    this.#options.admission.check(access.collection.organizationId);
  }

  /** Rejects an existing path before a file is stored; the writer checks again. */
  #checkPathAvailable(
    { collection, principal, isVisible }: CollectionAccess,
    { path, overwrite }: Pick<NewDocument, 'path' | 'overwrite'>,
  ): void {
    if (overwrite && principal.restriction === undefined) return;
    const existing = this.#options.documents.get(collection.collectionId, path);
    if (existing !== undefined && !isExpired(existing, this.#options.clock.now()))
      checkReplaceable(collection, existing, { overwrite, isVisible });
  }

  async #add(
    access: CollectionAccess,
    request: Omit<DocumentInput, 'collection_name' | 'wait'>,
    { isBatched }: Required<Pick<NewDocument, 'isBatched'>>,
  ): Promise<AddDocumentResult> {
    const { path, content } = request;
    const { collection } = access;
    const common = {
      path,
      metadata: request.metadata ?? {},
      overwrite: request.overwrite ?? false,
      isBatched,
      ...this.#expiryOf(collection, request.expires_at),
    };
    this.#checkWritable(access, common.metadata);
    const vectorInput = await parseDocumentVectors(collection, request, access.yieldToEventLoop);
    if (content.type === 'auto') {
      this.#checkPathAvailable(access, common);
      const { blobs, fileBytesMax } = this.#options;
      const file = await blobs.put(decodeFile(content.base64_data, fileBytesMax));
      return this.#addFile(access, file, common);
    }
    if (content.type === 'parsed') {
      this.#checkPathAvailable(access, common);
      const parsed =
        content instanceof PreparedParsedFile
          ? content.content
          : analyzeParsed(content, this.#options.fileBytesMax);
      return this.#addParsed(access, parsed, common);
    }
    return this.#write(access, { ...common, ...toTextDocument(content), ...vectorInput });
  }

  /** `signal` bounds the wait for indexing; null: do not wait. */
  async #addAll(
    access: CollectionAccess,
    documents: readonly unknown[],
    signal: AbortSignal | null,
  ): Promise<BatchDocumentResult[]> {
    const adding = await startInBackground(this.#options.backgroundScheduler, documents, (item) =>
      this.#addOne(access, item, signal),
    );
    return Promise.all(adding);
  }

  /** `signal` bounds the wait for indexing; null: do not wait. */
  async #addOne(
    access: CollectionAccess,
    item: unknown,
    signal: AbortSignal | null,
  ): Promise<BatchDocumentResult> {
    const path = pathOf(item);
    try {
      const { organizationId } = access.collection;
      const document = toBatchDocument(item, this.#options.metadataBytesMax(organizationId));
      const added = await this.#add(access, document, { isBatched: true });
      const status = added.created ? 201 : 200;
      if (signal === null) return { path, status };
      const { index_status } = await this.#waitUntilIndexed(access.collection, document.path, added, signal);
      return { path, status, ...(index_status === undefined ? {} : { index_status }) };
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      const issue = error.options.issues?.[0];
      const detail = issue === undefined ? error.message : `${issue.loc.join('.')}: ${issue.msg}`;
      return { path, status: error.status, detail };
    }
  }

  async #receiveFile(body: AsyncIterable<Uint8Array>): Promise<PinnedBlob> {
    const writer = await this.#options.blobs.createWriter();
    try {
      for await (const bytes of body) await writer.write(bytes);
      return await writer.finish();
    } finally {
      await writer.abort();
    }
  }

  /** Writes a document within the quotas of its organization. */
  #write({ collection, isVisible }: CollectionAccess, input: NewDocument): Promise<AddDocumentResult> {
    const { writer, quotas } = this.#options;
    return writer.add(collection, input, isVisible, (growth) =>
      quotas.reserve(collection.organizationId, growth),
    );
  }

  /** Adds a file whose text is supplied, so that it is not parsed. */
  async #addParsed(
    access: CollectionAccess,
    { text, file, details }: ParsedContent,
    common: DocumentFields,
  ): Promise<AddDocumentResult> {
    const { documents, blobs } = this.#options;
    const isCurrentFile = 'hash' in file;
    const { content_type: contentType, has_page_images: hasImages, ...head } = details;
    const parsed = {
      textBytes: text.size,
      head: { kind: 'auto', contentType, ...head },
      hasImages,
      isCurrentFile,
    };
    const fields = { contentType, pages: text.pages, parsed };
    if (!isCurrentFile) {
      checkTextSize(text.size, file.bytes.byteLength);
      return this.#addFile(access, await blobs.put(file.bytes), { ...common, ...fields });
    }
    const existing = documents.get(access.collection.collectionId, common.path);
    if (!hasFile(existing, file.hash)) throw fileChangedError(common.path);
    const { size } = existing!;
    checkTextSize(text.size, size);
    return this.#write(access, { ...common, ...fields, contentKind: 'auto', rawHash: file.hash, size });
  }

  async #addFile(
    access: CollectionAccess,
    file: PinnedBlob,
    fields: DocumentFields & Partial<Pick<NewDocument, 'contentType' | 'pages' | 'parsed'>>,
  ): Promise<AddDocumentResult> {
    const { blobs } = this.#options;
    try {
      const document: NewDocument = {
        contentType: fileContentType,
        pages: null,
        ...fields,
        contentKind: 'auto',
        rawHash: file.hash,
        size: file.size,
      };
      const added = await this.#write(access, document);
      file.release();
      return added;
    } catch (error) {
      // Delete the file of a rejected document, unless another document refers to it.
      file.release();
      await blobs.deleteIfUnreferenced(file.hash);
      throw error;
    }
  }

  /**
   * Runs `work` with a signal that aborts `waitMsMax` after the request arrived, or at once without a permit.
   */
  async #withWaitLimit<T>(call: DocumentCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { waitLimiter, clock } = this.#options;
    const { organizationId } = call.principal;
    const mayWait = waitLimiter.tryAcquire(organizationId);
    const msMax = mayWait ? remainingMs({ msMax: limits.waitMsMax, since: call.receivedAt }, clock) : 0;
    try {
      return await withTimeout({ signal: call.cancellation.signal, msMax }, work);
    } finally {
      if (mayWait) waitLimiter.release(organizationId);
    }
  }

  /**
   * Waits until the version is indexed or has failed, or `signal` aborts, and returns its status. Returns at
   * once for a version that is overwritten or deleted meanwhile, because it makes no further progress.
   */
  async #waitUntilIndexed(
    collection: Collection,
    path: string,
    added: AddDocumentResult,
    signal: AbortSignal,
  ): Promise<AddDocumentResponse> {
    // Indexed by the request itself; a read of the record would cost 20 microseconds.
    if (added.status === 'indexed')
      return { ...successResponse, index_status: added.status, error: null, error_code: null };
    const { ingest, documents, collections } = this.#options;
    const { collectionId } = collection;
    const abandoned = await ingest.waitUntilSettled(added.version, signal);
    const current = documents.get(collectionId, path);
    const record = current?.version === added.version ? current : null;
    const isSuperseded = record === null || collections.findById(collectionId) === undefined;
    const { status } = record ?? abandoned ?? added;
    const error =
      isSuperseded && !terminalStatuses.includes(status)
        ? supersededMessage
        : (record?.error?.message ?? null);
    return { ...successResponse, index_status: status, error, error_code: record?.error?.code ?? null };
  }
}

/**
 * An invalid item must not fail its batch, so items are validated here and not with the request. Errors: 400,
 * 422.
 */
function toBatchDocument(
  item: unknown,
  metadataBytesMax: number,
): Omit<DocumentInput, 'collection_name' | 'wait'> {
  return item instanceof PreparedBatchItem
    ? (item.unpack() as DocumentInput)
    : validateBatchItem(item, metadataBytesMax);
}

function pathOf(item: unknown): string | null {
  const path = (item as { path?: unknown } | null)?.path;
  return typeof path === 'string' ? path : null;
}

/** The quota of stored bytes counts only the file, so a small file may not have a large text. */
function checkTextSize(textBytes: number, fileBytes: number): void {
  const { parsedTextBytesPerFileByteMax: factor, smallTextBytesMax } = limits;
  const bytesMax = Math.max(smallTextBytesMax, factor * fileBytes);
  if (textBytes <= bytesMax) return;
  throw new AppError(
    'too_large',
    `The pages have ${textBytes} bytes of text; at most ${bytesMax} are allowed for a file of ${fileBytes} bytes.`,
  );
}

/** Computes pages, hash and size of a text variant. */
function toTextDocument(
  content: TextDocumentContent | PreparedText,
): Pick<NewDocument, 'contentKind' | 'contentType' | 'rawHash' | 'size' | 'pages'> {
  const { type, rawHash, size, pages } =
    content instanceof PreparedText ? content.content : analyzeText(content);
  return { contentKind: type, contentType: textContentType, rawHash, size, pages };
}
