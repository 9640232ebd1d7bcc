// Generated from the OpenAPI document. `CLIENT_SOURCE=write node dist/test/packages/generated-client.test.js` updates it.

/** A file; its format is detected from the content. */
export interface APIBinaryDocument {
  readonly type: 'auto';
  /** The file in standard base64 with padding, without line breaks. */
  readonly base64_data: string;
}

/** An API key without its secret. */
export interface APIKeyInfo {
  /** ID of the API key. */
  id: string;
  /** Creation time. */
  created_at: string;
  name: string;
  permission: DBAPIKeyPermission;
  created_by: string | null;
  expires_at: string | null;
  last_used_at: string | null;
  /** Restriction of the key; null if unrestricted. */
  restriction: APIKeyRestriction | null;
  /** Origins whose pages may call the API with the key. */
  allowed_origins: string[];
  /** The key, masked. */
  api_key: string;
}

/** Restriction of a key; null means unrestricted. */
export interface APIKeyRestriction {
  /** Collections that the key can access (1 to 256 names, which need not exist yet); null for all. */
  collection_names: string[] | null;
  /**
   * Metadata filter that applies to every operation of the key, in the syntax of query filters. Null or `{}`
   * for all documents.
   */
  filter: Record<string, unknown> | null;
}

/** A file with its text, which is used instead of parsing the file. */
export interface APIParsedDocument {
  readonly type: 'parsed';
  /** Text of each page; may be empty. */
  readonly pages: readonly string[];
  /** The file in standard base64 with padding. Either this or `sha256`. */
  readonly base64_data?: string | undefined;
  /**
   * SHA-256 of the file in lower-case hexadecimal, instead of the file: the document at this path already has
   * it and keeps it. Requires `overwrite`.
   */
  readonly sha256?: string | undefined;
  /**
   * Media type of the file, such as `application/pdf`; returned with the file. Default:
   * `"application/octet-stream"`.
   */
  readonly content_type?: string | undefined;
  /** Title of the document, at most 300 characters. */
  readonly title?: string | null | undefined;
  /** ISO 639-1 code of the main language; null if unknown. */
  readonly language?: string | null | undefined;
  /** At most 64 warnings of at most 1,024 characters. */
  readonly warnings?: readonly string[] | undefined;
  /**
   * Detect headings, which become part of the context of snippets. False for tables and code. Default:
   * `true`.
   */
  readonly headings?: boolean | undefined;
  /** Pages are independent of each other. Default: `false`. */
  readonly unordered?: boolean | undefined;
  /** Whether images of the pages can be made from the file. Default: `false`. */
  readonly has_page_images?: boolean | undefined;
}

/** Plain text; it becomes one page. */
export interface APITextDocument {
  readonly type: 'text';
  /** The text. */
  readonly text: string;
}

/** Text that is split into pages. */
export interface APITextPagesDocument {
  /** Unordered pages are independent of each other, such as the rows of a table. */
  readonly type: 'text-pages' | 'text-pages-unordered';
  /** One string per page; may be empty. */
  readonly pages: readonly string[];
}

/** An API key to create. */
export interface AddAPIKeyRequest {
  /** ID of the organization. */
  readonly organization_id: string;
  /** Display name, 1 to 256 bytes. */
  readonly name: string;
  readonly permission: DBAPIKeyPermission;
  /** Name of the requester. */
  readonly created_by?: string | null | undefined;
  /** Expiry time; absent or null means that the key does not expire. */
  readonly expires_at?: string | null | undefined;
  /** Restriction of the key; absent or null means unrestricted. */
  readonly restriction?: APIKeyRestriction | null | undefined;
  /**
   * Origins whose pages may call the API with the key (CORS): scheme, host and port, without wildcards, at
   * most 64. Absent or null means none.
   */
  readonly allowed_origins?: readonly string[] | null | undefined;
}

/** The new key, shown only in this reply. */
export interface AddAPIKeyResponse {
  /** The secret; the server stores only its hash. */
  api_key: string;
}

/** An alias to create. */
export interface AddAliasRequest {
  /** Name of the alias: 1 to 1,024 bytes of UTF-8, without NUL; not the name of a collection. */
  readonly alias_name: string;
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
}

/** A collection to create. */
export interface AddCollectionRequest {
  /** Name of the new collection: 1 to 1,024 bytes of UTF-8, without NUL. An existing name returns 409. */
  readonly collection_name: string;
  /**
   * One of 1, 8, 16, 32 or 64; cannot be changed later. More shards speed up indexing and search of large
   * collections; small collections are fastest with 1. Default: `1`.
   */
  readonly num_shards?: number | undefined;
  /**
   * The embedding model of the collection; default: the default model of the server. `own`: you send vectors
   * with documents and queries.
   */
  readonly embedding_model?: string | undefined;
  /** With `embedding_model: "own"`: number of dimensions of each vector, 1 to 8,192. */
  readonly dimensions?: number | undefined;
  readonly query_defaults?: QueryDefaults | undefined;
  /** Documents that are added without `expires_at` expire after this time: 1 to 3,153,600,000 seconds. */
  readonly default_ttl_seconds?: number | undefined;
  readonly metadata_schema?: MetadataSchema | undefined;
  /**
   * Lists of words with the same meaning in this collection: a query for one of them finds the others, too.
   * Each word is one word of letters and digits, at most 64 characters; 2 to 16 words in a list, at most 500
   * lists and 65,536 characters.
   */
  readonly synonyms?: readonly (readonly string[])[] | undefined;
  /**
   * Words that lexical search ignores in queries of this collection, unless a query has no others. Each is
   * one word of letters and digits, at most 64 characters; at most 1,000 words. Case and accents do not
   * matter.
   */
  readonly stop_words?: readonly string[] | undefined;
  /**
   * Rules that pin and hide documents in the results of certain queries: at most 200, with at most 131,072
   * characters. Paths of documents that do not exist have no effect.
   */
  readonly curations?: readonly ({
    /**
     * Queries to which the rule applies: 1 to 20, each with at least one word and at most 256 characters. The
     * whole query must be equal; case, accents, punctuation and spaces do not matter. A query may occur in
     * one rule only.
     */
    readonly queries: readonly string[];
    /** Paths of the documents that come first, in this order: at most 20. */
    readonly pinned?: readonly string[] | undefined;
    /** Paths of the documents that are not returned: at most 100. */
    readonly hidden?: readonly string[] | undefined;
  })[] | undefined;
  /**
   * Keeps replaced and deleted versions of documents for 1 to 3,650 days, so that queries with `as_of` return
   * the results of an earlier moment. Kept versions count as stored bytes. Expired documents are not kept.
   */
  readonly history_days?: number | undefined;
}

/** A document to add. */
export interface AddDocumentRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /**
   * Path of the new document: 1 to 4,096 bytes of UTF-8. An existing path returns 409 unless `overwrite` is
   * true.
   */
  readonly path: string;
  /** The content; `type` selects the variant. */
  readonly content: APITextDocument | APITextPagesDocument | APIBinaryDocument | APIParsedDocument;
  /**
   * The vector of a document of the type `text`, in a collection whose `embedding_model` is `own`. Numbers,
   * or base64 of little-endian 32-bit floats. Any nonzero length; the vector is normalized to length 1.
   */
  readonly vector?: readonly number[] | string | undefined;
  /**
   * One vector for each page of `text-pages` or `text-pages-unordered`, in a collection whose
   * `embedding_model` is `own`.
   */
  readonly vectors?: readonly (readonly number[] | string)[] | undefined;
  readonly metadata?: DocumentMetadataJson | undefined;
  /**
   * RFC 3339 time at which the document expires; null for never. Default: after `default_ttl_seconds` of the
   * collection.
   */
  readonly expires_at?: string | null | undefined;
  /** Replace an existing document atomically instead of returning 409. Default: `false`. */
  readonly overwrite?: boolean | undefined;
  /**
   * Reply when the document is indexed or has failed, or after 50 seconds with the current `index_status`.
   * Default: `false`.
   */
  readonly wait?: boolean | undefined;
}

/** The document is durable on disk. */
export interface AddDocumentResponse {
  /** Default: `"Success!"`. */
  message?: string | undefined;
  index_status?: DocumentIndexStatus | undefined;
  /** With `wait`: reason for a failure, otherwise null. */
  error?: string | null | undefined;
  /** With `wait`: error code of a failure, otherwise null. */
  error_code?: DocumentErrorCode | null | undefined;
}

/** Up to 256 documents to add; each is atomic, the batch is not. */
export interface AddDocumentsRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /**
   * 1 to 256 documents, each a `BatchDocument`. An item that does not match gets status 422 in the results.
   */
  readonly documents: readonly (BatchDocument | unknown)[];
  /**
   * Reply when the document is indexed or has failed, or after 50 seconds with the current `index_status`.
   * Default: `false`.
   */
  readonly wait?: boolean | undefined;
}

/** One result per document, in the order of the request. */
export interface AddDocumentsResponse {
  results: BatchDocumentResult[];
}

/** A source to create. */
export interface AddSourceRequest {
  /** Name of the source: 1 to 256 bytes of UTF-8, without NUL. An existing name returns 409. */
  readonly source_name: string;
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  readonly directory?: DirectorySettings | undefined;
  readonly s3?: S3Settings | undefined;
  readonly website?: WebsiteSettings | undefined;
  readonly rss?: FeedSettings | undefined;
  readonly git?: GitSettings | undefined;
  readonly webdav?: WebDavSettings | undefined;
  readonly imap?: ImapSettings | undefined;
  /** Prefix of the paths of its documents, such as `handbook/`. */
  readonly prefix?: string | null | undefined;
  /** Schedule of the runs; default `1h`. */
  readonly schedule?: string | null | undefined;
  /** Time zone of times of day and cron expressions; default `UTC`. */
  readonly time_zone?: string | null | undefined;
  /** Whether a change in the folder starts a run immediately; only for `directory`; default false. */
  readonly watch?: boolean | null | undefined;
  /** Metadata of all documents of the source. */
  readonly metadata?: DocumentMetadataJson | null | undefined;
  /** Secrets for access to the origin, by name. They are stored encrypted and never returned. */
  readonly credentials?: Readonly<Record<string, string>> | null | undefined;
}

/** A webhook to create. */
export interface AddWebhookRequest {
  /** An https:// URL. */
  readonly url: string;
  /** At most 256 characters. */
  readonly description?: string | undefined;
  /** Only changes of these types; null: all. */
  readonly types?: readonly ChangeType[] | null | undefined;
  /** Only changes of collections with these names; null: all. */
  readonly collection_names?: readonly string[] | null | undefined;
}

/** The organization to delete. */
export interface AdminDeleteOrganizationRequest {
  /** ID of the organization. */
  readonly organization_id: string;
}

/** Length of the time window of one row. */
export type AggregationWindow = 'minutely' | 'hourly' | 'daily';

/** New state of an alias. */
export interface AliasChange {
  /** Name of the alias: 1 to 1,024 bytes of UTF-8, without NUL; not the name of a collection. */
  readonly alias_name: string;
  /** The collection that the alias names from now on; null deletes the alias. */
  readonly collection_name: string | null;
}

/** A snippet that a sentence cites. */
export interface AnswerCitation {
  /** Number of the snippet in the prompt, from 1, best first. */
  number: number;
  path: string;
  /** Range of pages: first page, and end page (exclusive). */
  page_span: number[];
  /** Start offset in the text of the document, in code points. */
  start_index: number;
  /** End offset (exclusive). */
  end_index: number;
  /** Exactly the text between the two indexes. */
  content: string;
  /** Relevance within this query, 0 to 1; higher is better. */
  score: number;
  /**
   * Places of the lines of the text on the images of its pages, one rectangle per line or table cell; pages
   * without known lines are absent. The first 500 lines. Only with `include_rectangles`.
   */
  page_rectangles?: PageRectangles[] | undefined;
}

/** A question that a chat model answers from snippets. */
export interface AnswerRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** The question in natural language, at most 4,096 characters. */
  readonly question: string;
  /** Maximum number of snippets that the model reads, 1 to 32. Default: `8`. */
  readonly k?: number | undefined;
  /** The vector of the query; required in collections whose `embedding_model` is `own`. */
  readonly query_vector?: readonly number[] | string | null | undefined;
  /**
   * Filter on document metadata: `{name: {operator: value}}` with `$eq $ne $gt $gte $lt $lte $in $nin $exists
   * $prefix $between $contains $geo_radius $geo_box`, combined with `$and`, `$or` and `$not`. A plain value
   * means `$eq`, and a date is `{"$date": "2026-03-31"}`; values match operands of their type only; null and
   * `{}` match all documents.
   */
  readonly filter?: unknown;
  /** Snippets of about 200 characters instead of about 2,000. Default: `false`. */
  readonly precise_responses?: boolean | undefined;
  /** Reranker of `/models/rerank` that reorders the best candidates; null for none. */
  readonly reranker?: string | null | undefined;
  /**
   * `high` examines more candidates and batches work with other calls: better results and throughput at
   * higher latency. Default: `"low"`.
   */
  readonly latency_mode?: 'low' | 'high' | undefined;
  /**
   * 0 to 1: results with a lower `score` are omitted, after reranking. Scores are comparable within one query
   * only.
   */
  readonly min_score?: number | null | undefined;
  /** Maximum results per document, at least 1. The search continues until there are `k` results. */
  readonly max_per_document?: number | null | undefined;
  /**
   * Include the places of the lines of each snippet on the images of its pages. Empty for documents without
   * known lines, such as text files and files that an earlier version parsed. Default: `false`.
   */
  readonly include_rectangles?: boolean | undefined;
  /** Maximum length of the answer in tokens of the model, 16 to 4,096. Default: `1024`. */
  readonly max_tokens?: number | undefined;
  /**
   * Reply with server-sent events: `sentence` for each sentence, then `answer` with the whole reply, or
   * `error` with `status` and `detail`. Default: `false`.
   */
  readonly stream?: boolean | undefined;
}

/** An answer with citations. */
export interface AnswerResponse {
  /** The sentences, separated by spaces; null if no snippet supports an answer. */
  answer: string | null;
  /**
   * Reason why `answer` is null: no snippet was found and the model was not called, the model found no answer
   * in the snippets, or no sentence had a valid citation.
   */
  reason: 'no_snippets' | 'no_answer' | 'no_citations' | null;
  sentences: AnswerSentence[];
  /** Number of snippets that were found for the model. */
  num_snippets: number;
  /** Number of sentences without a valid citation, which are left out. */
  num_uncited_sentences: number;
  /** Whether the answer ended at `max_tokens`. */
  is_truncated: boolean;
  /** Name of the chat model. */
  model: string;
  /** As the service of the model reports it; null if it does not, or was not called. */
  usage: {
    /** Tokens of the prompt. */
    prompt_tokens: number;
    /** Tokens of the reply of the model. */
    completion_tokens: number;
  } | null;
  /** Warnings about the search for snippets; absent if there are none. */
  warnings?: string[] | undefined;
}

