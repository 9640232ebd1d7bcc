import Type from 'typebox';
import { publicAccess, readAccess, withoutFilter, writeAccess } from './expected-statuses.ts';
import { formPart, freshDocument, inCollection, newText, ofDocument } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DateTime, DefaultResponse, IndexStatus, Metadata, Nullable, Uuid } from './reply-types.ts';

const documentFields = {
  id: Uuid,
  collection_name: Type.String(),
  path: Type.String(),
  metadata: Metadata,
  index_status: IndexStatus,
  size: Type.Integer(),
  num_pages: Nullable(Type.Integer()),
  file_url: Type.String(),
  /** Additive: reason of the failure. */
  error: Nullable(Type.String()),
  error_code: Nullable(Type.String()),
};
const GetDocumentInfoResponse = Type.Object({
  document: Type.Object({ ...documentFields, content: Type.Optional(Nullable(Type.String())) }),
});
const GetDocumentInfoListResponse = Type.Object({
  documents: Type.Array(Type.Object({ ...documentFields, created_at: DateTime })),
  /** Additive: only with `sort_by`, and only with `include_count`. */
  next_cursor: Type.Optional(Nullable(Type.String())),
  num_matching: Type.Optional(Type.Integer()),
});
const DeleteDocumentResponse = Type.Object({ deleted_paths: Type.Array(Type.String()) });
const changes = { has_more: Type.Boolean(), num_matching: Type.Optional(Type.Integer()) };
const DeleteDocumentsResponse = Type.Object({ deleted_paths: Type.Array(Type.String()), ...changes });
const UpdateDocumentsResponse = Type.Object({
  updated_paths: Type.Array(Type.String()),
  skipped_paths: Type.Array(Type.String()),
  ...changes,
});
const GetPageInfoResponse = Type.Object({
  page: Type.Object({
    id: Uuid,
    collection_name: Type.String(),
    path: Type.String(),
    page_index: Type.Integer(),
    /** Additive. */
    start_index: Nullable(Type.Integer()),
    content: Type.Optional(Nullable(Type.String())),
    image_url: Nullable(Type.String()),
  }),
});

/** Additive. */
const GetDocumentTextResponse = Type.Object({
  text: Type.Object({
    collection_name: Type.String(),
    path: Type.String(),
    num_pages: Type.Integer(),
    length: Type.Integer(),
    start_index: Type.Integer(),
    end_index: Type.Integer(),
    page_span: Type.Tuple([Type.Integer(), Type.Integer()]),
    next_index: Nullable(Type.Integer()),
    content: Type.String(),
  }),
});

/** Additive operations, as defined by Quarry's own API. */
const AddedResponse = Type.Object({
  message: Type.Optional(Type.String()),
  index_status: Type.Optional(IndexStatus),
  error: Type.Optional(Nullable(Type.String())),
  error_code: Type.Optional(Nullable(Type.String())),
});
const AddDocumentsResponse = Type.Object({
  results: Type.Array(
    Type.Object({
      path: Nullable(Type.String()),
      status: Type.Integer(),
      detail: Type.Optional(Type.String()),
      index_status: Type.Optional(IndexStatus),
    }),
  ),
});
const ExportDocumentsResponse = Type.Object({
  documents: Type.Array(
    Type.Object({
      path: Type.String(),
      metadata: Type.Object({}),
      content: Type.Union([Type.Object({ type: Type.String() }), Type.Null()]),
      sha256: Type.String(),
      size: Type.Integer(),
      file_url: Type.Union([Type.String(), Type.Null()]),
      index_status: Type.String(),
      error: Type.Union([Type.String(), Type.Null()]),
      error_code: Type.Union([Type.String(), Type.Null()]),
      created_at: Type.String(),
    }),
  ),
});

/** Operations of documents. */
export const documentTests = {
  'add-document': {
    expected: withoutFilter(writeAccess(201)),
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, path: fresh, content: newText },
    }),
    bodyKind: 'document',
    published: published('documents/add-document', AddedResponse),
    sample: { order: -1 },
  },
  'add-documents': {
    expected: writeAccess(200),
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, documents: [{ path: fresh, content: newText }] },
    }),
    bodyKind: 'document',
    published: published('documents/add-documents', AddDocumentsResponse),
  },
  'put-document': {
    expected: withoutFilter(writeAccess(201)),
    buildInput: ({ collection_name }, fresh) => ({
      parts: { collection: collection_name, '*': fresh },
      type: 'text/plain',
      body: 'New.',
    }),
  },
  'upload-document': {
    expected: withoutFilter(writeAccess(201)),
    buildInput: ({ collection_name }, fresh) => ({
      type: 'multipart/form-data; boundary=b',
      body: [
        formPart('collection_name', collection_name),
        formPart('path', fresh),
        formPart('file', 'New.', '; filename="new.txt"'),
        '--b--\r\n',
      ].join(''),
    }),
  },
  'update-document': {
    expected: { ...writeAccess(200), filtered: 404 },
    buildInput: ofDocument(),
    published: published('documents/update-document', DefaultResponse),
  },
  'delete-document': {
    expected: { ...writeAccess(200), filtered: 404 },
    prepare: freshDocument,
    published: published('documents/delete-document', DeleteDocumentResponse),
    sample: { order: 4 },
  },
  'delete-documents': {
    expected: writeAccess(200),
    buildInput: inCollection({ path_prefix: 'no-such-folder/' }),
    published: published('documents/delete-documents', DeleteDocumentsResponse),
  },
  'update-documents': {
    expected: writeAccess(200),
    buildInput: inCollection({ path_prefix: 'no-such-folder/', metadata_patch: { a: 'b' } }),
    published: published('documents/update-documents', UpdateDocumentsResponse),
  },
  'get-document-info': {
    expected: { ...readAccess(200), filtered: 404 },
    published: published('documents/get-document-info', GetDocumentInfoResponse),
  },
  'get-document-info-list': {
    expected: readAccess(200),
    buildInput: inCollection(),
    published: published('documents/get-document-info-list', GetDocumentInfoListResponse),
  },
  'get-page-info': {
    expected: { ...readAccess(200), filtered: 404 },
    published: published('documents/get-page-info', GetPageInfoResponse),
  },
  'export-documents': {
    expected: readAccess(200),
    buildInput: inCollection({ limit: 1 }),
    published: published('documents/export-documents', ExportDocumentsResponse),
  },
  'get-document-text': {
    expected: { ...readAccess(200), filtered: 404 },
    buildInput: ofDocument(),
    published: published('documents/get-document-text', GetDocumentTextResponse),
  },
  'get-document': {
    expected: publicAccess(200),
    buildInput: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-page-image': {
    expected: publicAccess(404),
    buildInput: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
} satisfies OperationTests;
