// Generated from the OpenAPI document. `CLIENT_SOURCE=write node dist/test/packages/generated-client.test.js` updates it.

import type {
  AddAPIKeyRequest,
  AddAPIKeyResponse,
  AddAliasRequest,
  AddCollectionRequest,
  AddDocumentRequest,
  AddDocumentResponse,
  AddDocumentsRequest,
  AddDocumentsResponse,
  AddSourceRequest,
  AddWebhookRequest,
  AdminDeleteOrganizationRequest,
  AnswerRequest,
  AnswerResponse,
  AuditLogRequest,
  AuditLogResponse,
  BackupStatusResponse,
  BeginSecondFactorResponse,
  ChangeModelRequest,
  CloneCollectionRequest,
  CloneCollectionResponse,
  CohereEmbedRequest,
  CohereEmbedResponse,
  CohereRerankRequest,
  CohereRerankResponse,
  CohereRerankV2Request,
  CohereRerankV2Response,
  ConfirmSecondFactorResponse,
  CreateBackupRequest,
  CreateOrganizationRequest,
  DefaultResponse,
  DeleteAPIKeyRequest,
  DeleteAliasRequest,
  DeleteCollectionRequest,
  DeleteDocumentRequest,
  DeleteDocumentResponse,
  DeleteDocumentsRequest,
  DeleteDocumentsResponse,
  DeleteSourceRequest,
  DeleteUserPasskeysRequest,
  DocumentUsageResponse,
  EmbedRequest,
  EmbedResponse,
  EmbedUsageResponse,
  EmptyRequest,
  ExportDocumentsRequest,
  ExportDocumentsResponse,
  GetAliasListResponse,
  GetChangesRequest,
  GetChangesResponse,
  GetCollectionInfoRequest,
  GetCollectionInfoResponse,
  GetCollectionListResponse,
  GetDocumentInfoListRequest,
  GetDocumentInfoListResponse,
  GetDocumentInfoRequest,
  GetDocumentInfoResponse,
  GetDocumentTextRequest,
  GetDocumentTextResponse,
  GetHealthResponse,
  GetLogLinesRequest,
  GetLogLinesResponse,
  GetModelListRequest,
  GetModelListResponse,
  GetOrganizationRequest,
  GetOrganizationResponse,
  GetPageInfoRequest,
  GetPageInfoResponse,
  GetSettingsResponse,
  GetSourceItemListRequest,
  GetSourceItemListResponse,
  GetSourceListResponse,
  InspectOrganizationRequest,
  InspectOrganizationResponse,
  ListAPIKeysRequest,
  ListAPIKeysResponse,
  ListDeliveriesResponse,
  ListOrganizationsRequest,
  ListOrganizationsResponse,
  ListUserPasskeysResponse,
  ListUsersRequest,
  ListUsersResponse,
  ListWebhooksResponse,
  ModelsUsageCountersResponse,
  OpenAiEmbeddingsRequest,
  OpenAiEmbeddingsResponse,
  OpenAiModel,
  OpenAiModelList,
  ParseDocumentRequest,
  ParseDocumentResponse,
  PasswordLinkResponse,
  PreviewSourceResponse,
  QueryUsageResponse,
  RenameCollectionRequest,
  ReplayWebhookRequest,
  RerankRequest,
  RerankResponse,
  RerankUsageResponse,
  SecondFactorCodeRequest,
  SecondFactorStatusResponse,
  SourceRequest,
  SourceResponse,
  StatusRequest,
  StatusResponse,
  SuggestRequest,
  SuggestResponse,
  SyncSourceRequest,
  TestWebhookResponse,
  TopDocumentsRequest,
  TopDocumentsResponse,
  TopPagesRequest,
  TopPagesResponse,
  TopSnippetsRequest,
  TopSnippetsResponse,
  UpdateAPIKeyRequest,
  UpdateAliasesRequest,
  UpdateCollectionRequest,
  UpdateDocumentRequest,
  UpdateDocumentsRequest,
  UpdateDocumentsResponse,
  UpdateOrganizationRequest,
  UpdateSourceRequest,
  UpdateWebhookRequest,
  UsageCountersResponse,
  UsageRequest,
  UserRequest,
  VectorStoreSearchRequest,
  VectorStoreSearchResponse,
  WebhookRequest,
  WebhookSecretResponse,
} from './schemas.ts';
import { type CallOptions, encodeSegment, type Transport } from '../transport.ts';
import { type PutDocumentRequest, putDocument, type UploadDocumentRequest, uploadDocument } from '../uploads.ts';

