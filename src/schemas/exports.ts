import { APIParsedDocument } from './document-content.ts';
import { DocumentErrorCode, DocumentIndexStatus } from './documents.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, DocumentMetadataJson, Nullable, Timestamp } from './wire.ts';

export const ExportDocumentsRequest = Component('ExportDocumentsRequest', 'Documents to export.', {
  collection_name: CollectionName(),
  path_gt: Type.Optional(
    Nullable(Type.String(), {
      description: 'Only paths after this path: send the last path of the previous reply.',
    }),
  ),
  path_prefix: Type.Optional(
    Nullable(Type.String(), { description: 'Only paths that start with this prefix.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      default: 64,
      description: 'Maximum number of documents, 1 to 256. The reply ends earlier after 8 MiB.',
    }),
  ),
});
export type ExportDocumentsRequest = Static<typeof ExportDocumentsRequest>;

const { type, pages, content_type, title, language, warnings, headings, unordered, has_page_images } =
  APIParsedDocument.properties;

/** Without the file, which has a URL of its own. */
const ExportedFile = Component('ExportedFile', 'Text of a file, as content of the type `parsed`.', {
  type,
  pages,
  content_type,
  title,
  language,
  warnings,
  headings,
  unordered,
  has_page_images,
});

const ExportedText = Component('ExportedText', 'Content of a document that was added as text.', {
  type: Type.Union([Type.Literal('text'), Type.Literal('text-pages'), Type.Literal('text-pages-unordered')]),
  text: Type.Optional(Type.String({ description: 'With the type `text`.' })),
  pages: Type.Optional(Type.Array(Type.String(), { description: 'With the other types.' })),
});

export const ExportedDocument = Component(
  'ExportedDocument',
  'A document with its content, in the format of `add-documents`.',
  {
    path: Type.String(),
    metadata: DocumentMetadataJson,
    content: Nullable(Type.Union([ExportedText, ExportedFile]), {
      description: 'Null for a file that is not parsed yet, or could not be parsed.',
    }),
    vector: Type.Optional(
      Type.String({
        description:
          'In a collection whose `embedding_model` is `own`: the vector in base64, normalized to length 1. A page without words has no stored vector; its value is arbitrary.',
      }),
    ),
    vectors: Type.Optional(
      Type.Array(Type.String(), { description: 'One vector per page, in the same form.' }),
    ),
    sha256: Type.String({ description: 'SHA-256 of the raw document.' }),
    size: Type.Integer({ description: 'Size of the raw document in bytes.' }),
    file_url: Nullable(Type.String(), {
      description: 'URL of the file; null for a document that was added as text.',
    }),
    index_status: DocumentIndexStatus,
    error: Nullable(Type.String(), { description: 'Reason why parsing or indexing failed, otherwise null.' }),
    error_code: Nullable(DocumentErrorCode, { description: 'Error code of the failure, otherwise null.' }),
    created_at: Timestamp('Time when the document was added or last overwritten.'),
    expires_at: Type.Optional(Timestamp('Time at which the document expires.')),
  },
);
export type ExportedDocument = Static<typeof ExportedDocument>;

export const ExportDocumentsResponse = Component(
  'ExportDocumentsResponse',
  'Documents in ascending order of their paths.',
  {
    documents: Type.Array(ExportedDocument, { description: 'Empty if there are no more.' }),
  },
);
export type ExportDocumentsResponse = Static<typeof ExportDocumentsResponse>;