/** A sentence of an answer. */
export interface AnswerSentence {
  /** The sentence without the numbers of its citations. */
  text: string;
  /** The snippets that the model names for the sentence, at least one. */
  citations: AnswerCitation[];
}

/** An action or an attempted action. */
export interface AuditLogEntry {
  /** ID of the entry. */
  id: string;
  /** Time of the action. */
  at: string;
  actor: string | null;
  action: string;
  target: string | null;
  address: string | null;
  details: Record<string, string | number | boolean | null>;
}

/** Page of an audit log. */
export interface AuditLogRequest {
  /** Absent or null for entries that belong to no organization, such as sign-ins. */
  readonly organization_id?: string | null | undefined;
  /** Only entries before this time. */
  readonly before?: string | null | undefined;
  /** Only entries at or after this time. */
  readonly since?: string | null | undefined;
  /** The `next_cursor` of the previous reply. */
  readonly cursor?: string | null | undefined;
  /** Maximum number of entries; default 100. */
  readonly limit?: number | null | undefined;
}

/** Entries, newest first. */
export interface AuditLogResponse {
  entries: AuditLogEntry[];
  /** Cursor of the next page; null on the last page. */
  next_cursor: string | null;
}

/** A complete backup. */
export interface BackupInfo {
  id: string;
  /** Time of its contents. */
  taken_at: string;
  /** Time of its completion. */
  finished_at: string;
  /** History to which its sequence number belongs. */
  lineage: string;
  /** Sequence number of its last commit. */
  sequence: number;
  /** Bytes of the store. */
  store_bytes: number;
  /** Uploaded files. */
  files: number;
  /** Bytes of the uploaded files. */
  file_bytes: number;
  /** Bytes that this backup added to the target. */
  added_bytes: number;
  /** Objects that this backup added to the target. */
  added_objects: number;
  /** Whether it contains `secrets.json`. */
  has_secrets: boolean;
}

/** State of backups. */
export interface BackupStatusResponse {
  /** `QUARRY_BACKUP_TARGET`. */
  target: string | null;
  /** The backup in progress; null if there is none. */
  running: {
    target: string;
    /** Start of the backup. */
    started_at: string;
    phase: 'waiting' | 'store' | 'files';
    /** Bytes read in this phase. */
    bytes: number;
    /** Total bytes of this phase; an estimate until it ends. */
    total_bytes: number;
    /** Bytes added to the target in this phase. */
    stored_bytes: number;
  } | null;
  /** Last complete backup of this data directory. */
  last_backup: BackupInfo | null;
  /** Failure of the last backup; null if it succeeded. */
  last_error: {
    /** Time of the failure. */
    at: string;
    message: string;
  } | null;
  /** Time of the next scheduled backup. */
  next_at: string | null;
  /** Times to which this data directory can be restored from `QUARRY_BACKUP_TARGET`. */
  recoverable: ({
    /** Earliest time. */
    from: string;
    /** Time of the last commit. */
    to: string;
    from_sequence: number;
    to_sequence: number;
  })[];
  /** Last restore from the target whose verification completed. */
  last_verified_restore: {
    backup: string;
    sequence: number;
    /** End of the verification. */
    verified_at: string;
  } | null;
  /** Failure of the last rehearsal of a restore (`QUARRY_BACKUP_REHEARSAL`); null if it succeeded. */
  rehearsal_error: {
    /** Time of the failure. */
    at: string;
    message: string;
  } | null;
}

/** One document of a batch. */
export interface BatchDocument {
  /** Path of the document inside its collection: 1 to 4,096 bytes of UTF-8, compared byte by byte. */
  readonly path: string;
  /** The content; `type` selects the variant. */
  readonly content: APITextDocument | APITextPagesDocument | APIBinaryDocument | APIParsedDocument;
  /**
   * The vector of a document of the type `text`, in a collection whose `embedding_model` is `own`. Numbers,
   * or base64 of little-endian 32-bit floats. Any nonzero length; the vector is normalized to length 1.
   */
  readonly vector?: readonly number[] | string | undefined;
  /**
   * One vector for each page of `text-pages` or `text-pages-unordered`, in a collection whose
   * `embedding_model` is `own`.
   */
  readonly vectors?: readonly (readonly number[] | string)[] | undefined;
  readonly metadata?: DocumentMetadataJson | undefined;
  /**
   * RFC 3339 time at which the document expires; null for never. Default: after `default_ttl_seconds` of the
   * collection.
   */
  readonly expires_at?: string | null | undefined;
  /** Replace an existing document atomically instead of returning 409. Default: `false`. */
  readonly overwrite?: boolean | undefined;
}

/** Result of one document of a batch. */
export interface BatchDocumentResult {
  /** The path of the request; null if the item had none. */
  path: string | null;
  /** The status that add-document would return. */
  status: number;
  /** Reason for the rejection. */
  detail?: string | undefined;
  index_status?: DocumentIndexStatus | undefined;
}

/** Setup data for the authenticator app, shown only in this reply. */
export interface BeginSecondFactorResponse {
  /** Base32 secret for manual entry. */
  secret: string;
  /** `otpauth://totp/...`, the content of the QR code. */
  otpauth_url: string;
}

/** A change of a document or a collection. */
export interface Change {
  /** ID of the change; the same in every reply and webhook delivery. */
  id: string;
  /**
   * Consecutive number of the change within the organization. Absent for a restricted key, which does not see
   * all changes.
   */
  sequence?: number | undefined;
  type: ChangeType;
  /** Time of the change. */
  occurred_at: string;
  /** ID of the collection; a rename does not change it. */
  collection_id: string;
  /** Name of the collection at that time; for `collection.renamed`, the new name. */
  collection_name: string;
  /** The name before `collection.renamed`. */
  previous_collection_name?: string | undefined;
  /** Path of the document; absent for a collection. */
  path?: string | undefined;
  /** ID of the document; each overwrite creates a new one. Absent for a collection. */
  document_id?: string | undefined;
  /** Cause of `document.failed`. */
  error?: {
    code: string;
    message: string;
  } | undefined;
}

/** A collection and its new embedding model. */
export interface ChangeModelRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /**
   * Name of an embedding model of this server. The current model of the collection cancels a change in
   * progress.
   */
  readonly embedding_model: string;
}

/** Type of a change. */
export type ChangeType = 'document.added' | 'document.overwritten' | 'document.indexed' | 'document.failed' | 'document.metadata_changed' | 'document.deleted' | 'collection.created' | 'collection.renamed' | 'collection.deleted';

/** A collection to copy. */
export interface CloneCollectionRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Name of the copy. The first call creates it; an existing name returns 409. */
  readonly new_collection_name: string;
  /**
   * Continues a copy after this path: send the value of the previous reply. An empty string continues from
   * the start.
   */
  readonly path_gt?: string | null | undefined;
}

/** Progress of a copy. */
export interface CloneCollectionResponse {
  /** Documents that this call copied. */
  num_documents: number;
  /** Send this value in the next call; null when the copy is complete. */
  path_gt: string | null;
}

/** Texts to embed, in the format of version 2 of Cohere. */
export interface CohereEmbedRequest {
  readonly model: string;
  /** `search_query` embeds queries; the others embed documents. */
  readonly input_type: 'search_document' | 'search_query' | 'classification' | 'clustering';
  /** The texts. */
  readonly texts?: readonly string[] | null | undefined;
  /** Instead of `texts`: texts in parts. */
  readonly inputs?: readonly ({
    /** Parts of the text, joined with line breaks. */
    readonly content: readonly ({
      readonly type: 'text';
      readonly text: string;
    })[];
  })[] | null | undefined;
  /** As `dimensions` of `/models/embed`. */
  readonly output_dimension?: number | null | undefined;
  /** Default: `["float"]`. */
  readonly embedding_types?: readonly ('float' | 'base64')[] | null | undefined;
}

/** Vectors, in the format of version 2 of Cohere. */
export interface CohereEmbedResponse {
  id: string;
  embeddings: {
    float?: number[][] | undefined;
    base64?: string[] | undefined;
  };
  /** The texts of the request. */
  texts: string[];
  meta: {
    api_version: {
      version: string;
    };
    billed_units: {
      input_tokens: number;
    };
  };
  response_type: 'embeddings_by_type';
}

/** Texts to rerank, in the format of Cohere, Jina or Voyage. */
export interface CohereRerankRequest {
  readonly model: string;
  readonly query: string;
  /** Texts, or objects with a field `text` or the fields of `rank_fields`. */
  readonly documents: readonly (string | {
    readonly text?: string | undefined;
  })[];
  /** Maximum number of results, at least 1. */
  readonly top_n?: number | null | undefined;
  /** Voyage: as `top_n`. */
  readonly top_k?: number | null | undefined;
  /**
   * Cohere: names of the fields of each document that are ranked, in order, 1 to 64. Absent fields are
   * skipped.
   */
  readonly rank_fields?: readonly string[] | null | undefined;
  /** Include the texts in the reply; absent or null means false. */
  readonly return_documents?: boolean | null | undefined;
  /** Voyage: no effect. Long texts are always truncated. */
  readonly truncation?: boolean | null | undefined;
}

/** Scores, in the format of Cohere, Jina and Voyage. */
export interface CohereRerankResponse {
  id: string;
  /** Best first. `document` is the object of the request, or `{text}`. */
  results: ({
    index: number;
    relevance_score: number;
    document?: {
      text?: string | undefined;
    } | undefined;
  })[];
  meta: {
    api_version: {
      version: string;
    };
    billed_units: {
      search_units: number;
    };
    tokens: {
      input_tokens: number;
    };
  };
  model: string;
  object: 'list';
  usage: {
    total_tokens: number;
  };
  /** Voyage: the results; only if the request has `top_k` or `truncation`. */
  data?: ({
    index: number;
    relevance_score: number;
    document?: string | undefined;
  })[] | undefined;
}

/** Texts to rerank, in the format of version 2 of Cohere. */
export interface CohereRerankV2Request {
  readonly model: string;
  readonly query: string;
  /** The texts. */
  readonly documents: readonly string[];
  /** Maximum number of results, at least 1. */
  readonly top_n?: number | null | undefined;
}

/** Scores, in the format of version 2 of Cohere. */
export interface CohereRerankV2Response {
  id: string;
  results: ({
    index: number;
    relevance_score: number;
  })[];
  meta: {
    api_version: {
      version: string;
    };
    billed_units: {
      search_units: number;
    };
    tokens: {
      input_tokens: number;
    };
  };
}

/** A collection. */
export interface CollectionInfo {
  /** Stays the same for the lifetime of the collection. */
  id: string;
  collection_name: string;
  /** Time when the collection was created. */
  created_at: string;
  /** Number of shards. */
  num_shards: number;
  /** The embedding model; `own`: vectors come from the callers. */
  embedding_model: string;
  /** Number of dimensions of its vectors. */
  dimensions: number;
  query_defaults?: QueryDefaults | undefined;
  /** Seconds after which documents expire by default; absent if they do not expire by default. */
  default_ttl_seconds?: number | undefined;
  metadata_schema?: MetadataSchema | undefined;
  /**
   * Lists of words with the same meaning in this collection: a query for one of them finds the others, too.
   * Each word is one word of letters and digits, at most 64 characters; 2 to 16 words in a list, at most 500
   * lists and 65,536 characters.
   */
  synonyms?: string[][] | undefined;
  /**
   * Words that lexical search ignores in queries of this collection, unless a query has no others. Each is
   * one word of letters and digits, at most 64 characters; at most 1,000 words. Case and accents do not
   * matter.
   */
  stop_words?: string[] | undefined;
  /**
   * Rules that pin and hide documents in the results of certain queries. Not shown to keys that cannot read
   * all documents.
   */
  curations?: ({
    /**
     * Queries to which the rule applies: 1 to 20, each with at least one word and at most 256 characters. The
     * whole query must be equal; case, accents, punctuation and spaces do not matter. A query may occur in
     * one rule only.
     */
    queries: string[];
    /** Paths of the documents that come first, in this order: at most 20. */
    pinned?: string[] | undefined;
    /** Paths of the documents that are not returned: at most 100. */
    hidden?: string[] | undefined;
  })[] | undefined;
  /** Days for which replaced and deleted versions are kept; absent if they are not. */
  history_days?: number | undefined;
}

/** The second factor is enabled. */
export interface ConfirmSecondFactorResponse {
  /** Single-use replacements for a code of the app, shown only in this reply. */
  recovery_codes: string[];
}

/** The backup to create. */
export interface CreateBackupRequest {
  /**
   * Target of the backup; absent or null: `QUARRY_BACKUP_TARGET`. Another target also requires
   * `operator_proof`.
   */
  readonly target?: string | null | undefined;
  /** Proof of access to the data directory, which `quarry backup create` computes. */
  readonly operator_proof?: string | null | undefined;
}

/** An organization to create. */
export interface CreateOrganizationRequest {
  /** ID of the new organization; returns 409 if it exists. */
  readonly organization_id: string;
}

/** `all`, or `read_only` for operations that change nothing. */
export type DBAPIKeyPermission = 'all' | 'read_only';

/** The operation succeeded. */
export interface DefaultResponse {
  /** Message for display; programs should check the status. Default: `"Success!"`. */
  message?: string | undefined;
}

/** An API key to revoke. */
export interface DeleteAPIKeyRequest {
  /** ID of the organization. */
  readonly organization_id: string;
  /** ID of the API key. */
  readonly api_key_id: string;
}

/** An alias to delete. */
export interface DeleteAliasRequest {
  /** Name of the alias: 1 to 1,024 bytes of UTF-8, without NUL; not the name of a collection. */
  readonly alias_name: string;
}

/** A collection to delete with all its documents. */
export interface DeleteCollectionRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
}

/** One document, or up to 64, to delete. */
export interface DeleteDocumentRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** One path, or 1 to 64 of them. */
  readonly path: string | readonly string[];
  /**
   * In a collection with `history_days`: also delete all kept versions of these documents, even if the
   * documents are deleted already. Requires a key without a document filter. Default: `false`.
   */
  readonly erase_history?: boolean | undefined;
}

/** The documents that were deleted. */
export interface DeleteDocumentResponse {
  /** Paths of the request that existed, or whose kept versions were deleted. */
  deleted_paths: string[];
  /** Message for display, as in other replies. */
  message?: string | undefined;
}

/** Documents to delete: those that match the filter and the prefix. At least one of the two is required. */
export interface DeleteDocumentsRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Only documents whose metadata matches this filter, in the syntax of query filters. */
  readonly filter?: unknown;
  /** Only paths that start with this prefix. */
  readonly path_prefix?: string | null | undefined;
  /**
   * Maximum number of documents to change, 1 to 1,024; repeat the call while `has_more` is true. Default:
   * `1024`.
   */
  readonly limit?: number | undefined;
  /** Change nothing; reply with the documents that the call would change. Default: `false`. */
  readonly dry_run?: boolean | undefined;
}

