import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import { derivedUuid } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { startInTurns, type Turns } from '../base/turns.ts';
import { withTimeout } from '../base/with-timeout.ts';
import {
  type AddedDocument,
  type DocumentWriter,
  type Growth,
  type NewDocument,
  pathUnknown,
  refuseTaken,
  type Sees,
  type TakeRoom,
} from '../pipeline/document-writer.ts';
import type { Ingest } from '../pipeline/ingest.ts';
import { decodeFile } from '../requests/base64.ts';
import {
  type GivenContent,
  type GivenVector,
  PreparedItem,
  PreparedText,
  textFacts,
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
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import { compileValidator } from '../schemas/validate.ts';
import { type DefaultResponse, type DocumentMetadataJson, success } from '../schemas/wire.ts';
import type { Blobs, HeldBlob } from '../store/blobs.ts';
import { type Collection, type Collections, hasOwnVectors } from '../store/collections.ts';
import type { Contents, TextParts } from '../store/content.ts';
import type { DocumentRecord, Documents } from '../store/documents.ts';
import type { Operation } from '../store/store.ts';
import type { Versions } from '../store/versions.ts';
import type { Addresses } from './addresses.ts';
import { type Call, msLeft } from './call.ts';
import { findCollection } from './collections.ts';
import { documentText } from './document-text.ts';
import { needsText, vectorsOfDocument } from './given-vectors.ts';
import { seesDocument } from './sight.ts';
import { progressOf } from './status.ts';

/** Decides whether one more document may come in now. */
export interface Admission {
  /** Throws `AppError` queue_full or reserve_reached, with the limit that it was. */
  check(organizationId: string): void;
}

/** What the limits of an organisation leave it; `access/quotas`. */
export interface DocumentQuotas {
  /** Null where nothing is limited. Errors: `rate_limited` with the limit that it was, and nothing is taken. */
  take(organizationId: string, growth: Growth): ReturnType<TakeRoom>;
}

export interface DocumentServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly blobs: Blobs;
  readonly writer: DocumentWriter;
  readonly audit: Pick<AuditLog, 'entry'>;
  readonly ingest: Ingest;
  readonly addresses: Addresses;
  readonly admission: Admission;
  readonly quotas: DocumentQuotas;
  /** Requests that may wait at one time; one without a share of them is answered at once. */
  readonly waits: { tryAcquire(organizationId: string): boolean; release(organizationId: string): void };
  /** Why documents of a collection are not indexed just now, as a sentence; null when nothing is in their way. */
  readonly waitsFor: (collectionId: string) => string | null;
  /** Bytes of one file, however it arrives. */
  readonly fileBytesMax: number;
  /** Bytes of metadata that an organisation may give one document. */
  readonly metadataBytesMax: (organizationId: string) => number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly turns: Turns;
}

/** UTF-16 code units of a path in the audit log. */
const pathUnitsLogged = 256;

type DocumentCall = Call<OrganisationPrincipal>;

/** A reply whose text is still in its parts. */
type WithParts<Reply extends { readonly content?: unknown }> = Omit<Reply, 'content'> & {
  readonly content: TextParts | null;
};
export interface DocumentInfo {
  readonly document: WithParts<DocumentResponse>;
}
export interface PageInfo {
  readonly page: WithParts<GetPageInfoResponse['page']>;
}

/** Where a document goes, and for whom. */
interface Place {
  readonly collection: Collection;
  readonly principal: OrganisationPrincipal;
  /** Documents that the caller does not see are not there for it. */
  readonly sees: Sees;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}

const textContentType = 'text/plain; charset=utf-8';
const fileContentType = 'application/octet-stream';
const terminal: readonly DocumentRecord['status'][] = ['indexed', 'parsing_failed', 'indexing_failed'];
const gone = 'The document was overwritten or deleted before it was indexed.';
const validateBatchDocument = compileValidator(BatchDocument);

