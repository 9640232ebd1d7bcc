import type { Static } from 'typebox';
import Type from 'typebox';
import { Component, Count, Nullable } from './wire.ts';

export const StatusRequest = Component('StatusRequest', 'Whose status.', {
  collection_name: Type.Optional(
    Nullable(Type.String(), {
      description: 'Only this collection; absent or null means all collections of the caller.',
    }),
  ),
});
export type StatusRequest = Static<typeof StatusRequest>;

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
  num_indexed_bytes: Count('UTF-8 bytes of the indexed text.'),
});
export type StatusResponse = Static<typeof StatusResponse>;
