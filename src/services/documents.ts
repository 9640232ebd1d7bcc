import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { formatCount } from '../core/format.ts';
import { deriveUuid } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { type DocumentWriter, type MetadataChanges, pathNotFound } from '../ingest/document-writer.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { GetDocumentInfoListRequest, GetDocumentInfoListResponse } from '../schemas/document-list.ts';
import type { GetDocumentTextRequest, GetDocumentTextResponse } from '../schemas/document-text.ts';
import type {
  DeleteDocumentRequest,
  DeleteDocumentResponse,
  DocumentMetadataResponse,
  DocumentResponse,
  GetDocumentInfoRequest,
  GetPageInfoRequest,
  GetPageInfoResponse,
  UpdateDocumentRequest,
} from '../schemas/documents.ts';
import { type DefaultResponse, type DocumentMetadataJson, successResponse } from '../schemas/wire.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import type { WriteOperation } from '../storage/store.ts';
import type { TextParts } from '../storage/text-parts.ts';
import type { Versions } from '../storage/versions.ts';
import { documentFilterOf } from './access-filter.ts';
import {
  accessCollection,
  type CollectionAccess,
  checkWritableMetadata,
  type DocumentCall,
  findDocument,
} from './document-access.ts';
import { isSortedList, readDocumentPage } from './document-list.ts';
import { readDocumentText } from './document-text.ts';
import type { IngestCheck } from './document-uploads.ts';
import type { DocumentUrls } from './document-urls.ts';
import { parseExpiry } from './expiry.ts';
import { patchMetadata } from './metadata-patch.ts';
import { toParsingProgress } from './status.ts';
import { readTextRange } from './text-range.ts';

export interface DocumentServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly writer: DocumentWriter;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly ingest: Pick<Ingest, 'findParsing'>;
  readonly documentUrls: DocumentUrls;
  readonly admission: IngestCheck;
  readonly metadataBytesMax: (organizationId: string) => number;
  /**
   * Returns the reason why documents of a collection are not being indexed, as a sentence; null when nothing
   * blocks them.
   */
  readonly findWaitReason: (collectionId: string) => string | null;
}

/** Maximum UTF-16 code units of a path in the audit log. */
const loggedPathUnitsMax = 256;

/** Response whose text is still in parts. */
type WithParts<Reply extends { readonly content?: unknown }> = Omit<Reply, 'content'> & {
  readonly content: TextParts | null;
};
export interface DocumentInfoReply {
  readonly document: WithParts<DocumentResponse>;
}
export interface PageInfo {
  readonly page: WithParts<GetPageInfoResponse['page']>;
}

/** Reads, updates and deletes documents. */
export class DocumentServices {
  readonly #options: DocumentServicesOptions;

  constructor(options: DocumentServicesOptions) {
    this.#options = options;
  }