export class CollectionsApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a collection: `POST /v1/collections/add-collection`. Creates an empty collection. The number of
   * shards cannot be changed later.
   */
  addCollection(request: AddCollectionRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/add-collection', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete a collection: `POST /v1/collections/delete-collection`. Deletes a collection with all its
   * documents. Returns immediately; disk space is freed in the background.
   */
  deleteCollection(request: DeleteCollectionRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/delete-collection', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change the settings of a collection: `POST /v1/collections/update-collection`. Replaces the settings that
   * the request contains. `query_defaults`, `synonyms`, `stop_words` and `curations` apply to queries that
   * start afterwards, `default_ttl_seconds` to documents that are added afterwards, `metadata_schema` to
   * both, `history_days` to versions that are replaced or deleted afterwards. Absent fields do not change.
   */
  updateCollection(request: UpdateCollectionRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/update-collection', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change the embedding model of a collection: `POST /v1/collections/change-model`. Recomputes the vectors
   * of a collection with another model, or with a new version of the same model, in the background. Queries
   * use the old vectors until all new vectors exist and then switch in one step; documents can be added and
   * deleted meanwhile. `status/get-status` shows the progress under `model_changes`. Send the current model
   * of the collection to cancel the change.
   */
  changeModel(request: ChangeModelRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/change-model', json: request, isRead: false },
      options,
    );
  }

  /**
   * Rename a collection: `POST /v1/collections/rename-collection`. Changes the name of a collection
   * immediately. Documents, aliases and running work are unaffected. API keys that are restricted to the old
   * name lose access; those restricted to the new name gain it.
   */
  renameCollection(request: RenameCollectionRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/rename-collection', json: request, isRead: false },
      options,
    );
  }

  /**
   * Copy a collection: `POST /v1/collections/clone-collection`. Creates a collection with the same settings
   * and copies documents with their text, vectors and metadata; files are shared. Nothing is parsed or
   * embedded again. One call copies documents for up to 20 seconds; repeat it with the `path_gt` of its reply
   * until that is null. Copied documents become searchable within seconds.
   */
  cloneCollection(request: CloneCollectionRequest, options?: CallOptions): Promise<CloneCollectionResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/clone-collection', json: request, isRead: false },
      options,
    );
  }

  /**
   * Describe a collection: `POST /v1/collections/get-collection-info`. Returns the settings of a collection,
   * such as its shards, embedding model and query defaults.
   */
  getCollectionInfo(request: GetCollectionInfoRequest, options?: CallOptions): Promise<GetCollectionInfoResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/get-collection-info', json: request, isRead: true },
      options,
    );
  }

  /**
   * List the collections: `POST /v1/collections/get-collection-list`. Lists the names of all collections of
   * the caller. The body may be empty.
   */
  getCollectionList(request: EmptyRequest = {}, options?: CallOptions): Promise<GetCollectionListResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/collections/get-collection-list', json: request, isRead: true },
      options,
    );
  }
}

export class AliasesApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create an alias: `POST /v1/aliases/add-alias`. Adds another name for a collection. Operations on
   * documents and queries accept it as `collection_name`; replies contain the name of the collection. Keys
   * that are restricted to collections are checked by the name of the collection.
   */
  addAlias(request: AddAliasRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/aliases/add-alias', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change several aliases at once: `POST /v1/aliases/update-aliases`. Creates, changes and deletes up to 64
   * aliases in one atomic step: a query sees either all changes or none. To replace a collection without
   * downtime, fill a new one, then point the alias at it.
   */
  updateAliases(request: UpdateAliasesRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/aliases/update-aliases', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete an alias: `POST /v1/aliases/delete-alias`. Deletes an alias; its collection is unchanged. Deleting
   * a collection deletes its aliases.
   */
  deleteAlias(request: DeleteAliasRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/aliases/delete-alias', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the aliases: `POST /v1/aliases/get-alias-list`. Lists the aliases of all collections that the caller
   * may access. The body may be empty.
   */
  getAliasList(request: EmptyRequest = {}, options?: CallOptions): Promise<GetAliasListResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/aliases/get-alias-list', json: request, isRead: true },
      options,
    );
  }
}