/** The documents that were deleted, or with `dry_run` would be. */
export interface DeleteDocumentsResponse {
  /** Their paths, in ascending order. */
  deleted_paths: string[];
  /** Whether the limit was reached and another call would change further documents. */
  has_more: boolean;
  /** Only with `dry_run`: number of documents that a sequence of calls would change. */
  num_matching?: number | undefined;
  /** Message for display, as in other replies. */
  message?: string | undefined;
}

/** A source to delete. */
export interface DeleteSourceRequest {
  /** Name of the source: 1 to 256 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly source_name: string;
  /** Whether its documents are deleted too; default false. */
  readonly delete_documents?: boolean | undefined;
}

/** Passkeys of a user to delete. */
export interface DeleteUserPasskeysRequest {
  /** ID of the user. */
  readonly user_id: string;
  /** ID of the passkey; absent or null deletes all passkeys of the user. */
  readonly passkey_id?: string | null | undefined;
}

/** A folder on the machine that runs the server. */
export interface DirectorySettings {
  /** Absolute path, inside a folder of `QUARRY_SOURCE_FOLDERS`. */
  path: string;
  /** Whether names that start with a dot are included; default false. */
  include_hidden?: boolean | undefined;
  url_prefix?: string | null | undefined;
}

/**
 * Cause of a failure: unsupported type, password protection, damage, a limit, timeout, out of memory, a
 * crash, or a missing external tool.
 */
export type DocumentErrorCode = 'unsupported' | 'encrypted' | 'corrupt' | 'too_large' | 'timeout' | 'memory' | 'crash' | 'missing_tool';

/** Type of document event. */
export type DocumentEventEnum = 'added' | 'deleted' | 'parsed' | 'indexed';

/** Processing state of a document. */
export type DocumentIndexStatus = 'not_parsed' | 'parsing' | 'not_indexed' | 'indexing' | 'indexed' | 'parsing_failed' | 'indexing_failed';

/**
 * Attributes of a document: strings, numbers (64-bit floats), booleans, points such as `{"lat": 52.5, "lon":
 * 13.4}`, or lists of strings under names that start with `list:`. Names consist of letters, digits, `-` and
 * `_`. At most 65,535 bytes as compact JSON.
 */
export type DocumentMetadataJson = Record<string, string | string[] | number | boolean | {
  lat: number;
  lon: number;
}>;

/** A document without its content. */
export interface DocumentMetadataResponse {
  /** Changes when the document is overwritten, but not when only its metadata changes. */
  id: string;
  collection_name: string;
  path: string;
  metadata: DocumentMetadataJson;
  index_status: DocumentIndexStatus;
  /** Time when the document was added or last overwritten. */
  created_at: string;
  /** Size of the raw document in bytes, or of its UTF-8 text if it was added as text. */
  size: number;
  /** Null during parsing and if parsing failed. */
  num_pages: number | null;
  /** URL of the raw document. It needs no API key and expires with the document. */
  file_url: string;
  /** SHA-256 of the raw document, in lower-case hexadecimal. */
  sha256: string;
  /** Reason why parsing or indexing failed, otherwise null. */
  error: string | null;
  /** Error code of the failure, otherwise null. */
  error_code: DocumentErrorCode | null;
  /** Time at which the document expires; absent if it does not expire. */
  expires_at?: string | undefined;
  /** Reason why processing is currently blocked; absent if it is not. Processing continues automatically. */
  waiting_for?: string | undefined;
  progress?: {
    /** Waiting for a parser, being parsed, being converted by LibreOffice, or being processed by OCR. */
    stage: 'waiting' | 'reading' | 'converting' | 'recognising';
    /** Pages completed in this stage. */
    num_pages_done: number;
    /** Total pages; null while unknown. */
    num_pages: number | null;
    /** Milliseconds since the start. */
    elapsed_ms: number;
  } | undefined;
}

/** A document. */
export interface DocumentResponse {
  /** Changes when the document is overwritten, but not when only its metadata changes. */
  id: string;
  collection_name: string;
  path: string;
  metadata: DocumentMetadataJson;
  index_status: DocumentIndexStatus;
  /** Size of the raw document in bytes, or of its UTF-8 text if it was added as text. */
  size: number;
  /** Null during parsing and if parsing failed. */
  num_pages: number | null;
  /** URL of the raw document. It needs no API key and expires with the document. */
  file_url: string;
  /** SHA-256 of the raw document, in lower-case hexadecimal. */
  sha256: string;
  /** Reason why parsing or indexing failed, otherwise null. */
  error: string | null;
  /** Error code of the failure, otherwise null. */
  error_code: DocumentErrorCode | null;
  /** Time at which the document expires; absent if it does not expire. */
  expires_at?: string | undefined;
  /** Reason why processing is currently blocked; absent if it is not. Processing continues automatically. */
  waiting_for?: string | undefined;
  progress?: {
    /** Waiting for a parser, being parsed, being converted by LibreOffice, or being processed by OCR. */
    stage: 'waiting' | 'reading' | 'converting' | 'recognising';
    /** Pages completed in this stage. */
    num_pages_done: number;
    /** Total pages; null while unknown. */
    num_pages: number | null;
    /** Milliseconds since the start. */
    elapsed_ms: number;
  } | undefined;
  /** Title from the document properties, otherwise its most prominent heading; null if there is neither. */
  title: string | null;
  /** ISO 639-1 code of the main language; null if it is unclear. */
  language: string | null;
  /** Warnings about omitted or unreadable parts. */
  warnings: string[];
  /** The full text if `include_content` is true and the text is available, otherwise null. */
  content?: string | null | undefined;
}

/** A document result. */
export interface DocumentRetrievalResponse {
  path: string;
  /** Relevance within this query, 0 to 1; higher is better. */
  score: number;
  /** Null unless requested. */
  metadata: DocumentMetadataJson | null;
  /** URL of the raw document. */
  file_url: string;
  /** Collection of the result as the request names it; only with `collection_names`. */
  collection_name?: string | undefined;
  explain?: ResultExplanation | undefined;
}

/** Documents of one row. */
export interface DocumentUsageResponse {
  /** First second of the row, in seconds since the epoch UTC. */
  window_start: number;
  /** ID of the organization. */
  organization_id: string;
  /** ID of the collection; all zeros for files of `parse-document`. */
  collection_id: string;
  event_type: DocumentEventEnum;
  /** Number of events. */
  event_count: number;
  /** Raw bytes. */
  total_file_size_bytes: number;
  /** Tokens of the text. */
  total_content_tokens: number;
  /** Tokens of language models; 0 if none is used. */
  total_llm_tokens: number;
  /** Embedded tokens. */
  total_embedding_tokens: number;
  /** Chunks of about 2,000 characters. */
  total_coarse_chunks: number;
  /** Chunks of about 200 characters. */
  total_fine_chunks: number;
  /** Pages. */
  total_pages: number;
  /** Processing time in milliseconds. */
  total_time_taken_ms: number;
}

/** Texts to embed. */
export interface EmbedRequest {
  /** Model ID; an unknown ID returns 404 with the list. */
  readonly model: string;
  /** Type of the texts; the vectors differ by type. */
  readonly input_type: 'query' | 'document';
  /** One text or a list of texts; an empty list gives no results. */
  readonly input: string | readonly string[];
  /**
   * One of 2560 (default), 1280, 640, 320, 160, 80 or 40. The built-in model computes 320; longer vectors end
   * with zeros.
   */
  readonly dimensions?: number | null | undefined;
  /**
   * `base64` returns little-endian 32-bit floats in base64, about a quarter of the size. Default: `"float"`.
   */
  readonly encoding_format?: 'float' | 'base64' | undefined;
  /**
   * `fast` is served immediately or returns 429; `slow` has a larger quota and may wait in a queue; absent or
   * null tries `fast`, then `slow`.
   */
  readonly latency?: 'fast' | 'slow' | null | undefined;
}

/** Vectors in the order of the texts. */
export interface EmbedResponse {
  results: EmbedResult[];
  usage: EmbedUsage;
}

/** One vector. */
export interface EmbedResult {
  /** A vector of unit length, as numbers or in base64. */
  embedding: number[] | string;
}

/** Usage of the call. */
export interface EmbedUsage {
  /** Bytes that count against the rate limit: for each text, 150 plus its UTF-8 bytes. */
  total_bytes: number;
  /** Tokens of all texts. */
  total_tokens: number;
}

/** Embedding of one row. */
export interface EmbedUsageResponse {
  /** First second of the row, in seconds since the epoch UTC. */
  window_start: number;
  /** ID of the organization. */
  organization_id: string;
  embedding_model: string;
  /** True for calls of the model operation, false for work of documents and queries. */
  explicit_call: boolean;
  /** Number of events. */
  event_count: number;
  /** Charged bytes. */
  total_request_bytes: number;
  /** Tokens read by the model. */
  total_request_tokens: number;
  /** Processing time in milliseconds. */
  total_time_taken_ms: number;
}

/** No fields; the body may be empty. */
export type EmptyRequest = Record<string, never>;

/** An error. */
export interface ErrorResponse {
  /** Error message. */
  detail: string;
}

/** Documents to export. */
export interface ExportDocumentsRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Only paths after this path: send the last path of the previous reply. */
  readonly path_gt?: string | null | undefined;
  /** Only paths that start with this prefix. */
  readonly path_prefix?: string | null | undefined;
  /** Maximum number of documents, 1 to 256. The reply ends earlier after 8 MiB. Default: `64`. */
  readonly limit?: number | undefined;
}

/** Documents in ascending order of their paths. */
export interface ExportDocumentsResponse {
  /** Empty if there are no more. */
  documents: ExportedDocument[];
}

/** A document with its content, in the format of `add-documents`. */
export interface ExportedDocument {
  path: string;
  metadata: DocumentMetadataJson;
  /** Null for a file that is not parsed yet, or could not be parsed. */
  content: ExportedText | ExportedFile | null;
  /**
   * In a collection whose `embedding_model` is `own`: the vector in base64, normalized to length 1. A page
   * without words has no stored vector; its value is arbitrary.
   */
  vector?: string | undefined;
  /** One vector per page, in the same form. */
  vectors?: string[] | undefined;
  /** SHA-256 of the raw document. */
  sha256: string;
  /** Size of the raw document in bytes. */
  size: number;
  /** URL of the file; null for a document that was added as text. */
  file_url: string | null;
  index_status: DocumentIndexStatus;
  /** Reason why parsing or indexing failed, otherwise null. */
  error: string | null;
  /** Error code of the failure, otherwise null. */
  error_code: DocumentErrorCode | null;
  /** Time when the document was added or last overwritten. */
  created_at: string;
  /** Time at which the document expires. */
  expires_at?: string | undefined;
}

/** Text of a file, as content of the type `parsed`. */
export interface ExportedFile {
  type: 'parsed';
  /** Text of each page; may be empty. */
  pages: string[];
  /**
   * Media type of the file, such as `application/pdf`; returned with the file. Default:
   * `"application/octet-stream"`.
   */
  content_type?: string | undefined;
  /** Title of the document, at most 300 characters. */
  title?: string | null | undefined;
  /** ISO 639-1 code of the main language; null if unknown. */
  language?: string | null | undefined;
  /** At most 64 warnings of at most 1,024 characters. */
  warnings?: string[] | undefined;
  /**
   * Detect headings, which become part of the context of snippets. False for tables and code. Default:
   * `true`.
   */
  headings?: boolean | undefined;
  /** Pages are independent of each other. Default: `false`. */
  unordered?: boolean | undefined;
  /** Whether images of the pages can be made from the file. Default: `false`. */
  has_page_images?: boolean | undefined;
}

/** Content of a document that was added as text. */
export interface ExportedText {
  type: 'text' | 'text-pages' | 'text-pages-unordered';
  /** With the type `text`. */
  text?: string | undefined;
  /** With the other types. */
  pages?: string[] | undefined;
}

/** Counts of one metadata field. */
export interface FacetResponse {
  field: string;
  /** The most frequent values first. */
  values?: ({
    value: string | number | boolean;
    /** Number of documents. */
    count: number;
  })[] | undefined;
  /** Number of distinct values, which can be larger than the number of listed values. */
  num_values?: number | undefined;
  /** In the order of the request; `from` is inclusive, `to` is exclusive. Dates are strings. */
  ranges?: ({
    from?: string | number | undefined;
    to?: string | number | undefined;
    count: number;
  })[] | undefined;
}

/** An RSS or Atom feed. */
export interface FeedSettings {
  /** The feed. */
  url: string;
  /** Whether documents are kept when their entries leave the feed; default true. */
  keep_removed?: boolean | undefined;
}

/** All aliases that the caller can use. */
export interface GetAliasListResponse {
  /** In ascending order of their names. */
  aliases: ({
    alias_name: string;
    /** The collection that the alias names. */
    collection_name: string;
    /** Time when the alias was created. */
    created_at: string;
  })[];
}

/** A position in the change feed. */
export interface GetChangesRequest {
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
}

/** Changes in the order in which they were made. */
export interface GetChangesResponse {
  changes: Change[];
  /** Position after these changes, for `after` of the next request. */
  cursor: string;
  /** Whether more changes are already available. */
  has_more: boolean;
}

/** A collection to describe. */
export interface GetCollectionInfoRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
}

/** The requested collection. */
export interface GetCollectionInfoResponse {
  collection: CollectionInfo;
}

/** All collections of the caller. */
export interface GetCollectionListResponse {
  /** Names in ascending order. */
  collection_names: string[];
  /**
   * Query defaults by collection; collections without defaults are omitted. Absent if no collection has
   * defaults.
   */
  query_defaults?: ({
    collection_name: string;
    query_defaults: QueryDefaults;
  })[] | undefined;
}