  async deleteDocument(call: DocumentCall, request: DeleteDocumentRequest): Promise<DeleteDocumentResponse> {
    const { collection, isVisible } = accessCollection(
      this.#options.collections,
      call,
      request.collection_name,
    );
    const paths = typeof request.path === 'string' ? [request.path] : request.path;
    const erasesHistory = request.erase_history ?? false;
    // The versions of a document may have other metadata.
    if (erasesHistory && documentFilterOf(call.principal) !== null) throw historyForbiddenError();
    const auditOperations = [this.#deletionAuditOperation(call, collection, paths)];
    const deleted = await this.#options.writer.remove(collection, paths, {
      isVisible,
      extraOperations: auditOperations,
      erasesHistory,
    });
    if (deleted.length === 0) {
      throw paths.length === 1
        ? pathNotFound(collection, paths[0]!)
        : new AppError('not_found', 'None of these paths exist in the collection.');
    }
    return { deleted_paths: deleted, ...successResponse };
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
      organizationId,
      actor: actorOf(principal),
      address: address(),
      action: 'document.deleted',
      target: name,
      details: { paths: paths.length, ...path },
    });
  }

  async updateDocument(call: DocumentCall, request: UpdateDocumentRequest): Promise<DefaultResponse> {
    const { writer } = this.#options;
    const { path } = request;
    const { expires_at: expiry } = request;
    const expiresAt = typeof expiry === 'string' ? parseExpiry(expiry, call.now()) : expiry;
    const status = request.index_status ?? null;
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const { collection, isVisible } = access;
    const changed = changedField(request);
    if (changed !== null && status !== null) {
      throw new AppError(
        'bad_request',
        `${changed} and index_status cannot be combined: ${changed} requires an indexed document, index_status a failed one. Send two requests.`,
      );
    }
    if (changed !== null || status !== null) this.#options.admission.check(collection.organizationId);
    if (changed !== null) {
      findDocument(this.#options.documents, access, path);
      const changeMetadata = this.#createMetadataChange(access, request);
      const expiry = expiresAt === undefined ? {} : { expiresAt };
      const changes = (existing: DocumentRecord) => ({ ...changeMetadata(existing), ...expiry });
      await writer.updateMetadata(collection, path, changes, isVisible);
    } else if (status !== null) await writer.retry(collection, path, status, isVisible);
    else findDocument(this.#options.documents, access, path);
    return successResponse;
  }

  /** The returned function gets the current record. Errors of both: 400 and 403 for metadata that cannot be stored. */
  #createMetadataChange(
    access: CollectionAccess,
    { metadata, metadata_patch: patch }: UpdateDocumentRequest,
  ): (existing: DocumentRecord) => MetadataChanges {
    if (metadata != null && patch != null)
      throw new AppError('bad_request', 'metadata and metadata_patch cannot be combined. Send one of them.');
    if (metadata != null) {
      checkWritableMetadata(access, metadata);
      return () => ({ metadata });
    }
    if (patch == null) return () => ({});
    const bytesMax = this.#options.metadataBytesMax(access.collection.organizationId);
    return (existing) => ({ metadata: patchMetadata(access, existing, patch, bytesMax) });
  }

  async getDocumentInfo(call: DocumentCall, request: GetDocumentInfoRequest): Promise<DocumentInfoReply> {
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const record = findDocument(this.#options.documents, access, request.path);
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
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const page = await readDocumentPage(this.#options.documents, { call, access, limit }, request);
    const documents: DocumentMetadataResponse[] = [];
    for (const record of page.records) {
      const pause = call.yieldToEventLoop();
      if (pause !== null) await pause;
      documents.push(this.#toResponse(call, access.collection, record));
    }
    return {
      documents,
      ...(isSortedList(request) ? { next_cursor: page.nextCursor } : {}),
      ...(request.include_count === true ? { num_matching: page.matching } : {}),
      ...(page.facets === null ? {} : { facets: [...page.facets] }),
    };
  }

  async getPageInfo(call: DocumentCall, request: GetPageInfoRequest): Promise<PageInfo> {
    const { versions, documentUrls } = this.#options;
    const { path, page_index: pageIndex } = request;
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const { collection } = access;
    const record = findDocument(this.#options.documents, access, path);
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
        start_index: this.#options.contents.chunks.readPageStart(documentId, pageIndex),
        content: request.include_content ? this.#readPage(documentId, pageIndex) : null,
        image_url: version === undefined ? null : documentUrls.pageImageUrl(call.baseUrl, version, pageIndex),
      },
    };
  }

  async getDocumentText(
    call: DocumentCall,
    request: GetDocumentTextRequest,
  ): Promise<GetDocumentTextResponse> {
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const record = findDocument(this.#options.documents, access, request.path);
    const range = readTextRange(this.#options.contents, record, request);
    return { text: { collection_name: access.collection.name, path: record.path, ...range } };
  }

  #toResponse(call: DocumentCall, collection: Collection, record: DocumentRecord): DocumentMetadataResponse {
    return {
      id: record.documentId,
      collection_name: collection.name,
      path: record.path,
      metadata: record.metadata as DocumentMetadataJson,
      index_status: record.status,
      created_at: toTimestamp(record.createdAt),
      size: record.size,
      num_pages: record.numPages,
      file_url: this.#options.documentUrls.fileUrl(call.baseUrl, record.documentId),
      sha256: record.rawHash,
      error: record.error?.message ?? null,
      error_code: record.error?.code ?? null,
      ...(record.expiresAt === undefined ? {} : { expires_at: toTimestamp(record.expiresAt) }),
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

/** Returns the first field that changes an indexed document; null if there is none. */
function changedField(request: UpdateDocumentRequest): string | null {
  if (request.metadata != null) return 'metadata';
  if (request.metadata_patch != null) return 'metadata_patch';
  return request.expires_at === undefined ? null : 'expires_at';
}

function historyForbiddenError(): AppError {
  return new AppError(
    'forbidden',
    'erase_history requires an API key without a document filter. Use another key.',
  );
}