export class DocumentsApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Add a document: `POST /v1/documents/add-document`. Adds a document, or replaces one atomically with
   * `overwrite`. The reply confirms that the document is durable on disk. The document is searchable when its
   * `index_status` is `indexed`; set `wait` to wait for that. Until then, queries use the previous version.
   */
  addDocument(request: AddDocumentRequest, options?: CallOptions): Promise<AddDocumentResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/add-document', json: request, isRead: false },
      options,
    );
  }

  /**
   * Add several documents: `POST /v1/documents/add-documents`. Adds up to 256 documents to one collection.
   * Each document is added or rejected individually: check the status of each result, which is the status
   * that add-document would return.
   */
  addDocuments(request: AddDocumentsRequest, options?: CallOptions): Promise<AddDocumentsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/add-documents', json: request, isRead: false },
      options,
    );
  }

  /**
   * Upload a document as the raw body: `PUT /v1/documents/{collection}/{path}`. The body is the file, up to
   * the upload limit; it is streamed to disk. Percent-encode the collection and the path; the path may
   * contain `%2F`. Send metadata as base64url-encoded JSON in the header `x-quarry-metadata`.
   * `?overwrite=true` and `?wait=true` work as in add-document. Example: `curl -T report.pdf -H
   * "Authorization: Bearer $KEY" "$URL/v1/documents/handbook/reports%2F2026.pdf?wait=true"`.
   */
  putDocument(request: PutDocumentRequest, options?: CallOptions): Promise<AddDocumentResponse> {
    return putDocument(this.#transport, request, options);
  }

  /**
   * Upload a document as a form: `POST /v1/documents/upload`. A `multipart/form-data` form with the fields
   * `collection_name` and `path`, optionally `metadata` (JSON), `overwrite` and `wait` (`true` or `false`),
   * and the field `file` last. The file is streamed to disk. Example: `curl -H "Authorization: Bearer $KEY"
   * -F collection_name=handbook -F path=report.pdf -F file=@report.pdf "$URL/v1/documents/upload"`.
   */
  uploadDocument(request: UploadDocumentRequest, options?: CallOptions): Promise<AddDocumentResponse> {
    return uploadDocument(this.#transport, request, options);
  }

  /**
   * Change a document, or retry a failed one: `POST /v1/documents/update-document`. With `metadata`: replaces
   * the metadata of an `indexed` document; with `metadata_patch`: changes some of its attributes; with
   * `expires_at`: changes its expiry time. The old values apply to queries until the new ones are indexed.
   * With `index_status`: retries a failed document; cannot be combined with the other fields. A request
   * without any of these fields changes nothing.
   */
  updateDocument(request: UpdateDocumentRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/update-document', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete documents: `POST /v1/documents/delete-document`. Deletes up to 64 documents and removes them from
   * search immediately. The reply lists the documents that existed.
   */
  deleteDocument(request: DeleteDocumentRequest, options?: CallOptions): Promise<DeleteDocumentResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/delete-document', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete documents by filter: `POST /v1/documents/delete-documents`. Deletes up to 1,024 documents whose
   * metadata matches a filter, or whose paths start with a prefix, in the order of their paths. Repeat the
   * call while `has_more` is true. With `dry_run`, nothing is deleted, and the reply lists the documents that
   * would be. Documents are deleted one by one: after an error, repeat the call to continue.
   */
  deleteDocuments(request: DeleteDocumentsRequest, options?: CallOptions): Promise<DeleteDocumentsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/delete-documents', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change metadata by filter: `POST /v1/documents/update-documents`. Applies a JSON merge patch (RFC 7396)
   * to the metadata of up to 1,024 documents that match a filter or a prefix, in the order of their paths.
   * Documents that the patch does not change are left out, so repeat the call while `has_more` is true.
   * Documents that are not `indexed` are skipped. With `dry_run`, nothing changes, and the reply lists the
   * documents that would.
   */
  updateDocuments(request: UpdateDocumentsRequest, options?: CallOptions): Promise<UpdateDocumentsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/update-documents', json: request, isRead: false },
      options,
    );
  }

  /**
   * Describe a document: `POST /v1/documents/get-document-info`. Returns the index status, the size and the
   * download URL of a document, and its full text on request.
   */
  getDocumentInfo(request: GetDocumentInfoRequest, options?: CallOptions): Promise<GetDocumentInfoResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/get-document-info', json: request, isRead: true },
      options,
    );
  }

  /**
   * List documents: `POST /v1/documents/get-document-info-list`. Lists up to 1,024 documents in ascending
   * order of their paths (by UTF-8 bytes). For the next page, send the last path as `path_gt`; repeat until
   * the list is empty. Filters select documents by path, state, extension and time. With `sort_by`, send
   * `next_cursor` of the reply as `cursor` until it is null.
   */
  getDocumentInfoList(request: GetDocumentInfoListRequest, options?: CallOptions): Promise<GetDocumentInfoListResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/get-document-info-list', json: request, isRead: true },
      options,
    );
  }

  /**
   * Describe a page: `POST /v1/documents/get-page-info`. Returns the text of a page and the URL of its image,
   * if it has one.
   */
  getPageInfo(request: GetPageInfoRequest, options?: CallOptions): Promise<GetPageInfoResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/get-page-info', json: request, isRead: true },
      options,
    );
  }

  /**
   * Export documents with their content: `POST /v1/documents/export-documents`. Lists documents in ascending
   * order of their paths with metadata and text, in the format of add-documents. Files have a `file_url`. To
   * import a file without parsing it again, add its bytes to `content` as `base64_data`. For the next
   * documents, send the last path as `path_gt`; repeat until the list is empty.
   */
  exportDocuments(request: ExportDocumentsRequest, options?: CallOptions): Promise<ExportDocumentsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/export-documents', json: request, isRead: true },
      options,
    );
  }

  /**
   * Read a part of a document: `POST /v1/documents/get-document-text`. Returns a part of the text of a
   * document, by page or by position. To continue, send `next_index` as `start_index`. The document must be
   * indexed.
   */
  getDocumentText(request: GetDocumentTextRequest, options?: CallOptions): Promise<GetDocumentTextResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/documents/get-document-text', json: request, isRead: true },
      options,
    );
  }

  /**
   * Download a raw document: `GET /v1/documents/get-document`. The URL that replies contain as `file_url`.
   * Its token is the only credential and expires when the document is deleted or replaced. Returns the bytes
   * as they were added (UTF-8 for a text document). Supports range requests; replies are immutable and
   * cacheable.
   */
  getDocument(request: {
    /** The credential. */
    readonly token: string;
  }, options?: CallOptions): Promise<Response> {
    const { token } = request;
    return this.#transport.open(
      { method: 'GET', path: '/v1/documents/get-document', query: { token }, isRead: true },
      options,
    );
  }

  /**
   * Download the image of a page: `GET /v1/documents/get-page-image`. The URL that replies contain as
   * `image_url`: a JPEG of one page, rendered on the first request. Add `&width=` (1 to 2000 pixels) for a
   * smaller image; the width is rounded up to 128, 256, 384, 512, 768, 1024, 1536 or 2000. Images are never
   * enlarged.
   */
  getPageImage(request: {
    /** The credential. */
    readonly token: string;
    /** Minimum width of the image in pixels; rounded up to the next available width. */
    readonly width?: number | undefined;
  }, options?: CallOptions): Promise<Response> {
    const { token, width } = request;
    return this.#transport.open(
      { method: 'GET', path: '/v1/documents/get-page-image', query: { token, width }, isRead: true },
      options,
    );
  }
}

