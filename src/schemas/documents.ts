import { MetadataPatch } from './document-changes.ts';
import { DocumentContent } from './document-content.ts';
import { documentErrorCodes } from './document-errors.ts';
import { ParsingProgress } from './status.ts';
import { type Static, Type } from './typebox.ts';
import {
  CollectionName,
  Component,
  DocumentMetadataJson,
  DocumentPath,
  Nullable,
  OneOf,
  Timestamp,
  Uuid,
  VectorField,
} from './wire.ts';

/**
 * The order is part of the data format: storage/counts.ts keeps one counter each. Append new statuses at the
 * end.
 */
export const indexStatuses = [
  'not_parsed',
  'parsing',
  'not_indexed',
  'indexing',
  'indexed',
  'parsing_failed',
  'indexing_failed',
] as const;
export const DocumentIndexStatus = OneOf(indexStatuses, {
  title: 'DocumentIndexStatus',
  description: 'Processing state of a document.',
});
export type DocumentIndexStatus = Static<typeof DocumentIndexStatus>;

export const DocumentErrorCode = OneOf(documentErrorCodes, {
  title: 'DocumentErrorCode',
  description:
    'Cause of a failure: unsupported type, password protection, damage, a limit, timeout, out of memory, a crash, or a missing external tool.',
});
export type DocumentErrorCode = Static<typeof DocumentErrorCode>;

const waitField = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Reply when the document is indexed or has failed, or after 50 seconds with the current `index_status`.',
  }),
);
const overwriteField = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'Replace an existing document atomically instead of returning 409.',
  }),
);

const expiresAtField = Type.Optional(
  Nullable(Type.String(), {
    description:
      'RFC 3339 time at which the document expires; null for never. Default: after `default_ttl_seconds` of the collection.',
    examples: ['2027-01-31T12:00:00Z'],
  }),
);

/** Required for every document of a collection whose `embedding_model` is `own`, not allowed in others. */
const vectorFields = {
  vector: Type.Optional(
    VectorField(
      'The vector of a document of the type `text`, in a collection whose `embedding_model` is `own`.',
    ),
  ),
  vectors: Type.Optional(
    Type.Array(VectorField('The vector of a page.'), {
      description:
        'One vector for each page of `text-pages` or `text-pages-unordered`, in a collection whose `embedding_model` is `own`.',
    }),
  ),
} as const;

export const AddDocumentRequest = Component('AddDocumentRequest', 'A document to add.', {
  collection_name: CollectionName(),
  path: DocumentPath(
    'Path of the new document: 1 to 4,096 bytes of UTF-8. An existing path returns 409 unless `overwrite` is true.',
  ),
  content: DocumentContent,
  ...vectorFields,
  metadata: Type.Optional(DocumentMetadataJson),
  expires_at: expiresAtField,
  overwrite: overwriteField,
  wait: waitField,
});
export type AddDocumentRequest = Static<typeof AddDocumentRequest>;

export const AddDocumentResponse = Component('AddDocumentResponse', 'The document is durable on disk.', {
  message: Type.Optional(Type.String({ default: 'Success!' })),
  index_status: Type.Optional(DocumentIndexStatus),
  error: Type.Optional(
    Nullable(Type.String(), { description: 'With `wait`: reason for a failure, otherwise null.' }),
  ),
  error_code: Type.Optional(
    Nullable(DocumentErrorCode, {
      description: 'With `wait`: error code of a failure, otherwise null.',
    }),
  ),
});
export type AddDocumentResponse = Static<typeof AddDocumentResponse>;

/**
 * Upload parameters outside the file: in the path, query and headers (raw PUT) or in form fields (multipart).
 */
export interface UploadParameters {
  readonly collection_name: string;
  readonly path: string;
  readonly metadata: DocumentMetadataJson;
  readonly overwrite: boolean;
  readonly wait: boolean;
}

