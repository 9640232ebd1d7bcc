import { type Static, Type } from './typebox.ts';
import { Component, Count, Nullable } from './wire.ts';

export const StatusRequest = Component('StatusRequest', 'Whose status.', {
  collection_name: Type.Optional(
    Nullable(Type.String(), {
      description: 'Only this collection; absent or null means all collections of the caller.',
    }),
  ),
});
export type StatusRequest = Static<typeof StatusRequest>;

const ModelChange = Type.Object({
  collection_name: Type.String({ description: 'Whose model is being changed.' }),
  embedding_model: Type.String({ description: 'The model that makes its new vectors.' }),
  num_documents: Count('Documents that search answers from.'),
  num_documents_done: Count('Those of them whose new vectors are made.'),
  waiting_for: Type.Optional(
    Type.String({ description: 'What keeps it from going on just now; absent when nothing does.' }),
  ),
});

export const ParsingProgress = Type.Object({
  stage: Type.Union(
    [
      Type.Literal('waiting'),
      Type.Literal('reading'),
      Type.Literal('converting'),
      Type.Literal('recognising'),
    ],
    {
      description: 'Waiting for a parser, reading, converted by LibreOffice, or text read from images.',
    },
  ),
  num_pages_done: Count('Pages that are done in this stage.'),
  num_pages: Nullable(Type.Integer({ minimum: 0 }), {
    description: 'Pages there are; null while not known.',
  }),
  elapsed_ms: Count('Milliseconds since it began.'),
});
export type ParsingProgress = Static<typeof ParsingProgress>;

const ParsingDocument = Type.Object({
  collection_name: Type.String({ description: 'Its collection.' }),
  path: Type.String({ description: 'Its path.' }),
  ...ParsingProgress.properties,
});

export const StatusResponse = Component('StatusResponse', 'How many documents stand where.', {
  num_documents: Count('All documents: the sum of the next four.'),
  num_parsing_documents: Count('Waiting for or in parsing.'),
  num_indexing_documents: Count('Waiting for or in indexing.'),
  num_indexed_documents: Count('Indexed.'),
  num_failed_documents: Count('Failed in parsing or indexing.'),
  waiting_for: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What keeps documents from being indexed just now; absent when nothing does.',
    }),
  ),
  parsing_documents: Type.Optional(
    Type.Array(ParsingDocument, {
      description: 'Documents that are read just now, and how far; absent when none are.',
    }),
  ),
  embedding_model: Type.Optional(
    Type.String({
      description: 'The model whose vectors the collection has, when one collection is asked for.',
    }),
  ),
  model_changes: Type.Optional(
    Type.Array(ModelChange, {
      description: 'Collections whose model is being changed; absent when there are none.',
    }),
  ),
  num_indexed_bytes: Count('UTF-8 bytes of the indexed text.'),
});
export type StatusResponse = Static<typeof StatusResponse>;