export class ChangesApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Read the changes of documents and collections: `POST /v1/changes/get-changes`. Returns the changes after
   * a cursor, in the order in which they were made. Changes are recorded from the first call of an
   * organization and kept for 7 days, at most 100,000. A restricted key gets the changes of its collections
   * and of documents that match its filter.
   */
  getChanges(request: GetChangesRequest = {}, options?: CallOptions): Promise<GetChangesResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/changes/get-changes', json: request, isRead: true },
      options,
    );
  }

  /**
   * Follow the changes of documents and collections: `GET /v1/changes`. Same as `get-changes`, with the
   * fields in the query string. With `accept: text/event-stream`, the reply is a stream of server-sent
   * events: the name of an event is the type of the change, its data is the change, and its id is the cursor.
   * A client that reconnects sends the cursor as `last-event-id`.
   */
  streamChanges(request: {
    /**
     * The `cursor` of an earlier reply, or `oldest` for the oldest change that is kept. Without it, the reply
     * has no changes and a cursor for the current end of the feed.
     */
    readonly after?: string | undefined;
    /** Maximum number of changes, from 1 to 1,000. Default: `100`. */
    readonly limit?: number | undefined;
    /**
     * Maximum number of seconds to wait if there is no change after the position yet, from 0 to 30. Default:
     * `0`.
     */
    readonly wait_seconds?: number | undefined;
  } = {}, options?: CallOptions): Promise<GetChangesResponse> {
    const { after, limit, wait_seconds } = request;
    return this.#transport.call(
      { method: 'GET', path: '/v1/changes', query: { after, limit, wait_seconds }, isRead: true },
      options,
    );
  }
}

export class SourcesApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a source: `POST /v1/sources/add-source`. Makes a collection follow an origin: when items of the
   * origin are added, changed or deleted, so are their documents. The first run starts immediately, unless
   * the schedule is `off`.
   */
  addSource(request: AddSourceRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/add-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change a source: `POST /v1/sources/update-source`. Changes settings, schedule, metadata or credentials. A
   * run in progress restarts with the new settings.
   */
  updateSource(request: UpdateSourceRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/update-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete a source: `POST /v1/sources/delete-source`. Deletes a source and, with `delete_documents`, its
   * documents. Deletion continues in the background; the source is listed until it is complete.
   */
  deleteSource(request: DeleteSourceRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/delete-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * Get a source: `POST /v1/sources/get-source`. Returns the settings of a source, its progress and the
   * result of its last run.
   */
  getSource(request: SourceRequest, options?: CallOptions): Promise<SourceResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/get-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the sources: `POST /v1/sources/get-source-list`. Lists the sources of all collections. The body may
   * be empty.
   */
  getSourceList(request: EmptyRequest = {}, options?: CallOptions): Promise<GetSourceListResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/get-source-list', json: request, isRead: false },
      options,
    );
  }

  /**
   * Synchronize a source now: `POST /v1/sources/sync-source`. Requests a run and returns immediately; poll
   * `get-source` until `state` is `idle`. A request during a run causes another one.
   */
  syncSource(request: SyncSourceRequest, options?: CallOptions): Promise<SourceResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/sync-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * Preview a synchronization: `POST /v1/sources/preview-source`. Dry run: lists the origin and returns the
   * changes that a run would make.
   */
  previewSource(request: SourceRequest, options?: CallOptions): Promise<PreviewSourceResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/preview-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the items of a source: `POST /v1/sources/get-source-item-list`. Returns the result of the last
   * change of each item. For the next page, send `next_key_gt` as `key_gt`; repeat until it is null.
   */
  getSourceItemList(request: GetSourceItemListRequest, options?: CallOptions): Promise<GetSourceItemListResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/get-source-item-list', json: request, isRead: false },
      options,
    );
  }

  /**
   * Pause a source: `POST /v1/sources/pause-source`. Interrupts the run in progress and starts no other until
   * the source is resumed.
   */
  pauseSource(request: SourceRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/pause-source', json: request, isRead: false },
      options,
    );
  }

  /**
   * Resume a source: `POST /v1/sources/resume-source`. Ends a pause. A run that is due starts immediately.
   */
  resumeSource(request: SourceRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/sources/resume-source', json: request, isRead: false },
      options,
    );
  }
}