/** Page of the list of documents. */
export interface GetDocumentInfoListRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Maximum number of documents, 1 to 1,024. Default: `1024`. */
  readonly limit?: number | undefined;
  /** Only paths that start with this prefix. */
  readonly path_prefix?: string | null | undefined;
  /**
   * Only paths after this path: send the last path of the previous page. A query string parameter with this
   * name takes precedence.
   */
  readonly path_gt?: string | null | undefined;
  /** Only documents that failed. The cost is proportional to their number. Default: `false`. */
  readonly only_failed?: boolean | undefined;
  /** Only paths that contain this text, case-insensitive. */
  readonly path_contains?: string | null | undefined;
  /** Only documents with one of these states. */
  readonly index_statuses?: readonly DocumentIndexStatus[] | null | undefined;
  /**
   * Only paths that end with one of these file name extensions, without the dot, case-insensitive. Up to 64.
   */
  readonly extensions?: readonly string[] | null | undefined;
  readonly created_at_gte?: string | null | undefined;
  readonly created_at_lt?: string | null | undefined;
  /**
   * Order of the documents; documents with equal values are ordered by path. Values other than `path` read
   * the whole collection for each page. The reply then contains `next_cursor`.
   */
  readonly sort_by?: 'path' | 'created_at' | 'size' | 'num_pages' | 'index_status' | null | undefined;
  /** Reverse the order of `sort_by`. Default: `false`. */
  readonly descending?: boolean | undefined;
  /**
   * Orders documents by metadata, instead of `sort_by`; ties are ordered by path. Reads the whole collection
   * for each page. The reply then contains `next_cursor`. Strings are ordered by their UTF-8 bytes, before
   * numbers, which are before booleans; documents without a value, and points, come last. At most 4 fields.
   */
  readonly sort?: readonly SortField[] | null | undefined;
  /** The `next_cursor` of the previous page, with the same `sort_by` and `descending`, or the same `sort`. */
  readonly cursor?: string | null | undefined;
  /**
   * Return the number of matching documents as `num_matching`. This reads the whole collection. Default:
   * `false`.
   */
  readonly include_count?: boolean | undefined;
  /**
   * Counts of the documents that match, on all pages, by the values of metadata fields: a name, `{"author":
   * {"limit": 20}}`, `{"year": {"ranges": [{"from": 2000, "to": 2010}]}}`, or ranges of dates `{"from":
   * {"$date": "2026-01-01"}}`. This reads the whole collection. At most 16 fields; 10 values of a field, or
   * `limit`, at most 100.
   */
  readonly facets?: readonly (string | Readonly<Record<string, unknown>>)[] | null | undefined;
}

/** Documents in ascending order of their paths, or in the order of `sort_by` or `sort`. */
export interface GetDocumentInfoListResponse {
  /** Empty if there are no more. */
  documents: DocumentMetadataResponse[];
  /** Only with `sort_by` or `sort`: the `cursor` of the next page; null on the last page. */
  next_cursor?: string | null | undefined;
  /** Only with `include_count`: number of documents that match, on all pages. */
  num_matching?: number | undefined;
  /** In the order of the request; only with `facets`. */
  facets?: FacetResponse[] | undefined;
}

/** A document to describe. */
export interface GetDocumentInfoRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Path of the document inside its collection: 1 to 4,096 bytes of UTF-8, compared byte by byte. */
  readonly path: string;
  /** Include the full text. Default: `false`. */
  readonly include_content?: boolean | undefined;
}

/** The requested document. */
export interface GetDocumentInfoResponse {
  document: DocumentResponse;
}

/** A part of the text of a document. */
export interface GetDocumentTextRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Path of the document inside its collection: 1 to 4,096 bytes of UTF-8, compared byte by byte. */
  readonly path: string;
  /** Zero-based page: the part starts and ends within it. Absent or null: the part can span pages. */
  readonly page_index?: number | null | undefined;
  /**
   * Start of the part, in code points from the start of the document. Absent or null: start of the page or
   * document.
   */
  readonly start_index?: number | null | undefined;
  /** Maximum length of the part in code points, 1 to 100,000; absent or null means 20,000. */
  readonly max_characters?: number | null | undefined;
}

/** A part of the text of a document. */
export interface GetDocumentTextResponse {
  text: {
    collection_name: string;
    path: string;
    /** Pages of the document. */
    num_pages: number;
    /** Code points of the document. */
    length: number;
    /** First code point of the part. */
    start_index: number;
    /** Code point after the last one of the part. */
    end_index: number;
    /** First page of the part, and the page after its last one. */
    page_span: number[];
    /** Start of the next part; null at the end of the page or document. */
    next_index: number | null;
    /** The text. */
    content: string;
  };
}

/** Health of the installation. */
export interface GetHealthResponse {
  state: HealthState;
  /** The checks of `quarry doctor`. */
  checks: HealthCheck[];
  /** The components of `/readyz`. */
  components: HealthComponent[];
  /** Version of Quarry. */
  version: string;
  /** Version of Node.js. */
  node_version: string;
  /** `uws` or `node`. */
  http_server: string;
  /** Start of the server. */
  started_at: string;
  /** Anonymous memory of the server, which is not backed by files. */
  memory_used_bytes: number;
  /** Value of `QUARRY_MEMORY_BYTES_MAX`. */
  memory_max_bytes: number;
  /** Free bytes of the disk with the data directory. */
  disk_free_bytes: number;
  /** Value of `QUARRY_DISK_RESERVE_BYTES`; with less free space, writes are rejected. */
  disk_reserve_bytes: number;
  /** Documents waiting for parsing and indexing. */
  waiting_documents: number;
}

/** Lines of the server log to read. */
export interface GetLogLinesRequest {
  /** Minimum level; absent or null for all lines. */
  readonly level?: LogLevel | null | undefined;
  /**
   * Only lines whose event or fields contain this text, without regard to case; absent, null or empty for
   * all.
   */
  readonly text?: string | null | undefined;
  /** The `next_cursor` of the previous reply; absent or null for the last lines. */
  readonly cursor?: string | null | undefined;
  /** Maximum number of lines; default 100. */
  readonly limit?: number | null | undefined;
}

/** Lines of the log, oldest first. */
export interface GetLogLinesResponse {
  lines: LogLine[];
  /** Send it as `cursor` for the lines that follow. */
  next_cursor: string;
  /** Whether lines since the cursor are missing, because they are no longer in memory. */
  is_truncated: boolean;
}

/** Content of the list of models. */
export interface GetModelListRequest {
  /** Whether to return the details of each model. */
  readonly include_details?: boolean | null | undefined;
}

/** The models that requests can use. */
export interface GetModelListResponse {
  /** Names of embedding models, including those added by the operator. */
  embedding_models: string[];
  /** Names of rerankers, including those added by the operator. */
  rerankers: string[];
  /** Default embedding model of new collections. */
  default_embedding_model: string;
  /** Default reranker of queries; null for none. */
  default_reranker: string | null;
  /** Model that answers questions; null if answers are disabled. */
  chat_model: string | null;
  /** Only with `include_details`. */
  models?: ModelDetails[] | undefined;
}

/** An organization to describe. */
export interface GetOrganizationRequest {
  /** ID of the organization. */
  readonly organization_id: string;
}

/** An organization. */
export interface GetOrganizationResponse {
  /** ID of the organization. */
  organization_id: string;
  name: string;
  subscription_tier: SubscriptionType;
  /** Bytes per minute of fast model calls; null when there is no override. */
  override_bpm_fast: number | null;
  /** Bytes per minute of slow model calls; null when there is no override. */
  override_bpm_slow: number | null;
  /** Charged bytes of one model call; null when there is no override. */
  override_max_bytes_per_request: number | null;
  /** Bytes of the metadata of one document, as compact JSON; null when there is no override. */
  override_max_metadata_bytes: number | null;
  /** Fast rerank calls per minute; null when there is no override. */
  override_rpm: number | null;
  /** Requests of any kind per minute; null when there is no override. */
  override_requests_per_minute: number | null;
  /** Queries per minute; null when there is no override. */
  override_queries_per_minute: number | null;
  /** Raw bytes of added documents per minute; null when there is no override. */
  override_document_bytes_per_minute: number | null;
  /** Stored documents; null when there is no override. */
  override_max_documents: number | null;
  /** Raw bytes of stored documents; null when there is no override. */
  override_max_storage_bytes: number | null;
  /** Documents waiting for parsing and indexing at the same time; null when there is no override. */
  override_max_ingest_documents: number | null;
  rate_limits: RateLimits;
  storage: OrganizationStorage;
  /** Zero data retention: no text of the organization is written to a log. */
  zdr: boolean;
}

/** A page of a document. */
export interface GetPageInfoRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Path of the document inside its collection: 1 to 4,096 bytes of UTF-8, compared byte by byte. */
  readonly path: string;
  /** Zero-based; a page that does not exist returns 404. */
  readonly page_index: number;
  /** Include the text of the page. Default: `false`. */
  readonly include_content?: boolean | undefined;
}

/** The requested page. */
export interface GetPageInfoResponse {
  page: PageResponse;
}

/** Settings of the running server. */
export interface GetSettingsResponse {
  settings: SettingInfo[];
  /** Path of the settings file; null without one. */
  file: string | null;
}

/** Items of a source. */
export interface GetSourceItemListRequest {
  /** Name of the source: 1 to 256 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly source_name: string;
  /** Whether only failed items are returned; default false. */
  readonly only_failed?: boolean | undefined;
  /** Only items after this one. */
  readonly key_gt?: string | null | undefined;
  /** Maximum number of items: 1 to 1,024; default 1,024. */
  readonly limit?: number | null | undefined;
}

/** Items of a source. */
export interface GetSourceItemListResponse {
  /** In ascending order of their keys. */
  items: ({
    /** Name of the item in the origin. */
    key: string;
    /** Path of its document. */
    path: string;
    /** Result of its last change. */
    result: 'added' | 'updated' | 'failed';
    /** Reason for the failure. */
    error: string | null;
    /** Time of the result. */
    at: string;
    /** SHA-256 of its document; null if it has none. */
    sha256: string | null;
  })[];
  /** `key_gt` of the next request; null at the end. */
  next_key_gt: string | null;
}

/** All sources of the organization. */
export interface GetSourceListResponse {
  /** In ascending order of their names. */
  sources: SourceInfo[];
}

/** Files of the last commit of a Git repository. */
export interface GitSettings {
  /** Address of the repository for `git clone`, with https://. */
  url: string;
  branch?: string | null | undefined;
  folder?: string | null | undefined;
  /** Whether names that start with a dot are included; default false. */
  include_hidden?: boolean | undefined;
  url_prefix?: string | null | undefined;
}

/** Grouping of results by metadata. */
export interface GroupBy {
  /** Name of a metadata field; not a list. */
  readonly field: string;
  /** Maximum number of results of a group, 1 to 10; default 3. */
  readonly size?: number | null | undefined;
}

/** The request does not match the schema of the operation. */
export interface HTTPValidationError {
  detail?: ValidationError[] | undefined;
}

/** Result of one check of the machine or the data directory. */
export interface HealthCheck {
  check: string;
  state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** Result of the check, in words. */
  detail: string;
  /** Action to take; null if none is needed. */
  advice: string | null;
}

/** Component of the running server. */
export interface HealthComponent {
  component: string;
  is_ready: boolean;
  detail: string;
}

export type HealthState = 'ok' | 'warning' | 'failed';

/** Messages of a mail account. */
export interface ImapSettings {
  /** Host of the IMAP server. */
  host: string;
  /** Port; default 993, or 143 without TLS. */
  port?: number | null | undefined;
  /**
   * Whether the connection is encrypted; default true. False only for hosts of `QUARRY_SOURCE_PRIVATE_HOSTS`.
   */
  tls?: boolean | undefined;
  mailbox?: string | null | undefined;
}

/** The organization to search for. */
export interface InspectOrganizationRequest {
  /** ID of the organization. */
  readonly organization_id: string;
}

/** Existing data of an organization. */
export interface InspectOrganizationResponse {
  /** ID of the organization. */
  organization_id: string;
  /** `deleting`: access is blocked and the data is being removed. */
  state: 'exists' | 'deleting' | 'gone';
  removed_at: string | null;
  /** Rows that belong to the organization or reference it. */
  remains: InspectionFinding[];
  /** Orphaned rows and files of deleted collections and documents of any organization. */
  orphans: InspectionFinding[];
}

/** Data that was found. */
export interface InspectionFinding {
  /** A table of the store, or a kind of files. */
  place: string;
  count: number;
}

/** The place of a line of text on the image of its page. */
export interface LineRectangle {
  /** Distance of the left edge from that of the image, 0 to 1 of its width. */
  left: number;
  /** Distance of the upper edge from that of the image, 0 to 1 of its height. */
  top: number;
  /** 0 to 1 of the width of the image. */
  width: number;
  /** 0 to 1 of the height of the image. */
  height: number;
}

/** The organization of the keys. */
export interface ListAPIKeysRequest {
  /** ID of the organization. */
  readonly organization_id: string;
}

/** The keys of an organization. */
export interface ListAPIKeysResponse {
  api_keys: APIKeyInfo[];
}

/** The last attempts. */
export interface ListDeliveriesResponse {
  /** The newest first, at most 50. */
  deliveries: WebhookAttempt[];
}

/** Page of the list of organizations. */
export interface ListOrganizationsRequest {
  /** The `next_after` of the previous reply; the list continues after this ID. */
  readonly after?: string | null | undefined;
  /** Maximum number of entries; default 100. */
  readonly limit?: number | null | undefined;
  /** Whether to return the storage of each organization. */
  readonly include_storage?: boolean | null | undefined;
}

/** Organizations ordered by ID. */
export interface ListOrganizationsResponse {
  organizations: ListedOrganization[];
  /** Cursor of the next page; null on the last page. */
  next_after: string | null;
}

/** Passkeys of a user. */
export interface ListUserPasskeysResponse {
  /** Oldest first. */
  passkeys: PasskeyInfo[];
}

/** Page of the list of users. */
export interface ListUsersRequest {
  /** The `next_after` of the previous reply; the list continues after this ID. */
  readonly after?: string | null | undefined;
  /** Maximum number of entries; default 100. */
  readonly limit?: number | null | undefined;
  /** Only the user with exactly this address. */
  readonly email?: string | null | undefined;
  /**
   * Only users whose address or name contains this text, case-insensitive. A reply can then contain fewer
   * users than `limit`, or none, although more follow; check `next_after`.
   */
  readonly search?: string | null | undefined;
}

/** Users ordered by ID. */
export interface ListUsersResponse {
  users: ListedUser[];
  /** Cursor of the next page; null on the last page. */
  next_after: string | null;
}

/** All webhooks. */
export interface ListWebhooksResponse {
  webhooks: WebhookInfo[];
}

/** An organization in a list. */
export interface ListedOrganization {
  /** ID of the organization. */
  organization_id: string;
  name: string;
  subscription_tier: SubscriptionType;
  /** Creation time. */
  created_at: string;
  /** Zero data retention. */
  zdr: boolean;
  /** Whether it has overrides. */
  overridden: boolean;
  storage?: OrganizationStorage | undefined;
}