/** One document of a batch. Items are validated separately, so that an invalid item fails alone. */
export const BatchDocument = Component('BatchDocument', 'One document of a batch.', {
  path: DocumentPath(),
  content: DocumentContent,
  ...vectorFields,
  metadata: Type.Optional(DocumentMetadataJson),
  expires_at: expiresAtField,
  overwrite: overwriteField,
});
export type BatchDocument = Static<typeof BatchDocument>;

export const AddDocumentsRequest = Component(
  'AddDocumentsRequest',
  'Up to 256 documents to add; each is atomic, the batch is not.',
  {
    collection_name: CollectionName(),
    documents: Type.Array(Type.Union([BatchDocument, Type.Unknown()]), {
      description:
        '1 to 256 documents, each a `BatchDocument`. An item that does not match gets status 422 in the results.',
    }),
    wait: waitField,
  },
);
export type AddDocumentsRequest = Static<typeof AddDocumentsRequest>;

export const BatchDocumentResult = Component('BatchDocumentResult', 'Result of one document of a batch.', {
  path: Nullable(Type.String(), { description: 'The path of the request; null if the item had none.' }),
  status: Type.Integer({
    description: 'The status that add-document would return.',
    examples: [201],
  }),
  detail: Type.Optional(Type.String({ description: 'Reason for the rejection.' })),
  index_status: Type.Optional(DocumentIndexStatus),
});
export type BatchDocumentResult = Static<typeof BatchDocumentResult>;

export const AddDocumentsResponse = Component(
  'AddDocumentsResponse',
  'One result per document, in the order of the request.',
  {
    results: Type.Array(BatchDocumentResult),
  },
);
export type AddDocumentsResponse = Static<typeof AddDocumentsResponse>;

export const UpdateDocumentRequest = Component(
  'UpdateDocumentRequest',
  'Changes to an indexed document, or the retry of a failed one.',
  {
    collection_name: CollectionName(),
    path: DocumentPath(),
    metadata: Type.Optional(
      Nullable(DocumentMetadataJson, {
        description: 'Replaces the whole metadata; the document must be `indexed`.',
      }),
    ),
    metadata_patch: Type.Optional(
      Nullable(MetadataPatch, {
        description:
          'Changes individual attributes of an `indexed` document; cannot be combined with `metadata`.',
      }),
    ),
    expires_at: Type.Optional(
      Nullable(Type.String(), {
        description: 'New expiry time (RFC 3339); null for never. The document must be `indexed`.',
        examples: ['2027-01-31T12:00:00Z'],
      }),
    ),
    index_status: Type.Optional(
      Nullable(OneOf(['not_parsed', 'not_indexed']), {
        description: '`not_parsed` retries after `parsing_failed`, `not_indexed` after `indexing_failed`.',
      }),
    ),
  },
);
export type UpdateDocumentRequest = Static<typeof UpdateDocumentRequest>;

export const DeleteDocumentRequest = Component(
  'DeleteDocumentRequest',
  'One document, or up to 64, to delete.',
  {
    collection_name: CollectionName(),
    path: Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'One path, or 1 to 64 of them.',
      examples: [['guides/old.pdf', 'guides/older.pdf']],
    }),
    erase_history: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'In a collection with `history_days`: also delete all kept versions of these documents, even if the documents are deleted already. Requires a key without a document filter.',
      }),
    ),
  },
);
export type DeleteDocumentRequest = Static<typeof DeleteDocumentRequest>;

export const DeleteDocumentResponse = Component(
  'DeleteDocumentResponse',
  'The documents that were deleted.',
  {
    deleted_paths: Type.Array(Type.String(), {
      description: 'Paths of the request that existed, or whose kept versions were deleted.',
    }),
    message: Type.Optional(Type.String({ description: 'Message for display, as in other replies.' })),
  },
);
export type DeleteDocumentResponse = Static<typeof DeleteDocumentResponse>;

export const GetDocumentInfoRequest = Component('GetDocumentInfoRequest', 'A document to describe.', {
  collection_name: CollectionName(),
  path: DocumentPath(),
  include_content: Type.Optional(Type.Boolean({ default: false, description: 'Include the full text.' })),
});
export type GetDocumentInfoRequest = Static<typeof GetDocumentInfoRequest>;