/** A document as it came, or as a worker prepared it. */
type GivenDocument = Omit<AddDocumentRequest, 'content' | 'vector' | 'vectors'> & {
  readonly content: GivenContent;
  readonly vector?: GivenVector | undefined;
  readonly vectors?: readonly GivenVector[] | undefined;
};

/** Documents: add, upload, overwrite, delete, update, look at. */
export class DocumentServices {
  readonly #options: DocumentServicesOptions;

  constructor(options: DocumentServicesOptions) {
    this.#options = options;
  }

  async addDocument(call: DocumentCall, request: GivenDocument): Promise<Answer<AddDocumentResponse>> {
    const place = this.#place(call, request.collection_name);
    const added = await this.#add(place, request);
    const body = request.wait
      ? await this.#waiting(call, (signal) => this.#settled(place.collection, request.path, added, signal))
      : success;
    return { status: added.created ? 201 : 200, body };
  }

  /** Each document by itself: what is wrong with one stands in its own result. */
  async addDocuments(call: DocumentCall, request: AddDocumentsRequest): Promise<AddDocumentsResponse> {
    checkBatchSize(request.documents.length);
    const place = this.#place(call, request.collection_name);
    const { documents, wait } = request;
    const results = wait
      ? await this.#waiting(call, (signal) => this.#addAll(place, documents, signal))
      : await this.#addAll(place, documents, null);
    return { results };
  }

