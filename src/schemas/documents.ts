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
  description: 'How far a document is on its way into search.',
});
export type DocumentIndexStatus = Static<typeof DocumentIndexStatus>;

export const DocumentErrorCode = OneOf(documentErrorCodes, {
  title: 'DocumentErrorCode',
  description:
    'Why a document failed: its type is not read, it has a password, it is damaged, it is over a limit, reading it took too long or too much memory, reading or indexing it broke off, or a program that the server lacks is needed.',
});
export type DocumentErrorCode = Static<typeof DocumentErrorCode>;

export const APITextDocument = Component('APITextDocument', 'Plain text; it becomes one page.', {
  type: Type.Literal('text'),
  text: Type.String({ description: 'The text.', examples: ['Refunds are paid within 14 days.'] }),
});
export type APITextDocument = Static<typeof APITextDocument>;

export const APITextPagesDocument = Component(
  'APITextPagesDocument',
  'Text that is already split into pages.',
  {
    type: OneOf(['text-pages', 'text-pages-unordered'], {
      description: 'Unordered pages are independent of each other, like the rows of a table.',
    }),
    pages: Type.Array(Type.String(), { description: 'One string per page; none is allowed.' }),
  },
);
export type APITextPagesDocument = Static<typeof APITextPagesDocument>;

export const APIBinaryDocument = Component(
  'APIBinaryDocument',
  'A file; its kind is recognised by its content.',
  {
    type: Type.Literal('auto'),
    base64_data: Type.String({
      description: 'The file in standard base64 with padding, without line breaks.',
    }),
  },
);
export type APIBinaryDocument = Static<typeof APIBinaryDocument>;

export const DocumentContent = Type.Union([APITextDocument, APITextPagesDocument, APIBinaryDocument], {
  description: 'The content; `type` says which variant it is.',
});
export type DocumentContent = Static<typeof DocumentContent>;

const waitField = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Answer when the document is indexed or has failed, at the latest after 50 seconds, with the `index_status` reached.',
  }),
);
const overwriteField = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'Replace an existing document in one atomic step instead of answering 409.',
  }),
);

/** Required for every document of a collection whose `embedding_model` is `own`, not allowed in others. */
const vectorFields = {
  vector: Type.Optional(
    VectorField('The vector of a document of the type `text`, in a collection with vectors of your own.'),
  ),
  vectors: Type.Optional(
    Type.Array(VectorField('The vector of a page.'), {
      description:
        'One vector for each page of `text-pages` or `text-pages-unordered`, in a collection with vectors of your own.',
    }),
  ),
} as const;

export const AddDocumentRequest = Component('AddDocumentRequest', 'A document to add.', {
  collection_name: CollectionName(),
  path: DocumentPath(
    'Path of the new document: 1 to 4,096 bytes of UTF-8. A path that exists answers 409 unless `overwrite` is true.',
  ),
  content: DocumentContent,
  ...vectorFields,
  metadata: Type.Optional(DocumentMetadataJson),
  overwrite: overwriteField,
  wait: waitField,
});
export type AddDocumentRequest = Static<typeof AddDocumentRequest>;