export class WebhooksApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a webhook: `POST /v1/webhooks/add-webhook`. From now on, changes are sent to the URL: in order, at
   * least once, signed as defined by Standard Webhooks. The reply contains the secret, which is shown only
   * once.
   */
  addWebhook(request: AddWebhookRequest, options?: CallOptions): Promise<WebhookSecretResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/add-webhook', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the webhooks: `POST /v1/webhooks/list-webhooks`. Lists all webhooks with their state. The body may
   * be empty.
   */
  listWebhooks(request: EmptyRequest = {}, options?: CallOptions): Promise<ListWebhooksResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/list-webhooks', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change, pause or activate a webhook: `POST /v1/webhooks/update-webhook`. Changes the fields that are set.
   * Activating a failed webhook continues with the first undelivered change that is still kept.
   */
  updateWebhook(request: UpdateWebhookRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/update-webhook', json: request, isRead: false },
      options,
    );
  }

  /** Delete a webhook: `POST /v1/webhooks/delete-webhook`. Deletes a webhook and its list of deliveries. */
  deleteWebhook(request: WebhookRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/delete-webhook', json: request, isRead: false },
      options,
    );
  }

  /**
   * Replace the secret of a webhook: `POST /v1/webhooks/rotate-webhook-secret`. Returns a new secret. For a
   * day, deliveries are also signed with the previous one.
   */
  rotateWebhookSecret(request: WebhookRequest, options?: CallOptions): Promise<WebhookSecretResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/rotate-webhook-secret', json: request, isRead: false },
      options,
    );
  }

  /**
   * Send a test message: `POST /v1/webhooks/test-webhook`. Sends one message of the type `webhook.test` and
   * returns the outcome.
   */
  testWebhook(request: WebhookRequest, options?: CallOptions): Promise<TestWebhookResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/test-webhook', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the last deliveries of a webhook: `POST /v1/webhooks/list-deliveries`. Lists the last 50 attempts,
   * newest first.
   */
  listDeliveries(request: WebhookRequest, options?: CallOptions): Promise<ListDeliveriesResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/list-deliveries', json: request, isRead: false },
      options,
    );
  }

  /**
   * Deliver changes again: `POST /v1/webhooks/replay-webhook`. Delivers all changes again, starting with this
   * number.
   */
  replayWebhook(request: ReplayWebhookRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/webhooks/replay-webhook', json: request, isRead: false },
      options,
    );
  }
}

export class QueriesApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Find documents: `POST /v1/queries/top-documents`. Returns the most relevant documents for a query, each
   * once. With `null` as the query, lists the documents that match the filter.
   */
  topDocuments(request: TopDocumentsRequest, options?: CallOptions): Promise<TopDocumentsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/queries/top-documents', json: request, isRead: true },
      options,
    );
  }

  /**
   * Find pages: `POST /v1/queries/top-pages`. Returns the most relevant pages for a query, and each of their
   * documents once.
   */
  topPages(request: TopPagesRequest, options?: CallOptions): Promise<TopPagesResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/queries/top-pages', json: request, isRead: true },
      options,
    );
  }

  /**
   * Find snippets: `POST /v1/queries/top-snippets`. Returns the most relevant snippets for a query, each with
   * its exact position in the text of its document, and each of their documents once.
   */
  topSnippets(request: TopSnippetsRequest, options?: CallOptions): Promise<TopSnippetsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/queries/top-snippets', json: request, isRead: true },
      options,
    );
  }

  /**
   * Complete a query: `POST /v1/queries/suggest`. Completes the last word of a query, and the whole query,
   * with words and titles of the documents that the key may read. Does not count as a query.
   */
  suggest(request: SuggestRequest, options?: CallOptions): Promise<SuggestResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/queries/suggest', json: request, isRead: true },
      options,
    );
  }

  /**
   * Find snippets (OpenAI format): `POST /v1/vector_stores/{vector_store_id}/search`. Like
   * `/queries/top-snippets`, in the request and reply format of vector stores of OpenAI. The ID of a vector
   * store is the name of a collection.
   */
  async searchVectorStore(request: VectorStoreSearchRequest & {
    readonly vector_store_id: string;
  }, options?: CallOptions): Promise<VectorStoreSearchResponse> {
    const { vector_store_id, ...body } = request;
    return this.#transport.call(
      { method: 'POST', path: `/v1/vector_stores/${encodeSegment(vector_store_id)}/search`, json: body, isRead: true },
      options,
    );
  }
}

export class AnswersApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Answer a question: `POST /v1/answers`. Answers a question with the chat model of the server, from the
   * most relevant snippets. Each sentence names the snippets that it cites; sentences without a valid
   * citation are left out, and `answer` is null if none remain. With `stream: true`, the reply is a stream of
   * server-sent events: `sentence` for each sentence, then `answer` with the whole reply, or `error`.
   */
  answer(request: AnswerRequest, options?: CallOptions): Promise<AnswerResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/answers', json: request, isRead: true },
      options,
    );
  }
}

export class StatusApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Count documents by status: `POST /v1/status/get-status`. Returns the number of documents that are being
   * processed, are indexed or have failed, in one collection or in all.
   */
  getStatus(request: StatusRequest = {}, options?: CallOptions): Promise<StatusResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/status/get-status', json: request, isRead: true },
      options,
    );
  }
}

export class ParsersApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Parse a file without storing it: `POST /v1/parsers/parse-document`. Returns the text of a file, page by
   * page, and stores nothing. A file that cannot be parsed returns 400 with the reason.
   */
  parseDocument(request: ParseDocumentRequest, options?: CallOptions): Promise<ParseDocumentResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/parsers/parse-document', json: request, isRead: true },
      options,
    );
  }
}

