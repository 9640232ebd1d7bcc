import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf } from './wire.ts';

/** Content of a document to be added. */

export const APITextDocument = Component('APITextDocument', 'Plain text; it becomes one page.', {
  type: Type.Literal('text'),
  text: Type.String({ description: 'The text.', examples: ['Refunds are paid within 14 days.'] }),
});
export type APITextDocument = Static<typeof APITextDocument>;

export const APITextPagesDocument = Component('APITextPagesDocument', 'Text that is split into pages.', {
  type: OneOf(['text-pages', 'text-pages-unordered'], {
    description: 'Unordered pages are independent of each other, such as the rows of a table.',
  }),
  pages: Type.Array(Type.String(), { description: 'One string per page; may be empty.' }),
});
export type APITextPagesDocument = Static<typeof APITextPagesDocument>;

export const APIBinaryDocument = Component(
  'APIBinaryDocument',
  'A file; its format is detected from the content.',
  {
    type: Type.Literal('auto'),
    base64_data: Type.String({
      description: 'The file in standard base64 with padding, without line breaks.',
    }),
  },
);
export type APIBinaryDocument = Static<typeof APIBinaryDocument>;

export const APIParsedDocument = Component(
  'APIParsedDocument',
  'A file with its text, which is used instead of parsing the file.',
  {
    type: Type.Literal('parsed'),
    pages: Type.Array(Type.String(), { description: 'Text of each page; may be empty.' }),
    base64_data: Type.Optional(
      Type.String({ description: 'The file in standard base64 with padding. Either this or `sha256`.' }),
    ),
    sha256: Type.Optional(
      Type.String({
        description:
          'SHA-256 of the file in lower-case hexadecimal, instead of the file: the document at this path already has it and keeps it. Requires `overwrite`.',
      }),
    ),
    content_type: Type.Optional(
      Type.String({
        default: 'application/octet-stream',
        description: 'Media type of the file, such as `application/pdf`; returned with the file.',
        examples: ['application/pdf'],
      }),
    ),
    title: Type.Optional(
      Nullable(Type.String(), { description: 'Title of the document, at most 300 characters.' }),
    ),
    language: Type.Optional(
      Nullable(Type.String(), { description: 'ISO 639-1 code of the main language; null if unknown.' }),
    ),
    warnings: Type.Optional(
      Type.Array(Type.String(), { description: 'At most 64 warnings of at most 1,024 characters.' }),
    ),
    headings: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Detect headings, which become part of the context of snippets. False for tables and code.',
      }),
    ),
    unordered: Type.Optional(
      Type.Boolean({ default: false, description: 'Pages are independent of each other.' }),
    ),
    has_page_images: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether images of the pages can be made from the file.' }),
    ),
  },
);
export type APIParsedDocument = Static<typeof APIParsedDocument>;

export const DocumentContent = Type.Union(
  [APITextDocument, APITextPagesDocument, APIBinaryDocument, APIParsedDocument],
  { description: 'The content; `type` selects the variant.' },
);
export type DocumentContent = Static<typeof DocumentContent>;

/** Content that consists of text only. */
export type TextDocumentContent = APITextDocument | APITextPagesDocument;