const documentFields = {
  id: Uuid('Changes when the document is overwritten, but not when only its metadata changes.'),
  collection_name: Type.String(),
  path: Type.String(),
  metadata: DocumentMetadataJson,
  index_status: DocumentIndexStatus,
} as const;
const documentSizes = {
  size: Type.Integer({
    description: 'Size of the raw document in bytes, or of its UTF-8 text if it was added as text.',
  }),
  num_pages: Nullable(Type.Integer(), {
    description: 'Null during parsing and if parsing failed.',
  }),
  file_url: Type.String({
    description: 'URL of the raw document. It needs no API key and expires with the document.',
  }),
  sha256: Type.String({ description: 'SHA-256 of the raw document, in lower-case hexadecimal.' }),
  error: Nullable(Type.String(), { description: 'Reason why parsing or indexing failed, otherwise null.' }),
  error_code: Nullable(DocumentErrorCode, { description: 'Error code of the failure, otherwise null.' }),
  expires_at: Type.Optional(Timestamp('Time at which the document expires; absent if it does not expire.')),
  waiting_for: Type.Optional(
    Type.String({
      description:
        'Reason why processing is currently blocked; absent if it is not. Processing continues automatically.',
    }),
  ),
  progress: Type.Optional(ParsingProgress),
} as const;

export const DocumentResponse = Component('DocumentResponse', 'A document.', {
  ...documentFields,
  ...documentSizes,
  title: Nullable(Type.String(), {
    description:
      'Title from the document properties, otherwise its most prominent heading; null if there is neither.',
  }),
  language: Nullable(Type.String(), {
    description: 'ISO 639-1 code of the main language; null if it is unclear.',
  }),
  warnings: Type.Array(Type.String(), {
    description: 'Warnings about omitted or unreadable parts.',
  }),
  content: Type.Optional(
    Nullable(Type.String(), {
      description: 'The full text if `include_content` is true and the text is available, otherwise null.',
    }),
  ),
});
export type DocumentResponse = Static<typeof DocumentResponse>;

export const GetDocumentInfoResponse = Component('GetDocumentInfoResponse', 'The requested document.', {
  document: DocumentResponse,
});
export type GetDocumentInfoResponse = Static<typeof GetDocumentInfoResponse>;

export const DocumentMetadataResponse = Component(
  'DocumentMetadataResponse',
  'A document without its content.',
  {
    ...documentFields,
    created_at: Timestamp('Time when the document was added or last overwritten.'),
    ...documentSizes,
  },
);
export type DocumentMetadataResponse = Static<typeof DocumentMetadataResponse>;

export const GetPageInfoRequest = Component('GetPageInfoRequest', 'A page of a document.', {
  collection_name: CollectionName(),
  path: DocumentPath(),
  page_index: Type.Integer({
    description: 'Zero-based; a page that does not exist returns 404.',
    examples: [0],
  }),
  include_content: Type.Optional(
    Type.Boolean({ default: false, description: 'Include the text of the page.' }),
  ),
});
export type GetPageInfoRequest = Static<typeof GetPageInfoRequest>;

export const PageResponse = Component('PageResponse', 'A page.', {
  id: Uuid('Derived from the document and the page index.'),
  collection_name: Type.String(),
  path: Type.String(),
  page_index: Type.Integer(),
  start_index: Nullable(Type.Integer(), {
    description:
      'Start offset of the page in the text of the document, in code points, like `start_index` of a snippet; null until the document is split into snippets.',
  }),
  content: Type.Optional(
    Nullable(Type.String(), {
      description: 'The text of the page if `include_content` is true, otherwise null.',
    }),
  ),
  image_url: Nullable(Type.String(), {
    description: 'URL of a JPEG of the page; null if the document has no page images.',
  }),
});
export type PageResponse = Static<typeof PageResponse>;

export const GetPageInfoResponse = Component('GetPageInfoResponse', 'The requested page.', {
  page: PageResponse,
});
export type GetPageInfoResponse = Static<typeof GetPageInfoResponse>;