export class ModelsApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List the models: `POST /v1/models/get-model-list`. Lists the names of embedding models and rerankers that
   * requests can use: built-in models and models added by the operator. With `include_details`, also returns
   * their kind, source, dimensions, latency and collections. The body may be empty.
   */
  getModelList(request: GetModelListRequest = {}, options?: CallOptions): Promise<GetModelListResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/models/get-model-list', json: request, isRead: true },
      options,
    );
  }

  /**
   * Embed texts: `POST /v1/models/embed`. Converts texts to vectors of unit length, in the same order. The
   * vector of a query is close to the vectors of documents that answer it. Vectors can be shortened to their
   * first dimensions. The reply header `x-quarry-model` names the model as `name@version`.
   */
  embed(request: EmbedRequest, options?: CallOptions): Promise<EmbedResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/models/embed', json: request, isRead: true },
      options,
    );
  }

  /**
   * Rerank texts by relevance: `POST /v1/models/rerank`. Scores each text against a query from 0 to 1 and
   * returns the scores in descending order. The reply header `x-quarry-model` names the model as
   * `name@version`.
   */
  rerank(request: RerankRequest, options?: CallOptions): Promise<RerankResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/models/rerank', json: request, isRead: true },
      options,
    );
  }

  /**
   * Embed texts (OpenAI format): `POST /v1/embeddings`. Like `/models/embed`, in the request and reply format
   * of OpenAI, Jina and Voyage clients.
   */
  embeddings(request: OpenAiEmbeddingsRequest, options?: CallOptions): Promise<OpenAiEmbeddingsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/embeddings', json: request, isRead: true },
      options,
    );
  }

  /**
   * List the models (OpenAI format): `GET /v1/models`. Lists the names of all embedding models and rerankers.
   */
  listOpenaiModels(options?: CallOptions): Promise<OpenAiModelList> {
    return this.#transport.call(
      { method: 'GET', path: '/v1/models', isRead: true },
      options,
    );
  }

  /** Describe a model (OpenAI format): `GET /v1/models/{model}`. Returns the model if the server has it. */
  async getOpenaiModel(request: {
    readonly model: string;
  }, options?: CallOptions): Promise<OpenAiModel> {
    const { model } = request;
    return this.#transport.call(
      { method: 'GET', path: `/v1/models/${encodeSegment(model)}`, isRead: true },
      options,
    );
  }

  /**
   * Rerank texts (Cohere format): `POST /v1/rerank`. Like `/models/rerank`, in the request and reply format
   * of Cohere, Jina and Voyage clients.
   */
  cohereRerank(request: CohereRerankRequest, options?: CallOptions): Promise<CohereRerankResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/rerank', json: request, isRead: true },
      options,
    );
  }

  /**
   * Rerank texts (Cohere format, version 2): `POST /v2/rerank`. Like `/models/rerank`, in the request and
   * reply format of version 2 of Cohere.
   */
  cohereRerankV2(request: CohereRerankV2Request, options?: CallOptions): Promise<CohereRerankV2Response> {
    return this.#transport.call(
      { method: 'POST', path: '/v2/rerank', json: request, isRead: true },
      options,
    );
  }

  /**
   * Embed texts (Cohere format, version 2): `POST /v2/embed`. Like `/models/embed`, in the request and reply
   * format of version 2 of Cohere.
   */
  cohereEmbed(request: CohereEmbedRequest, options?: CallOptions): Promise<CohereEmbedResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v2/embed', json: request, isRead: true },
      options,
    );
  }
}

