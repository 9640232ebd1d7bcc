import { type Static, Type } from './typebox.ts';
import { Component, Count, Nullable, OneOf, Timestamp } from './wire.ts';

export const StatusRequest = Component('StatusRequest', 'The collection to describe.', {
  collection_name: Type.Optional(
    Nullable(Type.String(), {
      description: 'Only this collection; absent or null means all collections of the caller.',
    }),
  ),
  include_details: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'With `collection_name`: also return `details`. Keys with a document filter do not get them, because they describe the whole collection.',
    }),
  ),
});
export type StatusRequest = Static<typeof StatusRequest>;

const ModelChange = Type.Object({
  collection_name: Type.String({ description: 'Collection whose model is being changed.' }),
  embedding_model: Type.String({ description: 'The new embedding model.' }),
  num_documents: Count('Searchable documents.'),
  num_documents_done: Count('Searchable documents with new vectors.'),
  waiting_for: Type.Optional(
    Type.String({ description: 'Reason why the change is currently blocked; absent if it is not.' }),
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
      description:
        'Waiting for a parser, being parsed, being converted by LibreOffice, or being processed by OCR.',
    },
  ),
  num_pages_done: Count('Pages completed in this stage.'),
  num_pages: Nullable(Type.Integer({ minimum: 0 }), {
    description: 'Total pages; null while unknown.',
  }),
  elapsed_ms: Count('Milliseconds since the start.'),
});
export type ParsingProgress = Static<typeof ParsingProgress>;

const ParsingDocument = Type.Object({
  collection_name: Type.String({ description: 'Its collection.' }),
  path: Type.String({ description: 'Its path.' }),
  ...ParsingProgress.properties,
});

export const collectionIndexStates = ['ready', 'loading', 'repairing'] as const;

const CollectionDetails = Type.Object({
  created_at: Timestamp('Time when the collection was created.'),
  num_shards: Count('Index parts that are searched in parallel.'),
  num_stored_bytes: Count('Bytes of the original files and texts of all documents.'),
  num_history_bytes: Type.Optional(
    Count('Bytes of the original files and texts of kept versions; only with `history_days`.'),
  ),
  index_state: OneOf(collectionIndexStates, {
    description:
      '`ready`: queries are answered. `loading` after a start and `repairing` after damage: queries are rejected with 503, and the following numbers are 0.',
  }),
  num_chunks: Count('Chunks that search finds: parts of about 2,000 characters.'),
  num_removed_chunks: Count('Chunks of deleted or replaced documents that are not yet compacted away.'),
  num_index_memory_bytes: Count('Memory that the index uses.'),
  num_index_disk_bytes: Count('Size of the snapshot of the index on disk; 0 before the first one.'),
});
export type CollectionDetails = Static<typeof CollectionDetails>;

export const StatusResponse = Component('StatusResponse', 'Document counts by status.', {
  num_documents: Count('All documents: the sum of the following four counts.'),
  num_parsing_documents: Count('Waiting for parsing or being parsed.'),
  num_indexing_documents: Count('Waiting for indexing or being indexed.'),
  num_indexed_documents: Count('Indexed.'),
  num_failed_documents: Count('Failed in parsing or indexing.'),
  waiting_for: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Reason why indexing is currently blocked; absent if it is not.',
    }),
  ),
  parsing_documents: Type.Optional(
    Type.Array(ParsingDocument, {
      description: 'Documents that are being parsed, with progress; absent if there are none.',
    }),
  ),
  embedding_model: Type.Optional(
    Type.String({
      description: 'The embedding model of the collection, if one collection was requested.',
    }),
  ),
  model_changes: Type.Optional(
    Type.Array(ModelChange, {
      description: 'Collections whose model is being changed; absent if there are none.',
    }),
  ),
  num_indexed_bytes: Count('UTF-8 bytes of the indexed text.'),
  details: Type.Optional(CollectionDetails),
});
export type StatusResponse = Static<typeof StatusResponse>;
