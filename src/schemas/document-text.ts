import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, DocumentPath, Nullable } from './wire.ts';

export const GetDocumentTextRequest = Component(
  'GetDocumentTextRequest',
  'A part of the text of a document.',
  {
    collection_name: CollectionName(),
    path: DocumentPath(),
    page_index: Type.Optional(
      Nullable(Type.Integer(), {
        description:
          'Zero-based page: the part starts and ends within it. Absent or null: the part can span pages.',
        examples: [0],
      }),
    ),
    start_index: Type.Optional(
      Nullable(Type.Integer(), {
        description:
          'Start of the part, in code points from the start of the document. Absent or null: start of the page or document.',
      }),
    ),
    max_characters: Type.Optional(
      Nullable(Type.Integer(), {
        description: 'Maximum length of the part in code points, 1 to 100,000; absent or null means 20,000.',
      }),
    ),
  },
);
export type GetDocumentTextRequest = Static<typeof GetDocumentTextRequest>;

export const GetDocumentTextResponse = Component(
  'GetDocumentTextResponse',
  'A part of the text of a document.',
  {
    text: Type.Object({
      collection_name: Type.String(),
      path: Type.String(),
      num_pages: Type.Integer({ description: 'Pages of the document.' }),
      length: Type.Integer({ description: 'Code points of the document.' }),
      start_index: Type.Integer({ description: 'First code point of the part.' }),
      end_index: Type.Integer({ description: 'Code point after the last one of the part.' }),
      page_span: Type.Array(Type.Integer(), {
        description: 'First page of the part, and the page after its last one.',
        minItems: 2,
        maxItems: 2,
        examples: [[0, 1]],
      }),
      next_index: Nullable(Type.Integer(), {
        description: 'Start of the next part; null at the end of the page or document.',
      }),
      content: Type.String({ description: 'The text.' }),
    }),
  },
);
export type GetDocumentTextResponse = Static<typeof GetDocumentTextResponse>;
