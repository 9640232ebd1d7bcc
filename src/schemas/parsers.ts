import { type Static, Type } from './typebox.ts';
import { Component } from './wire.ts';

export const ParseDocumentRequest = Component('ParseDocumentRequest', 'A file to parse; nothing is stored.', {
  base64_data: Type.String({ description: 'The file in standard base64 with padding, without line breaks.' }),
});
export type ParseDocumentRequest = Static<typeof ParseDocumentRequest>;

export const ParseDocumentResponse = Component('ParseDocumentResponse', 'The text of the file.', {
  pages: Type.Array(Type.String(), { description: 'One string per page.' }),
  warnings: Type.Array(Type.String(), {
    description: 'Warnings about omitted or unreadable parts; empty if there are none.',
  }),
});
export type ParseDocumentResponse = Static<typeof ParseDocumentResponse>;