/** A user in a list. */
export interface ListedUser {
  /** ID of the user. */
  user_id: string;
  email: string;
  name: string | null;
  /** Time of the first sign-in. */
  created_at: string;
  /** Time of the last sign-in. */
  last_login_at: string;
  /** Time when the user was disabled; null if the user can sign in. */
  disabled_at: string | null;
  /** Open sessions. */
  sessions: number;
  /** Whether the second factor is enabled. */
  second_factor: boolean;
  /** Number of passkeys. */
  passkeys: number;
  organizations: ({
    /** ID of the organization. */
    organization_id: string;
    name: string;
    permission: 'OWNER' | 'ADMIN' | 'MEMBER';
  })[];
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One event of the server. */
export interface LogLine {
  /** Time of the event. */
  time: string;
  level: LogLevel;
  /** The event in fixed words. */
  event: string;
  /** Details of the event. */
  fields: Record<string, unknown>;
}

/**
 * Change to metadata as a JSON merge patch (RFC 7396): a value sets an attribute, null removes it, and other
 * attributes are kept. A list is replaced as a whole; the coordinates of a point can be changed individually.
 */
export type MetadataPatch = Readonly<Record<string, string | readonly string[] | number | boolean | null | {
  readonly lat?: number | null | undefined;
  readonly lon?: number | null | undefined;
}>>;

/**
 * Types of metadata fields by name: `string`, `number`, `boolean`, `date` (a string with an RFC 3339 date) or
 * `geo` (`{"lat": 52.5, "lon": 13.4}`). Documents whose value has another type are rejected. Filters compare
 * dates by their instants. At most 256 fields; other fields may have any type.
 */
export type MetadataSchema = Record<string, 'string' | 'number' | 'boolean' | 'date' | 'geo'>;

/** A model. */
export interface ModelDetails {
  id: string;
  kind: 'embedding' | 'reranker';
  /** Part of the server, added by the operator, or run by another service. */
  source: 'built-in' | 'added' | 'service';
  /** Length of its vectors; null for rerankers. */
  dimensions: number | null;
  /** Other names of the model. */
  aliases: string[];
  /** Whether new collections or queries use it by default. */
  is_default: boolean;
  /** False while requests to its service fail. */
  is_available: boolean;
  /** Of queries and model calls, not of documents; null if there were none. */
  latency: ModelLatency | null;
  /** Collections whose vectors it computes. */
  collection_names: string[];
}

/** Latency of the last calls since the server started. */
export interface ModelLatency {
  /** Number of calls, at most 512. */
  calls: number;
  /** Median, in milliseconds. */
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
}

/** Usage of models. */
export interface ModelsUsageCountersResponse {
  all_time: ModelsUsageStats;
  billing_cycle: ModelsUsageStats;
}

/** Counters of the models. */
export interface ModelsUsageStats {
  rerank: UsageMetric;
  embed: UsageMetric;
}

/** Texts to embed, in the format of OpenAI, Jina or Voyage. */
export interface OpenAiEmbeddingsRequest {
  readonly model: string;
  /** One text or a list of texts, or of objects with a field `text`; an empty list gives no results. */
  readonly input: string | readonly (string | {
    readonly text: string;
  })[];
  /** As in `/models/embed`. */
  readonly dimensions?: number | null | undefined;
  /**
   * `base64` returns little-endian 32-bit floats in base64, about a quarter of the size. Default: `float`.
   */
  readonly encoding_format?: 'float' | 'base64' | null | undefined;
  /** Type of the texts; absent or null means `document`. */
  readonly input_type?: 'query' | 'document' | null | undefined;
  /** Jina: `retrieval.query` embeds queries; other tasks embed documents. */
  readonly task?: string | null | undefined;
  /** Jina: as `encoding_format`. */
  readonly embedding_type?: 'float' | 'base64' | null | undefined;
  /** Voyage: as `dimensions`. */
  readonly output_dimension?: number | null | undefined;
  /** Voyage: type of the numbers. */
  readonly output_dtype?: 'float' | null | undefined;
}

/** Vectors, in OpenAI format. */
export interface OpenAiEmbeddingsResponse {
  object: 'list';
  data: ({
    object: 'embedding';
    index: number;
    /** A vector of unit length, as numbers or in base64. */
    embedding: number[] | string;
  })[];
  model: string;
  usage: {
    prompt_tokens: number;
    total_tokens: number;
  };
}

/** A model, in OpenAI format. */
export interface OpenAiModel {
  /** Name of the model. */
  id: string;
  object: 'model';
  /** Always 0. */
  created: number;
  /** Always `quarry`. */
  owned_by: string;
}

/** All models, in OpenAI format. */
export interface OpenAiModelList {
  object: 'list';
  data: OpenAiModel[];
}

/** Current storage of an organization. */
export interface OrganizationStorage {
  documents: number;
  /** Raw bytes of the stored files and texts. */
  bytes: number;
  /** Documents waiting for parsing and indexing. */
  ingest_documents: number;
}

/** Places of lines of text on one page. */
export interface PageRectangles {
  /** Zero-based. */
  page: number;
  /** In the order of the text. */
  rectangles: LineRectangle[];
}

/** A page. */
export interface PageResponse {
  /** Derived from the document and the page index. */
  id: string;
  collection_name: string;
  path: string;
  page_index: number;
  /**
   * Start offset of the page in the text of the document, in code points, like `start_index` of a snippet;
   * null until the document is split into snippets.
   */
  start_index: number | null;
  /** The text of the page if `include_content` is true, otherwise null. */
  content?: string | null | undefined;
  /** URL of a JPEG of the page; null if the document has no page images. */
  image_url: string | null;
}

/** A page result. */
export interface PageRetrievalResponse {
  path: string;
  /** Zero-based. */
  page_index: number;
  /** Relevance within this query, 0 to 1; higher is better. */
  score: number;
  /** Null unless requested. */
  content: string | null;
  /** URL of a JPEG of the page; null if there is none. */
  image_url: string | null;
  /** Collection of the result as the request names it; only with `collection_names`. */
  collection_name?: string | undefined;
  /**
   * Ranges of `content` with words that match the query: start and end (exclusive), in code points from the
   * start of `content`, in order; the first 100. Only with `highlights`.
   */
  highlights?: number[][] | undefined;
  /**
   * Places of the lines of the text on the images of its pages, one rectangle per line or table cell; pages
   * without known lines are absent. The first 500 lines. Only with `include_rectangles`.
   */
  page_rectangles?: PageRectangles[] | undefined;
  explain?: ResultExplanation | undefined;
}

/** A file to parse; nothing is stored. */
export interface ParseDocumentRequest {
  /** The file in standard base64 with padding, without line breaks. */
  readonly base64_data: string;
}

/** The text of the file. */
export interface ParseDocumentResponse {
  /** One string per page. */
  pages: string[];
  /** Warnings about omitted or unreadable parts; empty if there are none. */
  warnings: string[];
}

/** A passkey. */
export interface PasskeyInfo {
  /** ID of the passkey. */
  id: string;
  name: string;
  /** Host name at which the passkey works. */
  host: string;
  /** Whether the authenticator copies the passkey to other devices of its owner. */
  is_synced: boolean;
  /** Creation time. */
  created_at: string;
  /** Time of the last sign-in; null before the first. */
  last_used_at: string | null;
}

/** A single-use link. */
export interface PasswordLinkResponse {
  /** Page on which the user chooses a new password. */
  url: string;
  /** Expiry time. */
  expires_at: string;
}

/**
 * Changes that a run would make now. Files are compared by time and size, so some may turn out to be
 * unchanged.
 */
export interface PreviewSourceResponse {
  counts: {
    /** Documents added. */
    added: number;
    /** Documents with new content or metadata. */
    updated: number;
    /** Documents deleted. */
    deleted: number;
    /** Items that did not change. */
    unchanged: number;
    /** Items that could not be stored. */
    failed: number;
  };
  /** The first 1,000 changes. */
  changes: ({
    /** Name of the item in the origin. */
    key: string;
    /** Path of its document. */
    path: string;
    action: 'add' | 'update' | 'delete' | 'fail';
    error: string | null;
  })[];
  /** False if the time limit of the call ended before the whole origin was listed. */
  is_complete: boolean;
}

/** Default query options of a collection. */
export interface QueryDefaults {
  /**
   * Weights of the lexical and the vector score, default 1 and 0.6. Not negative, and not both 0. A search
   * with weight 0 is skipped.
   */
  weights?: {
    /** Weight of the lexical score. */
    lexical: number;
    /** Weight of the vector score. */
    vector: number;
  } | null | undefined;
  /**
   * 0 to 1: results with a lower `score` are omitted, after reranking. Scores are comparable within one query
   * only.
   */
  min_score?: number | null | undefined;
  /**
   * `operators`: results must contain each `"quoted phrase"` and must not contain a `-word` or `-"phrase"`.
   * Default: `"natural"`.
   */
  syntax?: 'natural' | 'operators' | undefined;
  /** Maximum results per document, at least 1. The search continues until there are `k` results. */
  max_per_document?: number | null | undefined;
}

/** Query type: `fine` for precise snippets, `coarse` for other snippets. */
export type QueryEnum = 'fine' | 'coarse' | 'pages' | 'documents';

/** Explanation of a query. */
export interface QueryExplanation {
  shards: ({
    shard: number;
    /** Search strategy of the shard, for example `graph` or `scan`. */
    strategy: string;
    /** Candidate list size of the graph search (ef); 0 if the graph was not searched. */
    effort: number;
    /** Whether the value was measured on this collection; otherwise it is a conservative estimate. */
    calibrated: boolean;
    /** Number of candidates returned by the shard. */
    candidates: number;
    ms: number;
  })[];
  ms: {
    embed: number;
    search: number;
    /** Includes the measurement of `relevance`. */
    rerank: number;
    read: number;
  };
  /** Unavailable models that the query did not use. */
  missing: ({
    part: 'vector' | 'rerank';
    model: string;
    /** Reason for the failure. */
    reason: string;
  })[];
  /** Spelling corrections. */
  spelling: ({
    /** A word of the query that occurs in no document. */
    typed: string;
    /** Terms of the documents that were searched instead. */
    terms: string[];
    /** Replacement in the text that models read. */
    read_as: string;
  })[];
  /**
   * Whether one of the first 10 results has a `relevance` of at least 0.5. False: the collection probably has
   * no answer. Null if relevance was not measured.
   */
  good_match: boolean | null;
  /** Number of snippets that `latency_mode: high` rescored. */
  looked_at: number;
  /** Options and operators that applied to the query. */
  control: {
    /**
     * Weights of the lexical and the vector score, default 1 and 0.6. Not negative, and not both 0. A search
     * with weight 0 is skipped.
     */
    weights: {
      /** Weight of the lexical score. */
      lexical: number;
      /** Weight of the vector score. */
      vector: number;
    };
    min_score: number | null;
    max_per_document: number | null;
    syntax: 'natural' | 'operators';
    /** Required phrases, as entered. */
    phrases: string[];
    /** Excluded words and phrases. */
    excluded: string[];
    /** Number of snippets read to check the operators. */
    checked: number;
    /** False if the search stopped at its limits; more results may exist. */
    complete: boolean;
  };
  /**
   * Only in collections with `history_days`: the moment after the last change of the documents. As `as_of`,
   * it repeats this answer later; changes while the query runs may be in the answer. Null for keys with a
   * document filter.
   */
  moment?: string | null | undefined;
  /** Only with `as_of`: changes since that moment. Null for keys with a document filter. */
  past?: {
    /** Versions that were searched although they were replaced or deleted later. */
    num_restored_versions: number;
    /** Versions that were not searched because they are newer. */
    num_hidden_versions: number;
  } | null | undefined;
}

/** Times of the queries of one row. */
export interface QueryTimes {
  /** Queries whose time is in the histogram; queries of earlier versions are only in the sums. */
  count: number;
  /** Half of the queries took at most this time, in milliseconds. */
  p50_ms: number;
  /** 95 % of the queries took at most this time. */
  p95_ms: number;
  /** 99 % of the queries took at most this time. */
  p99_ms: number;
  /**
   * Buckets with queries, ascending. The bounds are the same in all rows, so that rows can be added. A bound
   * is 26 % above the one before it; percentiles are interpolated within a bucket.
   */
  histogram: ({
    /** Upper bound of the times in milliseconds, inclusive; null for no bound. */
    le_ms: number | null;
    /** Queries above the previous bound and up to this one. */
    count: number;
  })[];
}

/** Queries of one row. */
export interface QueryUsageResponse {
  /** First second of the row, in seconds since the epoch UTC. */
  window_start: number;
  /** ID of the organization. */
  organization_id: string;
  /** ID of the collection. */
  collection_id: string;
  query_type: QueryEnum;
  /** Number of events. */
  event_count: number;
  /** UTF-8 bytes of the queries. */
  total_query_bytes: number;
  /** Indexed bytes of the collections at the time of the query. */
  total_queried_bytes: number;
  /** Tokens of the queries. */
  total_query_tokens: number;
  /** Results. */
  total_results_returned: number;
  /** Processing time in milliseconds. */
  total_time_taken_ms: number;
  times?: QueryTimes | undefined;
}

/** Limits of an organization, including overrides. */
export interface RateLimits {
  /**
   * Bytes per minute of fast model calls; applies separately to embedding and to reranking; null for no
   * limit.
   */
  bpm_fast: number | null;
  /** Bytes per minute of slow model calls; null for no limit. */
  bpm_slow: number | null;
  /** Fast rerank calls per minute; null for no limit. */
  rpm: number | null;
  /** Charged bytes of one model call. */
  max_bytes_per_request: number;
  /** Refill interval in seconds; each refill adds a quarter of the limit per minute. */
  refresh_seconds: number;
  /** Whether any limit differs from the tier. */
  overridden: boolean;
  /** Requests of any kind per minute; null for no limit. */
  requests_per_minute: number | null;
  /** Queries per minute; null for no limit. */
  queries_per_minute: number | null;
  /** Raw bytes of added documents per minute; null for no limit. */
  document_bytes_per_minute: number | null;
  /** Stored documents; null for no limit. */
  max_documents: number | null;
  /** Raw bytes of stored documents; null for no limit. */
  max_storage_bytes: number | null;
  /** Documents waiting for parsing and indexing at the same time; null for no limit. */
  max_ingest_documents: number | null;
}

/** Preference for recent documents. */
export interface RecencyBoost {
  /** Metadata field with RFC 3339 dates. */
  readonly field: string;
  /** Age at which the factor is one half: a number with the unit `s`, `m`, `h`, `d`, `w` or `y`. */
  readonly half_life: string;
  /** 0 to 1, default 1: share of the score that decays. The factor is never below 1 - `weight`. */
  readonly weight?: number | null | undefined;
  /** RFC 3339 date from which ages are measured; default: the time of the query. */
  readonly origin?: string | null | undefined;
}

/** A collection and its new name. */
export interface RenameCollectionRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** The new name. The name of an existing collection or alias returns 409. */
  readonly new_collection_name: string;
}

/** A webhook and the change from which it continues. */
export interface ReplayWebhookRequest {
  /** ID of the webhook. */
  readonly webhook_id: string;
  /** The first change that is delivered again. */
  readonly sequence: number;
}

/** Texts to rerank by relevance to a query. */
export interface RerankRequest {
  /**
   * Model ID; an unknown ID returns 404 with the list. Absent or null: the default reranker of the server, or
   * `zerank-2` if it has none.
   */
  readonly model?: string | null | undefined;
  /** The query. */
  readonly query: string;
  /** Maximum number of results, at least 1; absent or null for all. */
  readonly top_n?: number | null | undefined;
  /** The texts. */
  readonly documents: readonly string[];
  /**
   * `fast` is served immediately or returns 429; `slow` has a larger quota and may wait in a queue; absent or
   * null tries `fast`, then `slow`.
   */
  readonly latency?: 'fast' | 'slow' | null | undefined;
}