export const AddDocumentResponse = Component('AddDocumentResponse', 'The document is durable on disk.', {
  message: Type.Optional(Type.String({ default: 'Success!' })),
  index_status: Type.Optional(DocumentIndexStatus),
  error: Type.Optional(
    Nullable(Type.String(), { description: 'With `wait`: why the document failed, else null.' }),
  ),
  error_code: Type.Optional(
    Nullable(DocumentErrorCode, {
      description: 'With `wait`: the same for programs; null unless it failed.',
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
        '1 to 256 documents, each a `BatchDocument`. One that is not gets its own status 422 in the results.',
    }),
    wait: waitField,
  },
);
export type AddDocumentsRequest = Static<typeof AddDocumentsRequest>;

export const BatchDocumentResult = Component(
  'BatchDocumentResult',
  'What became of one document of a batch.',
  {
    path: Nullable(Type.String(), { description: 'The path as given; null when the item had none.' }),
    status: Type.Integer({
      description: 'The status that add-document would have answered.',
      examples: [201],
    }),
    detail: Type.Optional(Type.String({ description: 'Why the document was refused.' })),
    index_status: Type.Optional(DocumentIndexStatus),
  },
);
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
  'New metadata for an indexed document, or another try for a failed one.',
  {
    collection_name: CollectionName(),
    path: DocumentPath(),
    metadata: Type.Optional(
      Nullable(DocumentMetadataJson, {
        description: 'Replaces the whole metadata; the document must be `indexed`.',
      }),
    ),
    index_status: Type.Optional(
      Nullable(OneOf(['not_parsed', 'not_indexed']), {
        description:
          '`not_parsed` tries again after `parsing_failed`, `not_indexed` after `indexing_failed`.',
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
  },
);
export type DeleteDocumentRequest = Static<typeof DeleteDocumentRequest>;

export const DeleteDocumentResponse = Component(
  'DeleteDocumentResponse',
  'The documents that were there and are gone.',
  {
    deleted_paths: Type.Array(Type.String(), { description: 'Paths of the request that existed.' }),
  },
);
export type DeleteDocumentResponse = Static<typeof DeleteDocumentResponse>;

export const GetDocumentInfoRequest = Component('GetDocumentInfoRequest', 'A document to describe.', {
  collection_name: CollectionName(),
  path: DocumentPath(),
  include_content: Type.Optional(Type.Boolean({ default: false, description: 'Also send the whole text.' })),
});
export type GetDocumentInfoRequest = Static<typeof GetDocumentInfoRequest>;

const documentFields = {
  id: Uuid('Changes when the document is overwritten, stays when only its metadata changes.'),
  collection_name: Type.String(),
  path: Type.String(),
  metadata: DocumentMetadataJson,
  index_status: DocumentIndexStatus,
} as const;
const documentSizes = {
  size: Type.Integer({
    description: 'Bytes of the raw document; of its UTF-8 text when it was given as text.',
  }),
  num_pages: Nullable(Type.Integer(), {
    description: 'Null while parsing and when the file could not be read.',
  }),
  file_url: Type.String({
    description: 'Address of the raw document; it needs no key and ends with the document.',
  }),
  sha256: Type.String({ description: 'SHA-256 of the raw document, in lower-case hexadecimal.' }),
  error: Nullable(Type.String(), { description: 'Why parsing or indexing failed, else null.' }),
  error_code: Nullable(DocumentErrorCode, { description: 'The same for programs, else null.' }),
  waiting_for: Type.Optional(
    Type.String({
      description:
        'What keeps it from being indexed just now; absent when nothing does. It goes on by itself.',
    }),
  ),
  progress: Type.Optional(ParsingProgress),
} as const;

export const DocumentResponse = Component('DocumentResponse', 'A document.', {
  ...documentFields,
  ...documentSizes,
  title: Nullable(Type.String(), {
    description: 'What the document calls itself, else its most prominent heading; null when it has neither.',
  }),
  language: Nullable(Type.String(), {
    description: 'ISO 639-1 code of its main language; null when that is not clear.',
  }),
  warnings: Type.Array(Type.String(), {
    description: 'Whole sentences about what was left out or could not be read.',
  }),
  content: Type.Optional(
    Nullable(Type.String(), {
      description: 'The whole text when `include_content` is true and it is known, else null.',
    }),
  ),
});
export type DocumentResponse = Static<typeof DocumentResponse>;

export const GetDocumentInfoResponse = Component('GetDocumentInfoResponse', 'The document asked for.', {
  document: DocumentResponse,
});
export type GetDocumentInfoResponse = Static<typeof GetDocumentInfoResponse>;

export const GetDocumentInfoListRequest = Component(
  'GetDocumentInfoListRequest',
  'A page of the documents of a collection.',
  {
    collection_name: CollectionName(),
    limit: Type.Optional(
      Type.Integer({ default: 1024, description: 'At most so many documents, 1 to 1,024.' }),
    ),
    path_prefix: Type.Optional(Nullable(Type.String(), { description: 'Only paths that start with it.' })),
    path_gt: Type.Optional(
      Nullable(Type.String(), {
        description:
          'Only paths after it: send the last path of the page before. The same name in the query string wins.',
      }),
    ),
    only_failed: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Only documents that could not be parsed or indexed. Costs as much as there are of those.',
      }),
    ),
  },
);
export type GetDocumentInfoListRequest = Static<typeof GetDocumentInfoListRequest>;

export const DocumentMetadataResponse = Component(
  'DocumentMetadataResponse',
  'A document without its content.',
  {
    ...documentFields,
    created_at: Timestamp('When this document was added or last overwritten.'),
    ...documentSizes,
  },
);
export type DocumentMetadataResponse = Static<typeof DocumentMetadataResponse>;

export const GetDocumentInfoListResponse = Component(
  'GetDocumentInfoListResponse',
  'Documents in ascending order of their paths.',
  {
    documents: Type.Array(DocumentMetadataResponse, { description: 'Empty when there are no more.' }),
  },
);
export type GetDocumentInfoListResponse = Static<typeof GetDocumentInfoListResponse>;

export const GetPageInfoRequest = Component('GetPageInfoRequest', 'A page of a document.', {
  collection_name: CollectionName(),
  path: DocumentPath(),
  page_index: Type.Integer({
    description: 'Counts from 0; a page that does not exist answers 404.',
    examples: [0],
  }),
  include_content: Type.Optional(
    Type.Boolean({ default: false, description: 'Also send the text of the page.' }),
  ),
});
export type GetPageInfoRequest = Static<typeof GetPageInfoRequest>;

export const PageResponse = Component('PageResponse', 'A page.', {
  id: Uuid('Derived from the document and the page index.'),
  collection_name: Type.String(),
  path: Type.String(),
  page_index: Type.Integer(),
  content: Type.Optional(
    Nullable(Type.String(), {
      description: 'The text of the page when `include_content` is true, else null.',
    }),
  ),
  image_url: Nullable(Type.String(), {
    description: 'Address of a JPEG of the page; null when the document has no page images.',
  }),
});
export type PageResponse = Static<typeof PageResponse>;

export const GetPageInfoResponse = Component('GetPageInfoResponse', 'The page asked for.', {
  page: PageResponse,
});
export type GetPageInfoResponse = Static<typeof GetPageInfoResponse>;
