import { type Static, Type } from './typebox.ts';
import { Component } from './wire.ts';

export const ParseDocumentRequest = Component('ParseDocumentRequest', 'A file to read; nothing is stored.', {
  base64_data: Type.String({ description: 'The file in standard base64 with padding, without line breaks.' }),
});
export type ParseDocumentRequest = Static<typeof ParseDocumentRequest>;

export const ParseDocumentResponse = Component('ParseDocumentResponse', 'The text of the file.', {
  pages: Type.Array(Type.String(), { description: 'One string per page.' }),
  warnings: Type.Array(Type.String(), {
    description: 'What was left out or could not be read, in sentences. Additive; empty when nothing was.',
  }),
});
export type ParseDocumentResponse = Static<typeof ParseDocumentResponse>;