/** Scores, best first. */
export interface RerankResponse {
  results: RerankResult[];
  /**
   * Bytes that count against the rate limit: for each text, 150 plus the UTF-8 bytes of the query and the
   * text.
   */
  total_bytes: number;
  /** Tokens read by the model. */
  total_tokens: number;
  /** Latency mode of the call. */
  actual_latency_mode: 'fast' | 'slow';
  /** Seconds from the request to the reply. */
  e2e_latency: number;
  /** Seconds in the model. */
  inference_latency: number;
}

/** One text with its score. */
export interface RerankResult {
  /** Position in `documents`. */
  index: number;
  /** 0 to 1; depends on the query and this text only. */
  relevance_score: number;
}

/** Reranking of one row. */
export interface RerankUsageResponse {
  /** First second of the row, in seconds since the epoch UTC. */
  window_start: number;
  /** ID of the organization. */
  organization_id: string;
  reranker_model: string;
  /** True for calls of the model operation, false for work of documents and queries. */
  explicit_call: boolean;
  /** Number of events. */
  event_count: number;
  /** Charged bytes. */
  total_request_bytes: number;
  /** Tokens read by the model. */
  total_reranker_tokens: number;
  /** Scored texts. */
  total_documents_reranked: number;
  /** Processing time in milliseconds. */
  total_time_taken_ms: number;
  /** Milliseconds in the model. */
  total_reranking_time_ms: number;
}

/** Explanation of a result. */
export interface ResultExplanation {
  lexical: {
    /** BM25 score. */
    score: number;
    /** Words of the query that the text contains. */
    terms: string[];
    /** For each of `terms`, the words of the text that match it, as written. */
    words: string[][];
  };
  vector: {
    /** Cosine similarity of query and text. */
    similarity: number | null;
  };
  /** Score after fusion of both. */
  fused: number;
  /** Score of the reranker; null without a reranker. */
  rerank: number | null;
  /**
   * Relevance of the text to the query, 0 to 1, comparable between queries: score of the built-in reranker
   * for the first 10 results; null for others.
   */
  relevance: number | null;
  /** Term proximity used for rescoring (`latency_mode: high`); null otherwise. */
  look: {
    /** Share of query terms in the first words of the text. */
    lead: number;
    /** Share of query terms in the order of the query, 0 to 1. */
    order: number;
    /** Largest share of query terms within 20 words. */
    nearness: number;
  } | null;
  /** Only with `boost`: the factor by which `score` was multiplied. */
  boost?: number | undefined;
  /** True for a result that `curations` of the collection pinned. */
  pinned?: boolean | undefined;
  /** Only with `as_of`: the version of the document. */
  version?: {
    /** ID of the document at that moment; an overwritten document had another one. */
    document_id: string;
    /** Time when this version was replaced or deleted; null for one that search still finds. */
    replaced_at: string | null;
  } | undefined;
}

/** Results with the same value of a field. */
export interface ResultGroup {
  /** Null for results without a value. */
  value: string | number | boolean | null;
  /** Number of its results. In `results`, they follow those of the previous groups. */
  results: number;
}

/** A bucket in S3 or a compatible store. */
export interface S3Settings {
  /** Name of the bucket. */
  bucket: string;
  key_prefix?: string | null | undefined;
  region?: string | null | undefined;
  endpoint?: string | null | undefined;
  /** Whether the tags of each object become metadata named `source_tag_...`; default false. */
  include_tags?: boolean | undefined;
}

/** A code. */
export interface SecondFactorCodeRequest {
  /** Six digits of the authenticator app, or a recovery code. Each works once. */
  readonly code: string;
}

/** State of the second factor. */
export interface SecondFactorStatusResponse {
  is_enabled: boolean;
  enabled_at: string | null;
  recovery_codes_left: number;
}

/** A setting of the server. */
export interface SettingInfo {
  variable: string;
  section: string;
  meaning: string;
  /** The value in force; null if it is not set or secret. */
  value: string | number | boolean | null;
  unit: string | null;
  /** Whether the value is never returned. */
  is_secret: boolean;
  /** Whether there is a value. */
  is_set: boolean;
  /** Source of the value. */
  source: 'default' | 'variable' | 'flag' | 'file';
  /** The default, or how it is derived. */
  default: string | number | boolean | null;
}

/** A snippet result. */
export interface SnippetResponse {
  path: string;
  /** Start offset in the text of the document, in code points. */
  start_index: number;
  /** End offset (exclusive). */
  end_index: number;
  /** Range of pages: first page, and end page (exclusive). */
  page_span: number[];
  /** Exactly the text between the two indexes. */
  content: string;
  /** Relevance within this query, 0 to 1; higher is better. */
  score: number;
  /** Collection of the result as the request names it; only with `collection_names`. */
  collection_name?: string | undefined;
  /**
   * Ranges of `content` with words that match the query: start and end (exclusive), in code points from the
   * start of `content`, in order; the first 100. Only with `highlights`.
   */
  highlights?: number[][] | undefined;
  /**
   * Places of the lines of the text on the images of its pages, one rectangle per line or table cell; pages
   * without known lines are absent. The first 500 lines. Only with `include_rectangles`.
   */
  page_rectangles?: PageRectangles[] | undefined;
  explain?: ResultExplanation | undefined;
}

/** One level of an order by metadata. */
export interface SortField {
  /** Name of a metadata field; not a list. */
  readonly field: string;
  /** Ascending or descending. Documents without a value come last in both. Default: `"asc"`. */
  readonly order?: 'asc' | 'desc' | undefined;
  /**
   * `date`: order dates by their instants. Default for fields that the `metadata_schema` declares as dates.
   * Other values count as missing.
   */
  readonly type?: 'date' | undefined;
}

/** A source and its state. */
export interface SourceInfo {
  source_name: string;
  /** Null if the collection was deleted. */
  collection_name: string | null;
  kind: 'directory' | 's3' | 'website' | 'rss' | 'git' | 'webdav' | 'imap';
  directory?: DirectorySettings | undefined;
  s3?: S3Settings | undefined;
  website?: WebsiteSettings | undefined;
  rss?: FeedSettings | undefined;
  git?: GitSettings | undefined;
  webdav?: WebDavSettings | undefined;
  imap?: ImapSettings | undefined;
  prefix: string;
  schedule: string;
  time_zone: string;
  watch: boolean;
  /** Reason why the folder is not watched. */
  watch_error: string | null;
  metadata: DocumentMetadataJson;
  has_credentials: boolean;
  state: 'idle' | 'queued' | 'running' | 'paused' | 'deleting';
  /** The run in progress; null if there is none. */
  running: {
    /** Start of the run. */
    started_at: string;
    counts: {
      /** Documents added. */
      added: number;
      /** Documents with new content or metadata. */
      updated: number;
      /** Documents deleted. */
      deleted: number;
      /** Items that did not change. */
      unchanged: number;
      /** Items that could not be stored. */
      failed: number;
    };
  } | null;
  /** The last run; null before the first one. */
  last_run: {
    /** Start of the run. */
    started_at: string;
    /** End of the run. */
    ended_at: string;
    /** `partial`: some items failed. `failed`: the origin could not be read. */
    outcome: 'succeeded' | 'partial' | 'failed' | 'interrupted';
    error: string | null;
    counts: {
      /** Documents added. */
      added: number;
      /** Documents with new content or metadata. */
      updated: number;
      /** Documents deleted. */
      deleted: number;
      /** Items that did not change. */
      unchanged: number;
      /** Items that could not be stored. */
      failed: number;
    };
  } | null;
  /** Start of the last run that completely synchronized the documents with the origin. */
  last_success_at: string | null;
  /** Time of the next scheduled run; null if none is scheduled. */
  next_run_at: string | null;
  /** Time when the source was created. */
  created_at: string;
}

/** A source. */
export interface SourceRequest {
  /** Name of the source: 1 to 256 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly source_name: string;
}

/** A source. */
export interface SourceResponse {
  source: SourceInfo;
}

/** The collection to describe. */
export interface StatusRequest {
  /** Only this collection; absent or null means all collections of the caller. */
  readonly collection_name?: string | null | undefined;
  /**
   * With `collection_name`: also return `details`. Keys with a document filter do not get them, because they
   * describe the whole collection. Default: `false`.
   */
  readonly include_details?: boolean | undefined;
}

/** Document counts by status. */
export interface StatusResponse {
  /** All documents: the sum of the following four counts. */
  num_documents: number;
  /** Waiting for parsing or being parsed. */
  num_parsing_documents: number;
  /** Waiting for indexing or being indexed. */
  num_indexing_documents: number;
  /** Indexed. */
  num_indexed_documents: number;
  /** Failed in parsing or indexing. */
  num_failed_documents: number;
  /** Reason why indexing is currently blocked; absent if it is not. */
  waiting_for?: string[] | undefined;
  /** Documents that are being parsed, with progress; absent if there are none. */
  parsing_documents?: ({
    /** Its collection. */
    collection_name: string;
    /** Its path. */
    path: string;
    /** Waiting for a parser, being parsed, being converted by LibreOffice, or being processed by OCR. */
    stage: 'waiting' | 'reading' | 'converting' | 'recognising';
    /** Pages completed in this stage. */
    num_pages_done: number;
    /** Total pages; null while unknown. */
    num_pages: number | null;
    /** Milliseconds since the start. */
    elapsed_ms: number;
  })[] | undefined;
  /** The embedding model of the collection, if one collection was requested. */
  embedding_model?: string | undefined;
  /** Collections whose model is being changed; absent if there are none. */
  model_changes?: ({
    /** Collection whose model is being changed. */
    collection_name: string;
    /** The new embedding model. */
    embedding_model: string;
    /** Searchable documents. */
    num_documents: number;
    /** Searchable documents with new vectors. */
    num_documents_done: number;
    /** Reason why the change is currently blocked; absent if it is not. */
    waiting_for?: string | undefined;
  })[] | undefined;
  /** UTF-8 bytes of the indexed text. */
  num_indexed_bytes: number;
  details?: {
    /** Time when the collection was created. */
    created_at: string;
    /** Index parts that are searched in parallel. */
    num_shards: number;
    /** Bytes of the original files and texts of all documents. */
    num_stored_bytes: number;
    /** Bytes of the original files and texts of kept versions; only with `history_days`. */
    num_history_bytes?: number | undefined;
    /**
     * `ready`: queries are answered. `loading` after a start and `repairing` after damage: queries are
     * rejected with 503, and the following numbers are 0.
     */
    index_state: 'ready' | 'loading' | 'repairing';
    /** Chunks that search finds: parts of about 2,000 characters. */
    num_chunks: number;
    /** Chunks of deleted or replaced documents that are not yet compacted away. */
    num_removed_chunks: number;
    /** Memory that the index uses. */
    num_index_memory_bytes: number;
    /** Size of the snapshot of the index on disk; 0 before the first one. */
    num_index_disk_bytes: number;
  } | undefined;
}

/** The tier, which determines the rate limits. */
export type SubscriptionType = 'free' | 'starter' | 'teams' | 'enterprise';

/** The start of a query to complete. */
export interface SuggestRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** The query as typed so far: at most 256 characters. Its last word is completed. */
  readonly query: string;
  /** Maximum number of suggestions, 1 to 20. Default: `5`. */
  readonly limit?: number | undefined;
}

/** Completed queries. */
export interface SuggestResponse {
  /** The most frequent first. */
  suggestions: ({
    /** The completed query. */
    query: string;
    /**
     * Number of documents with the completed word and the words before it, or with this title, among those
     * that were read for suggestions.
     */
    num_documents: number;
  })[];
}

/** A source to synchronize. */
export interface SyncSourceRequest {
  /** Name of the source: 1 to 256 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly source_name: string;
  /** Whether all documents may be deleted because the origin is empty; default false. */
  readonly allow_empty?: boolean | undefined;
}

/** Outcome of the test delivery. */
export interface TestWebhookResponse {
  delivered: boolean;
  status: number | null;
  error: string | null;
  milliseconds: number;
}

/** A query for documents. */
export interface TopDocumentsRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /**
   * Names or aliases of other collections, at most 15, that are searched together with `collection_name` as
   * one collection. Each counts as a query, and each result names its collection. Their vectors must be of
   * one model.
   */
  readonly collection_names?: readonly string[] | null | undefined;
  /**
   * The query; null lists the documents that match the filter, in the order of `sort` or no particular order.
   */
  readonly query: string | null;
  /**
   * Other wordings of the query, or other questions, at most 7. The results of all queries are fused: the
   * score of a result is its mean score. Each counts as a query.
   */
  readonly queries?: readonly string[] | null | undefined;
  /**
   * Find content that is similar to a document or snippet, whose vector replaces that of the query and which
   * is not a result itself. With an empty `query`, only vectors are compared; otherwise the words of `query`
   * count, too.
   */
  readonly similar_to?: {
    /** Path of a document of `collection_name`. */
    readonly path: string;
    /**
     * Position in the text of the document, in code points: the snippet at this position is compared instead
     * of the document. For a result, send its `start_index`.
     */
    readonly start_index?: number | undefined;
  } | null | undefined;
  /**
   * 0 to 1: prefer results that differ from those before them (maximal marginal relevance): 0 orders by score
   * only, 1 by difference only. `k` up to 128.
   */
  readonly diversity?: number | null | undefined;
  /** The vector of the query; required in collections whose `embedding_model` is `own`. */
  readonly query_vector?: readonly number[] | string | null | undefined;
  /** Maximum number of documents, 1 to 2048. */
  readonly k: number;
  /**
   * Filter on document metadata: `{name: {operator: value}}` with `$eq $ne $gt $gte $lt $lte $in $nin $exists
   * $prefix $between $contains $geo_radius $geo_box`, combined with `$and`, `$or` and `$not`. A plain value
   * means `$eq`, and a date is `{"$date": "2026-03-31"}`; values match operands of their type only; null and
   * `{}` match all documents.
   */
  readonly filter?: unknown;
  /**
   * Counts of the documents that match the filter, by the values of metadata fields: a name, `{"author":
   * {"limit": 20}}`, `{"year": {"ranges": [{"from": 2000, "to": 2010}]}}`, or ranges of dates `{"from":
   * {"$date": "2026-01-01"}}`. They count all documents that match the filter, not only those that the query
   * finds. At most 16 fields; 10 values of a field, or `limit`, at most 100.
   */
  readonly facets?: readonly (string | Readonly<Record<string, unknown>>)[] | null | undefined;
  /**
   * Orders documents by metadata and returns the first `k`. With a query, only its best documents are ordered
   * (100, or `k` if that is more), and ties are ordered by score. Without a query, all documents that match
   * the filter are ordered. Strings are ordered by their UTF-8 bytes, before numbers, which are before
   * booleans; documents without a value, and points, come last. At most 4 fields.
   */
  readonly sort?: readonly SortField[] | null | undefined;
  /**
   * Multiplies the score of each of the best results of the query (100, or `k` if that is more) by `1 -
   * weight + weight * 0.5 ^ (age / half_life)` and orders them by the product. `min_score` applies to the
   * product. Dates after the origin have the age 0; documents without a date are infinitely old.
   */
  readonly boost?: RecencyBoost | null | undefined;
  /**
   * Groups the best results of the query (100, or `k` if that is more) by the value of a field. `k` is then
   * the maximum number of groups. Results of one group are adjacent, groups are in the order of their first
   * results, and `groups` of the reply has the size of each. Results without a value are one group.
   */
  readonly group_by?: GroupBy | null | undefined;
  /**
   * The `next_cursor` of the previous page, with the same other fields. Pages end at the maximum of `k`; with
   * `sort` or `boost`, at the results that are ordered.
   */
  readonly cursor?: string | null | undefined;
  /** Return `next_cursor`; implied by `cursor`. Default: `false`. */
  readonly include_cursor?: boolean | undefined;
  /**
   * Return the results of an earlier moment, in a collection with `history_days`: an RFC 3339 time with an
   * offset, or the `moment` that `explain` of an earlier reply of the collection shows. Not with
   * `collection_names` or `similar_to`; `curations` do not apply.
   */
  readonly as_of?: string | null | undefined;
  /** Include the metadata of the documents. Default: `false`. */
  readonly include_metadata?: boolean | undefined;
  /** Reranker of `/models/rerank` that reorders the best candidates; null for none. */
  readonly reranker?: string | null | undefined;
  /**
   * `high` examines more candidates and batches work with other calls: better results and throughput at
   * higher latency. Default: `"low"`.
   */
  readonly latency_mode?: 'low' | 'high' | undefined;
  /**
   * Weights of the lexical and the vector score, default 1 and 0.6. Not negative, and not both 0. A search
   * with weight 0 is skipped.
   */
  readonly weights?: {
    /** Weight of the lexical score. */
    readonly lexical: number;
    /** Weight of the vector score. */
    readonly vector: number;
  } | null | undefined;
  /**
   * 0 to 1: results with a lower `score` are omitted, after reranking. Scores are comparable within one query
   * only.
   */
  readonly min_score?: number | null | undefined;
  /**
   * `operators`: results must contain each `"quoted phrase"` and must not contain a `-word` or `-"phrase"`.
   * Default: `"natural"`.
   */
  readonly syntax?: 'natural' | 'operators' | undefined;
  /** Include scores, timings and the search strategy. Default: `false`. */
  readonly explain?: boolean | undefined;
}

