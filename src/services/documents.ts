import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { type BackgroundScheduler, startInBackground } from '../core/async/background-scheduler.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { withTimeout } from '../core/async/with-timeout.ts';
import type { Clock } from '../core/clock.ts';
import { formatCount } from '../core/format.ts';
import { deriveUuid } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { NewDocument } from '../ingest/document-write-operations.ts';
import {
  type AddDocumentResult,
  checkReplaceable,
  type DocumentWriter,
  pathNotFound,
  type ReserveCapacity,
  type StorageGrowth,
  type VisibilityCheck,
} from '../ingest/document-writer.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { decodeFile } from '../requests/base64.ts';
import {
  analyzeText,
  type ContentInput,
  PreparedBatchItem,
  PreparedText,
  type VectorInput,
} from '../requests/prepared-document.ts';
import {
  checkBatchSize,
  checkListLimit,
  checkMetadata,
  checkPath,
  checkPathBound,
  checkPaths,
} from '../schemas/checks.ts';
import {
  type AddDocumentRequest,
  type AddDocumentResponse,
  type AddDocumentsRequest,
  type AddDocumentsResponse,
  BatchDocument,
  type BatchDocumentResult,
  type DeleteDocumentRequest,
  type DeleteDocumentResponse,
  type DocumentContent,
  type DocumentMetadataResponse,
  type DocumentResponse,
  type GetDocumentInfoListRequest,
  type GetDocumentInfoListResponse,
  type GetDocumentInfoRequest,
  type GetPageInfoRequest,
  type GetPageInfoResponse,
  type UpdateDocumentRequest,
  type UploadParameters,
} from '../schemas/documents.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { compileValidator } from '../schemas/validate.ts';
import { type DefaultResponse, type DocumentMetadataJson, successResponse } from '../schemas/wire.ts';
import type { Blobs, PinnedBlob } from '../storage/blobs.ts';
import { type Collection, type Collections, hasOwnVectors } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import type { WriteOperation } from '../storage/store.ts';
import type { TextParts } from '../storage/text-parts.ts';
import type { Versions } from '../storage/versions.ts';
import { canAccessDocument } from './access-filter.ts';
import { remainingMs, type ServiceCall } from './call.ts';
import { findCollection } from './collections.ts';
import { readDocumentText } from './document-text.ts';
import type { DocumentUrls } from './document-urls.ts';
import { toParsingProgress } from './status.ts';
import { parseDocumentVectors, textRequiredError } from './vector-inputs.ts';

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

export interface DocumentServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly blobs: Blobs;
  readonly writer: DocumentWriter;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly ingest: Ingest;
  readonly documentUrls: DocumentUrls;
  readonly admission: IngestCheck;
  readonly quotas: DocumentQuotas;
  /** Bounds concurrently waiting requests; a request without a permit is answered at once. */
  readonly waitLimiter: {
    tryAcquire(organizationId: string): boolean;
    release(organizationId: string): void;
  };
  /**
   * Returns the reason why documents of a collection are not being indexed, as a sentence; null when nothing
   * blocks them.
   */
  readonly findWaitReason: (collectionId: string) => string | null;
  /** Maximum bytes of a file, for every kind of upload. */
  readonly fileBytesMax: number;
  /** Maximum metadata bytes per document of an organization. */
  readonly metadataBytesMax: (organizationId: string) => number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly backgroundScheduler: BackgroundScheduler;
}

/** Maximum UTF-16 code units of a path in the audit log. */
const loggedPathUnitsMax = 256;

type DocumentCall = ServiceCall<OrganizationPrincipal>;

/** Response whose text is still in parts. */
type WithParts<Reply extends { readonly content?: unknown }> = Omit<Reply, 'content'> & {
  readonly content: TextParts | null;
};
export interface DocumentInfo {
  readonly document: WithParts<DocumentResponse>;
}
export interface PageInfo {
  readonly page: WithParts<GetPageInfoResponse['page']>;
}

/** Target collection and its caller. */
interface CollectionAccess {
  readonly collection: Collection;
  readonly principal: OrganizationPrincipal;
  /** Documents that the caller may not read are treated as nonexistent. */
  readonly isVisible: VisibilityCheck;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}

const textContentType = 'text/plain; charset=utf-8';
const fileContentType = 'application/octet-stream';
const terminalStatuses: readonly DocumentRecord['status'][] = [
  'indexed',
  'parsing_failed',
  'indexing_failed',
];
const supersededMessage = 'The document was overwritten or deleted before it was indexed.';
const validateBatchDocument = compileValidator(BatchDocument);