  /** Streams the file to disk while it arrives, hashed on the way. */
  async uploadDocument(
    call: DocumentCall,
    parameters: UploadParameters,
    body: AsyncIterable<Uint8Array>,
  ): Promise<Answer<AddDocumentResponse>> {
    const { path, metadata, overwrite, wait } = parameters;
    const place = this.#place(call, parameters.collection_name);
    const { collection } = place;
    this.#check(place, { path, metadata, overwrite });
    if (hasOwnVectors(collection)) throw needsText(collection);
    this.#checkFree(place, { path, overwrite });
    const file = await this.#receive(body);
    const received = { ...call, receivedAt: this.#options.clock.monotonic() }; // an upload may take its time
    const added = await this.#addFile(place, file, { path, metadata, overwrite });
    const answer = wait
      ? await this.#waiting(received, (signal) => this.#settled(collection, path, added, signal))
      : success;
    return { status: added.created ? 201 : 200, body: answer };
  }

  async deleteDocument(call: DocumentCall, request: DeleteDocumentRequest): Promise<DeleteDocumentResponse> {
    checkPaths(request.path);
    const { collection, sees } = this.#place(call, request.collection_name);
    const paths = typeof request.path === 'string' ? [request.path] : request.path;
    const alongside = [this.#entryOfDeletion(call, collection, paths)];
    const deleted = await this.#options.writer.remove(collection, paths, { sees, alongside });
    if (deleted.length === 0) {
      throw paths.length === 1
        ? pathUnknown(collection, paths[0]!)
        : new AppError('not_found', 'None of these paths exists in the collection.');
    }
    return { deleted_paths: deleted };
  }

  /**
   * One entry of the audit log for one call. Every deletion of the call writes it again under the same key, so that none
   * happens without it. A path may tell of contents, which zero data retention keeps out of logs.
   */
  #entryOfDeletion(
    { principal, address }: DocumentCall,
    { name }: Collection,
    paths: readonly string[],
  ): Operation {
    const { organizationId, zdr } = principal;
    const path = paths.length === 1 && !zdr ? { path: paths[0]!.slice(0, pathUnitsLogged) } : {};
    return this.#options.audit.entry({
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
    const place = this.#place(call, request.collection_name);
    const { collection, sees } = place;
    if (metadata !== null && status !== null) {
      throw new AppError(
        'bad_request',
        'metadata and index_status cannot be given together: one needs an indexed document, the other a failed one.',
      );
    }
    if (metadata !== null || status !== null) this.#options.admission.check(collection.organizationId);
    if (metadata !== null) {
      this.#record(place, path);
      refuseUnseen(place, metadata);
      await writer.updateMetadata(collection, path, metadata, sees);
    } else if (status !== null) await writer.retry(collection, path, status, sees);
    else this.#record(place, path);
    return success;
  }

  async getDocumentInfo(call: DocumentCall, request: GetDocumentInfoRequest): Promise<DocumentInfo> {
    checkPath(request.path);
    const place = this.#place(call, request.collection_name);
    const record = this.#record(place, request.path);
    const { created_at: _, ...document } = this.#describe(call, place.collection, record);
    const { contents } = this.#options;
    const content = request.include_content ? await documentText(contents, record.documentId) : null;
    return { document: { ...document, ...this.#found(record.documentId), content } };
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
    const { collection, sees } = this.#place(call, request.collection_name);
    const { documents: all } = this.#options;
    const documents: DocumentMetadataResponse[] = [];
    const range = {
      // Those that the caller does not see do not count.
      ...(call.principal.restriction === undefined ? { limit } : {}),
      ...(prefix === null ? {} : { prefix }),
      ...(pathGt === null ? {} : { pathGt }),
    };
    const { collectionId } = collection;
    const listed = request.only_failed ? all.listFailed(collectionId, range) : all.list(collectionId, range);
    for await (const record of listed) {
      // Whoever sees few of many may make it look at all of them: not when nobody waits any more.
      if (call.caller.gone) break;
      const turn = call.yieldToEventLoop();
      if (turn !== null) await turn;
      if (!sees(record)) continue;
      documents.push(this.#describe(call, collection, record));
      if (documents.length === limit) break;
    }
    return { documents };
  }

  async getPageInfo(call: DocumentCall, request: GetPageInfoRequest): Promise<PageInfo> {
    const { versions, addresses } = this.#options;
    const { path, page_index: pageIndex } = request;
    checkPath(path);
    const place = this.#place(call, request.collection_name);
    const { collection } = place;
    const record = this.#record(place, path);
    const { documentId, numPages, collectionId } = record;
    if (numPages === null || pageIndex < 0 || pageIndex >= numPages) {
      const has = numPages === null ? 'has no pages yet' : `has ${counted(numPages, 'page')}`;
      throw new AppError('not_found', `There is no page ${pageIndex}: the document ${has}.`);
    }
    const version = versions.get(collectionId, record.version);
    return {
      page: {
        id: derivedUuid(documentId, pageIndex),
        collection_name: collection.name,
        path,
        page_index: pageIndex,
        content: request.include_content ? this.#page(documentId, pageIndex) : null,
        image_url: version === undefined ? null : addresses.pageImage(call.baseUrl, version, pageIndex),
      },
    };
  }

  #place({ principal, yieldToEventLoop }: DocumentCall, name: string): Place {
    const collection = findCollection(this.#options.collections, principal, name);
    return { collection, principal, sees: (record) => seesDocument(principal, record), yieldToEventLoop };
  }

  #record({ collection, sees }: Place, path: string): DocumentRecord {
    const record = this.#options.documents.get(collection.collectionId, path);
    if (record === undefined || !sees(record)) throw pathUnknown(collection, path);
    return record;
  }

  /** Everything that can be said before a byte of content is stored. */
  #check(place: Place, input: Pick<NewDocument, 'path' | 'metadata' | 'overwrite'>): void {
    const { admission, metadataBytesMax } = this.#options;
    checkPath(input.path);
    checkMetadata(input.metadata, metadataBytesMax(place.collection.organizationId));
    refuseUnseen(place, input.metadata);
    admission.check(place.collection.organizationId);
  }

  /** The writer refuses a path that is taken; this says so before a file is stored for nothing. */
  #checkFree(
    { collection, principal, sees }: Place,
    { path, overwrite }: Pick<NewDocument, 'path' | 'overwrite'>,
  ): void {
    if (overwrite && principal.restriction === undefined) return;
    const existing = this.#options.documents.get(collection.collectionId, path);
    if (existing !== undefined) refuseTaken(collection, existing, { overwrite, sees });
  }

  async #add(place: Place, request: Omit<GivenDocument, 'collection_name' | 'wait'>): Promise<AddedDocument> {
    const { path, content } = request;
    const common = { path, metadata: request.metadata ?? {}, overwrite: request.overwrite ?? false };
    const { collection } = place;
    this.#check(place, common);
    const given = await vectorsOfDocument(collection, request, place.yieldToEventLoop);
    if (content.type === 'auto') {
      this.#checkFree(place, common);
      const { blobs, fileBytesMax } = this.#options;
      const file = await blobs.put(decodeFile(content.base64_data, fileBytesMax));
      return this.#addFile(place, file, common);
    }
    return this.#write(place, { ...common, ...textDocument(content), ...given });
  }