/** The best documents, best first. */
export interface TopDocumentsResponse {
  results: DocumentRetrievalResponse[];
  /** Only with `cursor` or `include_cursor`: the `cursor` of the next page; null after the last page. */
  next_cursor?: string | null | undefined;
  /** Only with `group_by`: in the order of `results`. */
  groups?: ResultGroup[] | undefined;
  /** In the order of the request; only with `facets`. */
  facets?: FacetResponse[] | undefined;
  /** Warnings about missing parts of the result; absent if there are none. */
  warnings?: string[] | undefined;
  explain?: QueryExplanation | undefined;
}

/** A query for pages. */
export interface TopPagesRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /**
   * Names or aliases of other collections, at most 15, that are searched together with `collection_name` as
   * one collection. Each counts as a query, and each result names its collection. Their vectors must be of
   * one model.
   */
  readonly collection_names?: readonly string[] | null | undefined;
  /**
   * The query in natural language, at most 4,096 characters. No character is an operator unless `syntax` is
   * `operators`.
   */
  readonly query: string;
  /**
   * Other wordings of the query, or other questions, at most 7. The results of all queries are fused: the
   * score of a result is its mean score. Each counts as a query.
   */
  readonly queries?: readonly string[] | null | undefined;
  /**
   * Find content that is similar to a document or snippet, whose vector replaces that of the query and which
   * is not a result itself. With an empty `query`, only vectors are compared; otherwise the words of `query`
   * count, too.
   */
  readonly similar_to?: {
    /** Path of a document of `collection_name`. */
    readonly path: string;
    /**
     * Position in the text of the document, in code points: the snippet at this position is compared instead
     * of the document. For a result, send its `start_index`.
     */
    readonly start_index?: number | undefined;
  } | null | undefined;
  /**
   * 0 to 1: prefer results that differ from those before them (maximal marginal relevance): 0 orders by score
   * only, 1 by difference only. `k` up to 128.
   */
  readonly diversity?: number | null | undefined;
  /** The vector of the query; required in collections whose `embedding_model` is `own`. */
  readonly query_vector?: readonly number[] | string | null | undefined;
  /** Maximum number of pages, 1 to 1024. */
  readonly k: number;
  /**
   * Filter on document metadata: `{name: {operator: value}}` with `$eq $ne $gt $gte $lt $lte $in $nin $exists
   * $prefix $between $contains $geo_radius $geo_box`, combined with `$and`, `$or` and `$not`. A plain value
   * means `$eq`, and a date is `{"$date": "2026-03-31"}`; values match operands of their type only; null and
   * `{}` match all documents.
   */
  readonly filter?: unknown;
  /**
   * Counts of the documents that match the filter, by the values of metadata fields: a name, `{"author":
   * {"limit": 20}}`, `{"year": {"ranges": [{"from": 2000, "to": 2010}]}}`, or ranges of dates `{"from":
   * {"$date": "2026-01-01"}}`. They count all documents that match the filter, not only those that the query
   * finds. At most 16 fields; 10 values of a field, or `limit`, at most 100.
   */
  readonly facets?: readonly (string | Readonly<Record<string, unknown>>)[] | null | undefined;
  /**
   * Orders the best results of the query (100, or `k` if that is more) by metadata and returns the first `k`.
   * Ties are ordered by score. Strings are ordered by their UTF-8 bytes, before numbers, which are before
   * booleans; documents without a value, and points, come last. At most 4 fields.
   */
  readonly sort?: readonly SortField[] | null | undefined;
  /**
   * Multiplies the score of each of the best results of the query (100, or `k` if that is more) by `1 -
   * weight + weight * 0.5 ^ (age / half_life)` and orders them by the product. `min_score` applies to the
   * product. Dates after the origin have the age 0; documents without a date are infinitely old.
   */
  readonly boost?: RecencyBoost | null | undefined;
  /**
   * Groups the best results of the query (100, or `k` if that is more) by the value of a field. `k` is then
   * the maximum number of groups. Results of one group are adjacent, groups are in the order of their first
   * results, and `groups` of the reply has the size of each. Results without a value are one group.
   */
  readonly group_by?: GroupBy | null | undefined;
  /**
   * The `next_cursor` of the previous page, with the same other fields. Pages end at the maximum of `k`; with
   * `sort` or `boost`, at the results that are ordered.
   */
  readonly cursor?: string | null | undefined;
  /** Return `next_cursor`; implied by `cursor`. Default: `false`. */
  readonly include_cursor?: boolean | undefined;
  /**
   * Return the results of an earlier moment, in a collection with `history_days`: an RFC 3339 time with an
   * offset, or the `moment` that `explain` of an earlier reply of the collection shows. Not with
   * `collection_names` or `similar_to`; `curations` do not apply.
   */
  readonly as_of?: string | null | undefined;
  /** Include the text of the pages. Default: `false`. */
  readonly include_content?: boolean | undefined;
  /**
   * Include the positions of the words that match the query in the text of each result; `k` is at most 128.
   * Default: `false`.
   */
  readonly highlights?: boolean | undefined;
  /**
   * Include the places of the lines with highlighted words on the image of each page; requires `highlights`.
   * Default: `false`.
   */
  readonly include_rectangles?: boolean | undefined;
  /** Include the metadata of the documents. Default: `false`. */
  readonly include_metadata?: boolean | undefined;
  /** Reranker of `/models/rerank` that reorders the best candidates; null for none. */
  readonly reranker?: string | null | undefined;
  /**
   * `high` examines more candidates and batches work with other calls: better results and throughput at
   * higher latency. Default: `"low"`.
   */
  readonly latency_mode?: 'low' | 'high' | undefined;
  /**
   * Weights of the lexical and the vector score, default 1 and 0.6. Not negative, and not both 0. A search
   * with weight 0 is skipped.
   */
  readonly weights?: {
    /** Weight of the lexical score. */
    readonly lexical: number;
    /** Weight of the vector score. */
    readonly vector: number;
  } | null | undefined;
  /**
   * 0 to 1: results with a lower `score` are omitted, after reranking. Scores are comparable within one query
   * only.
   */
  readonly min_score?: number | null | undefined;
  /**
   * `operators`: results must contain each `"quoted phrase"` and must not contain a `-word` or `-"phrase"`.
   * Default: `"natural"`.
   */
  readonly syntax?: 'natural' | 'operators' | undefined;
  /** Maximum results per document, at least 1. The search continues until there are `k` results. */
  readonly max_per_document?: number | null | undefined;
  /** Include scores, timings and the search strategy. Default: `false`. */
  readonly explain?: boolean | undefined;
}

/** The best pages, best first. */
export interface TopPagesResponse {
  results: PageRetrievalResponse[];
  /** The documents of the results, each once, best first. */
  document_results: DocumentRetrievalResponse[];
  /** Only with `cursor` or `include_cursor`: the `cursor` of the next page; null after the last page. */
  next_cursor?: string | null | undefined;
  /** Only with `group_by`: in the order of `results`. */
  groups?: ResultGroup[] | undefined;
  /** In the order of the request; only with `facets`. */
  facets?: FacetResponse[] | undefined;
  /** Warnings about missing parts of the result; absent if there are none. */
  warnings?: string[] | undefined;
  explain?: QueryExplanation | undefined;
}

/** A query for snippets. */
export interface TopSnippetsRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /**
   * Names or aliases of other collections, at most 15, that are searched together with `collection_name` as
   * one collection. Each counts as a query, and each result names its collection. Their vectors must be of
   * one model.
   */
  readonly collection_names?: readonly string[] | null | undefined;
  /**
   * The query in natural language, at most 4,096 characters. No character is an operator unless `syntax` is
   * `operators`.
   */
  readonly query: string;
  /**
   * Other wordings of the query, or other questions, at most 7. The results of all queries are fused: the
   * score of a result is its mean score. Each counts as a query.
   */
  readonly queries?: readonly string[] | null | undefined;
  /**
   * Find content that is similar to a document or snippet, whose vector replaces that of the query and which
   * is not a result itself. With an empty `query`, only vectors are compared; otherwise the words of `query`
   * count, too.
   */
  readonly similar_to?: {
    /** Path of a document of `collection_name`. */
    readonly path: string;
    /**
     * Position in the text of the document, in code points: the snippet at this position is compared instead
     * of the document. For a result, send its `start_index`.
     */
    readonly start_index?: number | undefined;
  } | null | undefined;
  /**
   * 0 to 1: prefer results that differ from those before them (maximal marginal relevance): 0 orders by score
   * only, 1 by difference only. `k` up to 128.
   */
  readonly diversity?: number | null | undefined;
  /** The vector of the query; required in collections whose `embedding_model` is `own`. */
  readonly query_vector?: readonly number[] | string | null | undefined;
  /** Maximum number of snippets, 1 to 128. */
  readonly k: number;
  /** Reranker of `/models/rerank` that reorders the best candidates; null for none. */
  readonly reranker?: string | null | undefined;
  /**
   * Filter on document metadata: `{name: {operator: value}}` with `$eq $ne $gt $gte $lt $lte $in $nin $exists
   * $prefix $between $contains $geo_radius $geo_box`, combined with `$and`, `$or` and `$not`. A plain value
   * means `$eq`, and a date is `{"$date": "2026-03-31"}`; values match operands of their type only; null and
   * `{}` match all documents.
   */
  readonly filter?: unknown;
  /**
   * Counts of the documents that match the filter, by the values of metadata fields: a name, `{"author":
   * {"limit": 20}}`, `{"year": {"ranges": [{"from": 2000, "to": 2010}]}}`, or ranges of dates `{"from":
   * {"$date": "2026-01-01"}}`. They count all documents that match the filter, not only those that the query
   * finds. At most 16 fields; 10 values of a field, or `limit`, at most 100.
   */
  readonly facets?: readonly (string | Readonly<Record<string, unknown>>)[] | null | undefined;
  /**
   * Orders the best results of the query (100, or `k` if that is more) by metadata and returns the first `k`.
   * Ties are ordered by score. Strings are ordered by their UTF-8 bytes, before numbers, which are before
   * booleans; documents without a value, and points, come last. At most 4 fields.
   */
  readonly sort?: readonly SortField[] | null | undefined;
  /**
   * Multiplies the score of each of the best results of the query (100, or `k` if that is more) by `1 -
   * weight + weight * 0.5 ^ (age / half_life)` and orders them by the product. `min_score` applies to the
   * product. Dates after the origin have the age 0; documents without a date are infinitely old.
   */
  readonly boost?: RecencyBoost | null | undefined;
  /**
   * Groups the best results of the query (100, or `k` if that is more) by the value of a field. `k` is then
   * the maximum number of groups. Results of one group are adjacent, groups are in the order of their first
   * results, and `groups` of the reply has the size of each. Results without a value are one group.
   */
  readonly group_by?: GroupBy | null | undefined;
  /**
   * The `next_cursor` of the previous page, with the same other fields. Pages end at the maximum of `k`; with
   * `sort` or `boost`, at the results that are ordered.
   */
  readonly cursor?: string | null | undefined;
  /** Return `next_cursor`; implied by `cursor`. Default: `false`. */
  readonly include_cursor?: boolean | undefined;
  /**
   * Return the results of an earlier moment, in a collection with `history_days`: an RFC 3339 time with an
   * offset, or the `moment` that `explain` of an earlier reply of the collection shows. Not with
   * `collection_names` or `similar_to`; `curations` do not apply.
   */
  readonly as_of?: string | null | undefined;
  /** Snippets of about 200 characters instead of about 2,000. Default: `false`. */
  readonly precise_responses?: boolean | undefined;
  /**
   * Include the positions of the words that match the query in the text of each result; `k` is at most 128.
   * Default: `false`.
   */
  readonly highlights?: boolean | undefined;
  /**
   * Include the places of the lines of each snippet on the images of its pages. Empty for documents without
   * known lines, such as text files and files that an earlier version parsed. Default: `false`.
   */
  readonly include_rectangles?: boolean | undefined;
  /** Include the metadata of the documents. Default: `false`. */
  readonly include_document_metadata?: boolean | undefined;
  /**
   * `high` examines more candidates and batches work with other calls: better results and throughput at
   * higher latency. Default: `"low"`.
   */
  readonly latency_mode?: 'low' | 'high' | undefined;
  /**
   * Weights of the lexical and the vector score, default 1 and 0.6. Not negative, and not both 0. A search
   * with weight 0 is skipped.
   */
  readonly weights?: {
    /** Weight of the lexical score. */
    readonly lexical: number;
    /** Weight of the vector score. */
    readonly vector: number;
  } | null | undefined;
  /**
   * 0 to 1: results with a lower `score` are omitted, after reranking. Scores are comparable within one query
   * only.
   */
  readonly min_score?: number | null | undefined;
  /**
   * `operators`: results must contain each `"quoted phrase"` and must not contain a `-word` or `-"phrase"`.
   * Default: `"natural"`.
   */
  readonly syntax?: 'natural' | 'operators' | undefined;
  /** Maximum results per document, at least 1. The search continues until there are `k` results. */
  readonly max_per_document?: number | null | undefined;
  /** Include scores, timings and the search strategy. Default: `false`. */
  readonly explain?: boolean | undefined;
}