/** Document as received, or as prepared by a worker. */
type DocumentInput = Omit<AddDocumentRequest, 'content' | 'vector' | 'vectors'> & {
  readonly content: ContentInput;
  readonly vector?: VectorInput | undefined;
  readonly vectors?: readonly VectorInput[] | undefined;
};

/** Adds, uploads, overwrites, deletes, updates and reads documents. */
export class DocumentServices {
  readonly #options: DocumentServicesOptions;

  constructor(options: DocumentServicesOptions) {
    this.#options = options;
  }

  async addDocument(call: DocumentCall, request: DocumentInput): Promise<Answer<AddDocumentResponse>> {
    const access = this.#accessCollection(call, request.collection_name);
    const added = await this.#add(access, request);
    const body = request.wait
      ? await this.#withWaitLimit(call, (signal) =>
          this.#waitUntilIndexed(access.collection, request.path, added, signal),
        )
      : successResponse;
    return { status: added.created ? 201 : 200, body };
  }

  /** Adds each document independently; an error is reported in the result of its document. */
  async addDocuments(call: DocumentCall, request: AddDocumentsRequest): Promise<AddDocumentsResponse> {
    checkBatchSize(request.documents.length);
    const access = this.#accessCollection(call, request.collection_name);
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
  ): Promise<Answer<AddDocumentResponse>> {
    const { path, metadata, overwrite, wait } = parameters;
    const place = this.#accessCollection(call, parameters.collection_name);
    const { collection } = place;
    this.#checkInput(place, { path, metadata, overwrite });
    if (hasOwnVectors(collection)) throw textRequiredError(collection);
    this.#checkPathAvailable(place, { path, overwrite });
    const file = await this.#receiveFile(body);
    const received = { ...call, receivedAt: this.#options.clock.monotonic() }; // the upload itself does not count
    const added = await this.#addFile(place, file, { path, metadata, overwrite });
    const replyBody = wait
      ? await this.#withWaitLimit(received, (signal) =>
          this.#waitUntilIndexed(collection, path, added, signal),
        )
      : successResponse;
    return { status: added.created ? 201 : 200, body: replyBody };
  }

  async deleteDocument(call: DocumentCall, request: DeleteDocumentRequest): Promise<DeleteDocumentResponse> {
    checkPaths(request.path);
    const { collection, isVisible } = this.#accessCollection(call, request.collection_name);
    const paths = typeof request.path === 'string' ? [request.path] : request.path;
    const auditOperations = [this.#deletionAuditOperation(call, collection, paths)];
    const deleted = await this.#options.writer.remove(collection, paths, {
      isVisible,
      extraOperations: auditOperations,
    });
    if (deleted.length === 0) {
      throw paths.length === 1
        ? pathNotFound(collection, paths[0]!)
        : new AppError('not_found', 'None of these paths exist in the collection.');
    }
    return { deleted_paths: deleted };
  }

  /**
   * Builds one audit log entry per call. Every deletion of the call writes it again under the same key, so no
   * deletion happens without it. The path is omitted under zero data retention, because it may reveal
   * content.
   */
  #deletionAuditOperation(
    { principal, address }: DocumentCall,
    { name }: Collection,
    paths: readonly string[],
  ): WriteOperation {
    const { organizationId, zdr } = principal;
    const path = paths.length === 1 && !zdr ? { path: paths[0]!.slice(0, loggedPathUnitsMax) } : {};
    return this.#options.audit.entryOperation({
      ...{ organizationId, actor: actorOf(principal), address: address() },
      action: 'document.deleted',
      target: name,
      details: { paths: paths.length, ...path },
    });
  }

  async updateDocument(call: DocumentCall, request: UpdateDocumentRequest): Promise<DefaultResponse> {
    const { writer, metadataBytesMax } = this.#options;
    const { path } = request;
    const metadata = request.metadata ?? null;
    const status = request.index_status ?? null;
    checkPath(path);
    if (metadata !== null) checkMetadata(metadata, metadataBytesMax(call.principal.organizationId));
    const access = this.#accessCollection(call, request.collection_name);
    const { collection, isVisible } = access;
    if (metadata !== null && status !== null) {
      throw new AppError(
        'bad_request',
        'metadata and index_status cannot be combined: metadata requires an indexed document, index_status a failed one. Send two requests.',
      );
    }
    if (metadata !== null || status !== null) this.#options.admission.check(collection.organizationId);
    if (metadata !== null) {
      this.#findRecord(access, path);
      checkWriteAccess(access, metadata);
      await writer.updateMetadata(collection, path, metadata, isVisible);
    } else if (status !== null) await writer.retry(collection, path, status, isVisible);
    else this.#findRecord(access, path);
    return successResponse;
  }

  async getDocumentInfo(call: DocumentCall, request: GetDocumentInfoRequest): Promise<DocumentInfo> {
    checkPath(request.path);
    const access = this.#accessCollection(call, request.collection_name);
    const record = this.#findRecord(access, request.path);
    const { created_at: _, ...document } = this.#toResponse(call, access.collection, record);
    const { contents } = this.#options;
    const content = request.include_content ? await readDocumentText(contents, record.documentId) : null;
    return { document: { ...document, ...this.#parsedDetails(record.documentId), content } };
  }

  async getDocumentInfoList(
    call: DocumentCall,
    request: GetDocumentInfoListRequest,
  ): Promise<GetDocumentInfoListResponse> {
    const limit = request.limit ?? limits.listDocumentsMax;
    const prefix = request.path_prefix ?? null;
    const pathGt = request.path_gt ?? null;
    checkListLimit(limit);
    if (prefix !== null) checkPathBound('path_prefix', prefix);
    if (pathGt !== null) checkPathBound('path_gt', pathGt);
    const { collection, isVisible } = this.#accessCollection(call, request.collection_name);
    const { documents: all } = this.#options;
    const documents: DocumentMetadataResponse[] = [];
    const range = {
      // Documents that the caller may not read do not count, so the scan is not limited.
      ...(call.principal.restriction === undefined ? { limit } : {}),
      ...(prefix === null ? {} : { prefix }),
      ...(pathGt === null ? {} : { pathGt }),
    };
    const { collectionId } = collection;
    const records = request.only_failed ? all.listFailed(collectionId, range) : all.list(collectionId, range);
    for await (const record of records) {
      // A caller that may read few documents can force a scan of all of them; stop when the call is canceled.
      if (call.cancellation.isCanceled) break;
      const pause = call.yieldToEventLoop();
      if (pause !== null) await pause;
      if (!isVisible(record)) continue;
      documents.push(this.#toResponse(call, collection, record));
      if (documents.length === limit) break;
    }
    return { documents };
  }

  async getPageInfo(call: DocumentCall, request: GetPageInfoRequest): Promise<PageInfo> {
    const { versions, documentUrls } = this.#options;
    const { path, page_index: pageIndex } = request;
    checkPath(path);
    const access = this.#accessCollection(call, request.collection_name);
    const { collection } = access;
    const record = this.#findRecord(access, path);
    const { documentId, numPages, collectionId } = record;
    if (numPages === null || pageIndex < 0 || pageIndex >= numPages) {
      const pageStatus = numPages === null ? 'has no pages yet' : `has ${formatCount(numPages, 'page')}`;
      throw new AppError('not_found', `Page ${pageIndex} does not exist: the document ${pageStatus}.`);
    }
    const version = versions.get(collectionId, record.version);
    return {
      page: {
        id: deriveUuid(documentId, pageIndex),
        collection_name: collection.name,
        path,
        page_index: pageIndex,
        content: request.include_content ? this.#readPage(documentId, pageIndex) : null,
        image_url: version === undefined ? null : documentUrls.pageImageUrl(call.baseUrl, version, pageIndex),
      },
    };
  }

  #accessCollection({ principal, yieldToEventLoop }: DocumentCall, name: string): CollectionAccess {
    const collection = findCollection(this.#options.collections, principal, name);
    return {
      collection,
      principal,
      isVisible: (record) => canAccessDocument(principal, record),
      yieldToEventLoop,
    };
  }

  #findRecord({ collection, isVisible }: CollectionAccess, path: string): DocumentRecord {
    const record = this.#options.documents.get(collection.collectionId, path);
    if (record === undefined || !isVisible(record)) throw pathNotFound(collection, path);
    return record;
  }

  /** Runs all checks that are possible before any content is stored. */
  #checkInput(access: CollectionAccess, input: Pick<NewDocument, 'path' | 'metadata' | 'overwrite'>): void {
    const { admission, metadataBytesMax } = this.#options;
    checkPath(input.path);
    checkMetadata(input.metadata, metadataBytesMax(access.collection.organizationId));
    checkWriteAccess(access, input.metadata);
    admission.check(access.collection.organizationId);
  }

  /** Rejects an existing path before a file is stored; the writer checks again. */
  #checkPathAvailable(
    { collection, principal, isVisible }: CollectionAccess,
    { path, overwrite }: Pick<NewDocument, 'path' | 'overwrite'>,
  ): void {
    if (overwrite && principal.restriction === undefined) return;
    const existing = this.#options.documents.get(collection.collectionId, path);
    if (existing !== undefined) checkReplaceable(collection, existing, { overwrite, isVisible });
  }

  async #add(
    access: CollectionAccess,
    request: Omit<DocumentInput, 'collection_name' | 'wait'>,
  ): Promise<AddDocumentResult> {
    const { path, content } = request;
    const common = { path, metadata: request.metadata ?? {}, overwrite: request.overwrite ?? false };
    const { collection } = access;
    this.#checkInput(access, common);
    const vectorInput = await parseDocumentVectors(collection, request, access.yieldToEventLoop);
    if (content.type === 'auto') {
      this.#checkPathAvailable(access, common);
      const { blobs, fileBytesMax } = this.#options;
      const file = await blobs.put(decodeFile(content.base64_data, fileBytesMax));
      return this.#addFile(access, file, common);
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
      const document = toBatchDocument(item);
      const added = await this.#add(access, document);
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

  async #addFile(
    access: CollectionAccess,
    file: PinnedBlob,
    common: Pick<NewDocument, 'path' | 'metadata' | 'overwrite'>,
  ): Promise<AddDocumentResult> {
    const { blobs } = this.#options;
    try {
      const document: NewDocument = {
        ...common,
        contentKind: 'auto',
        contentType: fileContentType,
        rawHash: file.hash,
        size: file.size,
        pages: null,
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

  #toResponse(call: DocumentCall, collection: Collection, record: DocumentRecord): DocumentMetadataResponse {
    return {
      id: record.documentId,
      collection_name: collection.name,
      path: record.path,
      metadata: record.metadata as DocumentMetadataJson,
      index_status: record.status,
      created_at: new Date(record.createdAt).toISOString(),
      size: record.size,
      num_pages: record.numPages,
      file_url: this.#options.documentUrls.fileUrl(call.baseUrl, record.documentId),
      sha256: record.rawHash,
      error: record.error?.message ?? null,
      error_code: record.error?.code ?? null,
      ...this.#waitReason(record),
      ...this.#progress(record),
    };
  }

  #progress({ status, version }: DocumentRecord): Pick<DocumentMetadataResponse, 'progress'> {
    const parsing = status === 'parsing' ? this.#options.ingest.findParsing(version) : null;
    return parsing === null ? {} : { progress: toParsingProgress(parsing) };
  }

  /** Returns title, language and warnings found by parsing; empty before that. */
  #parsedDetails(documentId: string): Pick<DocumentResponse, 'title' | 'language' | 'warnings'> {
    const { contents } = this.#options;
    const parsed = contents.parsed.readHead(documentId) ?? contents.chunks.readLayout(documentId);
    return {
      title: parsed?.title ?? null,
      language: parsed?.language ?? null,
      warnings: [...(parsed?.warnings ?? [])],
    };
  }

  /** Returns the wait reason; only for a document that is not indexed yet. */
  #waitReason({ status, collectionId }: DocumentRecord): { waiting_for?: string } {
    if (status !== 'not_indexed' && status !== 'indexing') return {};
    const reason = this.#options.findWaitReason(collectionId);
    return reason === null ? {} : { waiting_for: reason };
  }

  #readPage(documentId: string, pageIndex: number): TextParts | null {
    const { contents } = this.#options;
    return (
      contents.parsed.readPage(documentId, pageIndex) ??
      contents.chunks.readPage(documentId, pageIndex) ??
      null
    );
  }
}

/** Errors: 403 for a document that its writer would not be allowed to read. */
function checkWriteAccess({ principal }: CollectionAccess, metadata: DocumentRecord['metadata']): void {
  if (canAccessDocument(principal, { metadata })) return;
  throw new AppError(
    'forbidden',
    'The metadata does not match the filter of this API key. The key can write only documents that it can read.',
  );
}

/** Errors: 422 for an item that does not match the schema. */
function toBatchDocument(item: unknown): Omit<DocumentInput, 'collection_name' | 'wait'> {
  return item instanceof PreparedBatchItem ? (item.unpack() as DocumentInput) : validateBatchDocument(item);
}

function pathOf(item: unknown): string | null {
  const path = (item as { path?: unknown } | null)?.path;
  return typeof path === 'string' ? path : null;
}

/** Computes pages, hash and size of a text variant. */
function toTextDocument(
  content: Exclude<DocumentContent, { type: 'auto' }> | PreparedText,
): Pick<NewDocument, 'contentKind' | 'contentType' | 'rawHash' | 'size' | 'pages'> {
  const { type, rawHash, size, pages } =
    content instanceof PreparedText ? content.content : analyzeText(content);
  return { contentKind: type, contentType: textContentType, rawHash, size, pages };
}