export class AdminApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create an organization: `POST /v1/admin/create-organization`. Creates an organization with an ID of your
   * choice. Its initial tier is `free`.
   */
  createOrganization(request: CreateOrganizationRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/create-organization', json: request, isRead: false },
      options,
    );
  }

  /**
   * List organizations: `POST /v1/admin/list-organizations`. Lists all organizations of the installation,
   * ordered by ID. For the next page, send `next_after` as `after`; repeat until it is null.
   */
  listOrganizations(request: ListOrganizationsRequest = {}, options?: CallOptions): Promise<ListOrganizationsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/list-organizations', json: request, isRead: false },
      options,
    );
  }

  /**
   * Describe an organization: `POST /v1/admin/get-organization`. Returns the tier, overrides, effective
   * limits, storage usage and data retention setting.
   */
  getOrganization(request: GetOrganizationRequest, options?: CallOptions): Promise<GetOrganizationResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-organization', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change an organization: `POST /v1/admin/update-organization`. Changes the fields that are present. An
   * override of 0 removes the override.
   */
  updateOrganization(request: UpdateOrganizationRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/update-organization', json: request, isRead: false },
      options,
    );
  }

  /**
   * Create an API key: `POST /v1/admin/add-api-key`. Creates an API key for an organization. The key is shown
   * only in this reply.
   */
  addApiKey(request: AddAPIKeyRequest, options?: CallOptions): Promise<AddAPIKeyResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/add-api-key', json: request, isRead: false },
      options,
    );
  }

  /** List API keys: `POST /v1/admin/list-api-keys`. Lists the API keys of an organization, masked. */
  listApiKeys(request: ListAPIKeysRequest, options?: CallOptions): Promise<ListAPIKeysResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/list-api-keys', json: request, isRead: false },
      options,
    );
  }

  /**
   * Change an API key: `POST /v1/admin/update-api-key`. Changes the name, permission, restriction or allowed
   * origins of a key, effective immediately.
   */
  updateApiKey(request: UpdateAPIKeyRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/update-api-key', json: request, isRead: false },
      options,
    );
  }

  /**
   * Revoke an API key: `POST /v1/admin/delete-api-key`. Revokes a key immediately; requests that use it
   * return 401.
   */
  deleteApiKey(request: DeleteAPIKeyRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/delete-api-key', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete an organization: `POST /v1/admin/delete-organization`. Revokes its API keys, memberships and
   * invitations immediately. Its data is deleted permanently in the background.
   */
  deleteAnyOrganization(request: AdminDeleteOrganizationRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/delete-organization', json: request, isRead: false },
      options,
    );
  }

  /**
   * Find remaining data of an organization: `POST /v1/admin/inspect-organization`. Searches all tables and
   * folders for data of an organization, and for orphaned data of deleted collections and documents. Seconds
   * after an organization is deleted, only an audit log entry of it remains. Reads a large part of the store;
   * intended for `quarry doctor`.
   */
  inspectOrganization(request: InspectOrganizationRequest, options?: CallOptions): Promise<InspectOrganizationResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/inspect-organization', json: request, isRead: false },
      options,
    );
  }

  /**
   * List users: `POST /v1/admin/list-users`. Lists all users of the installation with their organizations,
   * ordered by ID. For the next page, send `next_after` as `after`; repeat until it is null. Send `email` to
   * find one user, or `search` to match parts of addresses and names.
   */
  listUsers(request: ListUsersRequest = {}, options?: CallOptions): Promise<ListUsersResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/list-users', json: request, isRead: false },
      options,
    );
  }

  /**
   * End the sessions of a user: `POST /v1/admin/end-user-sessions`. Signs the user out of all sessions
   * immediately. The user can sign in again.
   */
  endUserSessions(request: UserRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/end-user-sessions', json: request, isRead: false },
      options,
    );
  }

  /**
   * Disable a user: `POST /v1/admin/disable-user`. Ends all sessions of the user immediately and rejects
   * every sign-in (403) until `enable-user`. API keys of their organizations remain valid.
   */
  disableUser(request: UserRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/disable-user', json: request, isRead: false },
      options,
    );
  }

  /** Enable a user: `POST /v1/admin/enable-user`. Allows the user to sign in again. */
  enableUser(request: UserRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/enable-user', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete a user: `POST /v1/admin/delete-user`. Permanently deletes the profile, sessions, memberships,
   * passkeys and identity provider links of the user. API keys that the user created remain valid. A later
   * sign-in with the same address creates a new user; to block the address, disable the user instead.
   */
  deleteUser(request: UserRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/delete-user', json: request, isRead: false },
      options,
    );
  }

  /**
   * Reset the second factor of a user: `POST /v1/admin/reset-second-factor`. Disables the second factor of a
   * user who has lost the authenticator app and the recovery codes.
   */
  resetSecondFactor(request: UserRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/reset-second-factor', json: request, isRead: false },
      options,
    );
  }

  /**
   * Create a password link for a user: `POST /v1/admin/create-password-link`. Returns a link, valid for 24
   * hours, with which the user can choose a new password. It works once; all sessions of the user end then.
   */
  createPasswordLink(request: UserRequest, options?: CallOptions): Promise<PasswordLinkResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/create-password-link', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the passkeys of a user: `POST /v1/admin/list-user-passkeys`. Lists the passkeys with which the user
   * can sign in, oldest first.
   */
  listUserPasskeys(request: UserRequest, options?: CallOptions): Promise<ListUserPasskeysResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/list-user-passkeys', json: request, isRead: false },
      options,
    );
  }

  /**
   * Delete passkeys of a user: `POST /v1/admin/delete-user-passkeys`. Deletes one passkey of a user, or
   * without `passkey_id` all of them, for example after a device was lost. Open sessions are not ended; end
   * them with `end-user-sessions`.
   */
  deleteUserPasskeys(request: DeleteUserPasskeysRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/delete-user-passkeys', json: request, isRead: false },
      options,
    );
  }

  /**
   * Get the second factor of the administrator: `POST /v1/admin/get-administrator-second-factor`. Returns
   * whether sign-in requires a code in addition to the password, and the number of unused recovery codes.
   */
  getAdministratorSecondFactor(request: EmptyRequest = {}, options?: CallOptions): Promise<SecondFactorStatusResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-administrator-second-factor', json: request, isRead: false },
      options,
    );
  }

  /**
   * Set up the second factor of the administrator: `POST /v1/admin/begin-administrator-second-factor`.
   * Creates a key for an authenticator app. It takes effect after `confirm-administrator-second-factor` with
   * a first code. `QUARRY_ADMIN_KEY` needs no second factor; a new `QUARRY_ADMIN_PASSWORD_HASH` disables it.
   */
  beginAdministratorSecondFactor(request: EmptyRequest = {}, options?: CallOptions): Promise<BeginSecondFactorResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/begin-administrator-second-factor', json: request, isRead: false },
      options,
    );
  }

  /**
   * Enable the second factor of the administrator: `POST /v1/admin/confirm-administrator-second-factor`.
   * Requires the first code of the authenticator app. Recovery codes are shown only in this reply.
   */
  confirmAdministratorSecondFactor(request: SecondFactorCodeRequest, options?: CallOptions): Promise<ConfirmSecondFactorResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/confirm-administrator-second-factor', json: request, isRead: false },
      options,
    );
  }

  /**
   * Disable the second factor of the administrator: `POST /v1/admin/disable-administrator-second-factor`.
   * Requires a code of the authenticator app or a recovery code.
   */
  disableAdministratorSecondFactor(request: SecondFactorCodeRequest, options?: CallOptions): Promise<DefaultResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/disable-administrator-second-factor', json: request, isRead: false },
      options,
    );
  }

  /**
   * Read an audit log: `POST /v1/admin/get-audit-log`. Returns audit log entries, newest first: of one
   * organization, or without an ID those that belong to no organization, such as sign-ins. For the next page,
   * send `next_cursor` as `cursor`; repeat until it is null.
   */
  getAnyAuditLog(request: AuditLogRequest = {}, options?: CallOptions): Promise<AuditLogResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-audit-log', json: request, isRead: false },
      options,
    );
  }

  /**
   * Create a backup: `POST /v1/admin/create-backup`. Starts a backup and returns immediately; poll
   * `get-backup-status` until `running` is null. The server stays available.
   */
  createBackup(request: CreateBackupRequest = {}, options?: CallOptions): Promise<BackupStatusResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/create-backup', json: request, isRead: false },
      options,
    );
  }

  /**
   * Get the state of backups: `POST /v1/admin/get-backup-status`. Returns the backup in progress, the last
   * one, the last failure, the next scheduled one and the last verified restore.
   */
  getBackupStatus(request: EmptyRequest = {}, options?: CallOptions): Promise<BackupStatusResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-backup-status', json: request, isRead: false },
      options,
    );
  }

  /**
   * Check the installation: `POST /v1/admin/get-health`. Runs the checks of `quarry doctor` on the server
   * machine, and returns the components of `/readyz`, versions, memory and disk. Reads the list of backups
   * from their target.
   */
  getHealth(request: EmptyRequest = {}, options?: CallOptions): Promise<GetHealthResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-health', json: request, isRead: false },
      options,
    );
  }

  /**
   * List the settings of the server: `POST /v1/admin/get-settings`. Returns the value in force of each
   * setting and its source. Values of secrets are not returned.
   */
  getSettings(request: EmptyRequest = {}, options?: CallOptions): Promise<GetSettingsResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-settings', json: request, isRead: false },
      options,
    );
  }

  /**
   * Read the log of the server: `POST /v1/admin/get-log-lines`. Returns the last lines of the log, oldest
   * first. To follow the log, send `next_cursor` as `cursor`. The server keeps the last 1 MiB of lines since
   * startup in memory.
   */
  getLogLines(request: GetLogLinesRequest = {}, options?: CallOptions): Promise<GetLogLinesResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/admin/get-log-lines', json: request, isRead: false },
      options,
    );
  }
}