/** The best snippets, best first. */
export interface TopSnippetsResponse {
  results: SnippetResponse[];
  /** The documents of the results, each once, best first. */
  document_results: DocumentRetrievalResponse[];
  /** Only with `cursor` or `include_cursor`: the `cursor` of the next page; null after the last page. */
  next_cursor?: string | null | undefined;
  /** Only with `group_by`: in the order of `results`. */
  groups?: ResultGroup[] | undefined;
  /** In the order of the request; only with `facets`. */
  facets?: FacetResponse[] | undefined;
  /** Warnings about missing parts of the result; absent if there are none. */
  warnings?: string[] | undefined;
  explain?: QueryExplanation | undefined;
}

/** Changes to an API key. */
export interface UpdateAPIKeyRequest {
  /** ID of the organization. */
  readonly organization_id: string;
  /** ID of the API key. */
  readonly api_key_id: string;
  /** A new name, 1 to 256 bytes; absent or null keeps it. */
  readonly name?: string | null | undefined;
  readonly permission?: DBAPIKeyPermission | null | undefined;
  /**
   * Replaces the restriction; absent or null keeps it, `{"collection_names": null, "filter": null}` removes
   * it.
   */
  readonly restriction?: APIKeyRestriction | null | undefined;
  /** Replaces the allowed origins; absent or null keeps them, `[]` removes them. */
  readonly allowed_origins?: readonly string[] | null | undefined;
}

/** Changes that take effect at the same time. */
export interface UpdateAliasesRequest {
  /** 1 to 64 changes, of different aliases. */
  readonly changes: readonly AliasChange[];
}

/** Changes to a collection. */
export interface UpdateCollectionRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Replaces all query defaults of the collection; null and `{}` remove them. */
  readonly query_defaults?: QueryDefaults | null | undefined;
  /**
   * Applies to documents that are added from now on without `expires_at`: 1 to 3,153,600,000 seconds; null
   * for none.
   */
  readonly default_ttl_seconds?: number | null | undefined;
  /**
   * Replaces the types of metadata fields, for documents that are added and filters that are used from now
   * on; null for none. Stored documents do not change.
   */
  readonly metadata_schema?: MetadataSchema | null | undefined;
  /** Replaces all synonyms of the collection, for queries that start afterwards; null for none. */
  readonly synonyms?: readonly (readonly string[])[] | null | undefined;
  /** Replaces all stop words of the collection, for queries that start afterwards; null for none. */
  readonly stop_words?: readonly string[] | null | undefined;
  /** Replaces all curations of the collection, for queries that start afterwards; null for none. */
  readonly curations?: readonly ({
    /**
     * Queries to which the rule applies: 1 to 20, each with at least one word and at most 256 characters. The
     * whole query must be equal; case, accents, punctuation and spaces do not matter. A query may occur in
     * one rule only.
     */
    readonly queries: readonly string[];
    /** Paths of the documents that come first, in this order: at most 20. */
    readonly pinned?: readonly string[] | undefined;
    /** Paths of the documents that are not returned: at most 100. */
    readonly hidden?: readonly string[] | undefined;
  })[] | null | undefined;
  /**
   * Days for which replaced and deleted versions are kept, 1 to 3,650. The history begins when it is first
   * set; null deletes it.
   */
  readonly history_days?: number | null | undefined;
}

/** Changes to an indexed document, or the retry of a failed one. */
export interface UpdateDocumentRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Path of the document inside its collection: 1 to 4,096 bytes of UTF-8, compared byte by byte. */
  readonly path: string;
  /** Replaces the whole metadata; the document must be `indexed`. */
  readonly metadata?: DocumentMetadataJson | null | undefined;
  /** Changes individual attributes of an `indexed` document; cannot be combined with `metadata`. */
  readonly metadata_patch?: MetadataPatch | null | undefined;
  /** New expiry time (RFC 3339); null for never. The document must be `indexed`. */
  readonly expires_at?: string | null | undefined;
  /** `not_parsed` retries after `parsing_failed`, `not_indexed` after `indexing_failed`. */
  readonly index_status?: 'not_parsed' | 'not_indexed' | null | undefined;
}

/** Documents to update: those that match the filter and the prefix. At least one of the two is required. */
export interface UpdateDocumentsRequest {
  /** Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly collection_name: string;
  /** Only documents whose metadata matches this filter, in the syntax of query filters. */
  readonly filter?: unknown;
  /** Only paths that start with this prefix. */
  readonly path_prefix?: string | null | undefined;
  /**
   * Maximum number of documents to change, 1 to 1,024; repeat the call while `has_more` is true. Default:
   * `1024`.
   */
  readonly limit?: number | undefined;
  /** Change nothing; reply with the documents that the call would change. Default: `false`. */
  readonly dry_run?: boolean | undefined;
  readonly metadata_patch: MetadataPatch;
}

/**
 * The documents that were updated, or with `dry_run` would be, without those that the patch does not change.
 */
export interface UpdateDocumentsResponse {
  /** Their paths, in ascending order. */
  updated_paths: string[];
  /**
   * Up to 1,024 documents that match but are not `indexed`, so their metadata cannot be changed yet. Repeat
   * the call later.
   */
  skipped_paths: string[];
  /** Whether the limit was reached and another call would change further documents. */
  has_more: boolean;
  /** Only with `dry_run`: number of documents that a sequence of calls would change. */
  num_matching?: number | undefined;
  /** Message for display, as in other replies. */
  message?: string | undefined;
}

/** Changes to an organization. */
export interface UpdateOrganizationRequest {
  /** ID of the organization. */
  readonly organization_id: string;
  /** Tier granted free of charge. The highest of the granted, paid and purchased tiers applies. */
  readonly subscription_tier?: SubscriptionType | null | undefined;
  /** Bytes per minute of fast model calls; 0 removes the override, absent or null keeps it. */
  readonly override_bpm_fast?: number | null | undefined;
  /** Bytes per minute of slow model calls; 0 removes the override, absent or null keeps it. */
  readonly override_bpm_slow?: number | null | undefined;
  /** Charged bytes of one model call; 0 removes the override, absent or null keeps it. */
  readonly override_max_bytes_per_request?: number | null | undefined;
  /**
   * Bytes of the metadata of one document, as compact JSON; 0 removes the override, absent or null keeps it.
   */
  readonly override_max_metadata_bytes?: number | null | undefined;
  /** Fast rerank calls per minute; 0 removes the override, absent or null keeps it. */
  readonly override_rpm?: number | null | undefined;
  /** Requests of any kind per minute; 0 removes the override, absent or null keeps it. */
  readonly override_requests_per_minute?: number | null | undefined;
  /** Queries per minute; 0 removes the override, absent or null keeps it. */
  readonly override_queries_per_minute?: number | null | undefined;
  /** Raw bytes of added documents per minute; 0 removes the override, absent or null keeps it. */
  readonly override_document_bytes_per_minute?: number | null | undefined;
  /** Stored documents; 0 removes the override, absent or null keeps it. */
  readonly override_max_documents?: number | null | undefined;
  /** Raw bytes of stored documents; 0 removes the override, absent or null keeps it. */
  readonly override_max_storage_bytes?: number | null | undefined;
  /**
   * Documents waiting for parsing and indexing at the same time; 0 removes the override, absent or null keeps
   * it.
   */
  readonly override_max_ingest_documents?: number | null | undefined;
  /** Enables or disables zero data retention. */
  readonly zdr?: boolean | null | undefined;
}

/** Changes to a source; absent fields keep their values. The kind cannot be changed. */
export interface UpdateSourceRequest {
  /** Name of the source: 1 to 256 bytes of UTF-8, without NUL. An unknown name returns 404. */
  readonly source_name: string;
  readonly directory?: DirectorySettings | undefined;
  readonly s3?: S3Settings | undefined;
  readonly website?: WebsiteSettings | undefined;
  readonly rss?: FeedSettings | undefined;
  readonly git?: GitSettings | undefined;
  readonly webdav?: WebDavSettings | undefined;
  readonly imap?: ImapSettings | undefined;
  /** Schedule of the runs; default `1h`. */
  readonly schedule?: string | null | undefined;
  /** Time zone of times of day and cron expressions; default `UTC`. */
  readonly time_zone?: string | null | undefined;
  /** Whether a change in the folder starts a run immediately; only for `directory`; default false. */
  readonly watch?: boolean | null | undefined;
  /** Metadata of all documents of the source. */
  readonly metadata?: DocumentMetadataJson | null | undefined;
  /** Secrets for access to the origin, by name. They are stored encrypted and never returned. */
  readonly credentials?: Readonly<Record<string, string>> | null | undefined;
}

/** Changes to a webhook; absent fields keep their values. */
export interface UpdateWebhookRequest {
  /** ID of the webhook. */
  readonly webhook_id: string;
  /** An https:// URL. */
  readonly url?: string | undefined;
  /** At most 256 characters. */
  readonly description?: string | undefined;
  /** Only changes of these types; null: all. */
  readonly types?: readonly ChangeType[] | null | undefined;
  /** Only changes of collections with these names; null: all. */
  readonly collection_names?: readonly string[] | null | undefined;
  /** `active` also restarts a webhook that has failed. */
  readonly status?: 'active' | 'paused' | undefined;
}

/** Usage of documents and queries. */
export interface UsageCountersResponse {
  all_time: UsageStats;
  billing_cycle: UsageStats;
}

/** One counter. */
export interface UsageMetric {
  /** Events. */
  count: number;
  /** Bytes. */
  bytes: number;
  /** Billable units. */
  billable_units: number;
}

/** A time range. */
export interface UsageRequest {
  /** First second, in seconds since the epoch UTC. */
  readonly start_time: number;
  /** Last second, not before the first. */
  readonly end_time: number;
  readonly aggregation_window: AggregationWindow;
  /** Only these collections; absent or null means all. Ignored for models. */
  readonly collection_names?: readonly string[] | null | undefined;
  /** For queries: include the percentiles and the histogram of their times. Default: `false`. */
  readonly include_times?: boolean | undefined;
}

/** Counters of documents and queries. */
export interface UsageStats {
  docs: UsageMetric;
  ocr: UsageMetric;
  indexed: UsageMetric;
  queries: UsageMetric;
}

/** A user. */
export interface UserRequest {
  /** ID of the user. */
  readonly user_id: string;
}

/** A problem of a request. */
export interface ValidationError {
  /** Location: `body` or `query`, then field names and positions. */
  loc: (string | number)[];
  /** Error message. */
  msg: string;
  /** Error type. */
  type: string;
}

/** A query for snippets, in the format of OpenAI vector stores. */
export interface VectorStoreSearchRequest {
  /** The query, or several texts that are searched as one query. */
  readonly query: string | readonly string[];
  /** Maximum number of results, 1 to 50; absent or null means 10. */
  readonly max_num_results?: number | null | undefined;
  /**
   * Filter on metadata: `{type, key, value}` with `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in` or `nin`, or
   * `{type, filters}` with `and` or `or`.
   */
  readonly filters?: unknown;
  /** Options of ranking. */
  readonly ranking_options?: {
    /** Minimum score, 0 to 1. */
    readonly score_threshold?: number | null | undefined;
  } | null | undefined;
}

/** Snippets, in the format of OpenAI vector stores. */
export interface VectorStoreSearchResponse {
  object: 'vector_store.search_results.page';
  /** The texts of the query. */
  search_query: string[];
  /** Best first. */
  data: ({
    /** Path of the document. */
    file_id: string;
    /** Path of the document. */
    filename: string;
    /** Relevance within this query, 0 to 1; higher is better. */
    score: number;
    /** Metadata of the document. */
    attributes: Record<string, string | string[] | number | boolean | {
      lat: number;
      lon: number;
    }>;
    content: ({
      type: 'text';
      text: string;
    })[];
  })[];
  /** Always false. */
  has_more: boolean;
  /** Always null. */
  next_page: string | null;
}

/** Files of a folder of a WebDAV server. */
export interface WebDavSettings {
  /** URL of the folder, with https://. */
  url: string;
  /** Whether names that start with a dot are included; default false. */
  include_hidden?: boolean | undefined;
}

/** An attempt to deliver a change. */
export interface WebhookAttempt {
  change_id: string;
  sequence: number;
  type: string;
  /** Time of the attempt. */
  attempted_at: string;
  milliseconds: number;
  /** HTTP status of the reply; null if there was none. */
  status: number | null;
  /** Reason for the failure; null if the change was delivered. */
  error: string | null;
}

/** A webhook and its state. */
export interface WebhookInfo {
  /** ID of the webhook. */
  webhook_id: string;
  url: string;
  description: string;
  types: ChangeType[] | null;
  collection_names: string[] | null;
  /** Changes are delivered only while the status is `active`. */
  status: 'active' | 'paused' | 'failed';
  /** Reason for the status `failed`; otherwise null. */
  failure: string | null;
  /** All changes up to this number have been delivered. */
  sequence: number;
  /** Failed attempts to deliver the next change. */
  failed_attempts: number;
  next_attempt_at: string | null;
  /** Time when the webhook was created. */
  created_at: string;
}

/** A webhook. */
export interface WebhookRequest {
  /** ID of the webhook. */
  readonly webhook_id: string;
}

/** The secret, shown only once. */
export interface WebhookSecretResponse {
  /** ID of the webhook. */
  webhook_id: string;
  /** Key of the signatures, in the format of Standard Webhooks. */
  secret: string;
}

/** Pages of a website. */
export interface WebsiteSettings {
  /** The first page. Only pages in its folder are followed. */
  url: string;
  sitemap_url?: string | null | undefined;
  /** Maximum number of pages: 1 to 5,000; default 1,000. */
  max_pages?: number | null | undefined;
  /** Maximum number of links from the first page to a page: 0 to 20; default 5. */
  max_depth?: number | null | undefined;
  /** Requests per second: more than 0, at most 20; default 2. A crawl delay of robots.txt is respected. */
  requests_per_second?: number | null | undefined;
  /**
   * Whether documents contain only the main content of pages, without navigation, headers and footers;
   * default false.
   */
  main_content?: boolean | undefined;
}