  /** `signal`: how long to wait until they are indexed; null: not at all. */
  async #addAll(
    place: Place,
    documents: readonly unknown[],
    signal: AbortSignal | null,
  ): Promise<BatchDocumentResult[]> {
    const adding = await startInTurns(this.#options.turns, documents, (item) =>
      this.#addOne(place, item, signal),
    );
    return Promise.all(adding);
  }

  /** `signal`: how long to wait until the document is indexed; null: not at all. */
  async #addOne(place: Place, item: unknown, signal: AbortSignal | null): Promise<BatchDocumentResult> {
    const path = pathOf(item);
    try {
      const document = batchDocument(item);
      const added = await this.#add(place, document);
      const status = added.created ? 201 : 200;
      if (signal === null) return { path, status };
      const { index_status } = await this.#settled(place.collection, document.path, added, signal);
      return { path, status, ...(index_status === undefined ? {} : { index_status }) };
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      const issue = error.options.issues?.[0];
      const detail = issue === undefined ? error.message : `${issue.loc.join('.')}: ${issue.msg}`;
      return { path, status: error.status, detail };
    }
  }

  async #receive(body: AsyncIterable<Uint8Array>): Promise<HeldBlob> {
    const writer = await this.#options.blobs.receive();
    try {
      for await (const bytes of body) await writer.write(bytes);
      return await writer.finish();
    } finally {
      await writer.abort();
    }
  }

  /** Writes a document within the limits of its organisation. */
  #write({ collection, sees }: Place, input: NewDocument): Promise<AddedDocument> {
    const { writer, quotas } = this.#options;
    return writer.add(collection, input, sees, (growth) => quotas.take(collection.organizationId, growth));
  }

  async #addFile(
    place: Place,
    file: HeldBlob,
    common: Pick<NewDocument, 'path' | 'metadata' | 'overwrite'>,
  ): Promise<AddedDocument> {
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
      const added = await this.#write(place, document);
      file.release();
      return added;
    } catch (error) {
      // A file that was refused after all belongs to nobody, unless another document refers to it.
      file.release();
      await blobs.collect(file.hash);
      throw error;
    }
  }

  /** Runs `work` with a signal that aborts `waitMsMax` after the request came: so long documents may be waited for. */
  async #waiting<T>(call: DocumentCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { waits, clock } = this.#options;
    const { organizationId } = call.principal;
    const mayWait = waits.tryAcquire(organizationId);
    const msMax = mayWait ? msLeft({ msMax: limits.waitMsMax, since: call.receivedAt }, clock) : 0;
    try {
      return await withTimeout({ signal: call.caller.signal, msMax }, work);
    } finally {
      if (mayWait) waits.release(organizationId);
    }
  }

  /**
   * Waits until the version is indexed or has failed, at most until `signal` aborts, and says how far it is. One that is
   * overwritten or deleted meanwhile gets no further, so it is answered at once with the status it had reached.
   */
  async #settled(
    collection: Collection,
    path: string,
    added: AddedDocument,
    signal: AbortSignal,
  ): Promise<AddDocumentResponse> {
    const { ingest, documents, collections } = this.#options;
    const { collectionId } = collection;
    const abandoned = await ingest.settled(added.version, signal);
    const current = documents.get(collectionId, path);
    const record = current?.version === added.version ? current : null;
    const isGone = record === null || collections.byId(collectionId) === undefined;
    const { status } = record ?? abandoned ?? added;
    const error = isGone && !terminal.includes(status) ? gone : (record?.error?.message ?? null);
    return { ...success, index_status: status, error, error_code: record?.error?.code ?? null };
  }

  #describe(call: DocumentCall, collection: Collection, record: DocumentRecord): DocumentMetadataResponse {
    return {
      id: record.documentId,
      collection_name: collection.name,
      path: record.path,
      metadata: record.metadata as DocumentMetadataJson,
      index_status: record.status,
      created_at: new Date(record.createdAt).toISOString(),
      size: record.size,
      num_pages: record.numPages,
      file_url: this.#options.addresses.file(call.baseUrl, record.documentId),
      sha256: record.rawHash,
      error: record.error?.message ?? null,
      error_code: record.error?.code ?? null,
      ...this.#obstacle(record),
      ...this.#progress(record),
    };
  }

  #progress({ status, version }: DocumentRecord): Pick<DocumentMetadataResponse, 'progress'> {
    const parsing = status === 'parsing' ? this.#options.ingest.parsing(version) : null;
    return parsing === null ? {} : { progress: progressOf(parsing) };
  }

  /** What reading the document brought to light beside its text; nothing before it was read. */
  #found(documentId: string): Pick<DocumentResponse, 'title' | 'language' | 'warnings'> {
    const { contents } = this.#options;
    const known = contents.parsedHead(documentId) ?? contents.layout(documentId);
    return {
      title: known?.title ?? null,
      language: known?.language ?? null,
      warnings: [...(known?.warnings ?? [])],
    };
  }

  /** Only of a document that waits for something: every other one is described as ever. */
  #obstacle({ status, collectionId }: DocumentRecord): { waiting_for?: string } {
    if (status !== 'not_indexed' && status !== 'indexing') return {};
    const reason = this.#options.waitsFor(collectionId);
    return reason === null ? {} : { waiting_for: reason };
  }

  #page(documentId: string, pageIndex: number): TextParts | null {
    const { contents } = this.#options;
    return contents.parsedPage(documentId, pageIndex) ?? contents.pageParts(documentId, pageIndex) ?? null;
  }
}

/** 403 for a document that whoever writes it would not see. */
function refuseUnseen({ principal }: Place, metadata: DocumentRecord['metadata']): void {
  if (seesDocument(principal, { metadata })) return;
  throw new AppError(
    'forbidden',
    'This API key writes only documents that it sees: these metadata do not match the filter that it is restricted to.',
  );
}

/** Throws what is wrong with it. */
function batchDocument(item: unknown): Omit<GivenDocument, 'collection_name' | 'wait'> {
  return item instanceof PreparedItem ? (item.unpack() as GivenDocument) : validateBatchDocument(item);
}

function pathOf(item: unknown): string | null {
  const path = (item as { path?: unknown } | null)?.path;
  return typeof path === 'string' ? path : null;
}

/** The pages of a text variant and what is known of them at once. */
function textDocument(
  content: Exclude<DocumentContent, { type: 'auto' }> | PreparedText,
): Pick<NewDocument, 'contentKind' | 'contentType' | 'rawHash' | 'size' | 'pages'> {
  const { type, rawHash, size, pages } = content instanceof PreparedText ? content.facts : textFacts(content);
  return { contentKind: type, contentType: textContentType, rawHash, size, pages };
}