export class UsageApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Document usage over time: `POST /v1/usage/documents`. Returns one row per time window, collection and
   * event (added, deleted, parsed, indexed). Files of `parse-document` count as `parsed` in the collection
   * `00000000-0000-0000-0000-000000000000`.
   */
  documents(request: UsageRequest, options?: CallOptions): Promise<readonly DocumentUsageResponse[]> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/usage/documents', json: request, isRead: true },
      options,
    );
  }

  /**
   * Query usage over time: `POST /v1/usage/queries`. Returns one row per time window, collection and query
   * type; with `include_times`, also the percentiles of their times.
   */
  queries(request: UsageRequest, options?: CallOptions): Promise<readonly QueryUsageResponse[]> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/usage/queries', json: request, isRead: true },
      options,
    );
  }

  /**
   * Reranker usage over time: `POST /v1/usage/models/reranker`. Returns one row per time window and model;
   * collections are ignored.
   */
  reranker(request: UsageRequest, options?: CallOptions): Promise<readonly RerankUsageResponse[]> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/usage/models/reranker', json: request, isRead: true },
      options,
    );
  }

  /**
   * Embedding usage over time: `POST /v1/usage/models/embed`. Returns one row per time window and model;
   * collections are ignored.
   */
  embed(request: UsageRequest, options?: CallOptions): Promise<readonly EmbedUsageResponse[]> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/usage/models/embed', json: request, isRead: true },
      options,
    );
  }

  /**
   * Model usage totals: `POST /v1/usage/models/counters`. Returns model counters in total and for the current
   * billing cycle. The body may be empty.
   */
  modelsCounters(request: EmptyRequest = {}, options?: CallOptions): Promise<ModelsUsageCountersResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/usage/models/counters', json: request, isRead: true },
      options,
    );
  }

  /**
   * Document and query usage totals: `POST /v1/usage/counters`. Returns document and query counters in total
   * and for the current billing cycle. The body may be empty.
   */
  counters(request: EmptyRequest = {}, options?: CallOptions): Promise<UsageCountersResponse> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/usage/counters', json: request, isRead: true },
      options,
    );
  }
}

/** The operations of the server, grouped by tag. */
export class Operations {
  readonly collections: CollectionsApi;
  readonly aliases: AliasesApi;
  readonly documents: DocumentsApi;
  readonly changes: ChangesApi;
  readonly sources: SourcesApi;
  readonly webhooks: WebhooksApi;
  readonly queries: QueriesApi;
  readonly answers: AnswersApi;
  readonly status: StatusApi;
  readonly parsers: ParsersApi;
  readonly models: ModelsApi;
  readonly admin: AdminApi;
  readonly usage: UsageApi;

  constructor(transport: Transport) {
    this.collections = new CollectionsApi(transport);
    this.aliases = new AliasesApi(transport);
    this.documents = new DocumentsApi(transport);
    this.changes = new ChangesApi(transport);
    this.sources = new SourcesApi(transport);
    this.webhooks = new WebhooksApi(transport);
    this.queries = new QueriesApi(transport);
    this.answers = new AnswersApi(transport);
    this.status = new StatusApi(transport);
    this.parsers = new ParsersApi(transport);
    this.models = new ModelsApi(transport);
    this.admin = new AdminApi(transport);
    this.usage = new UsageApi(transport);
  }
}
