import { Curation, Curations } from './curations.ts';
import { MetadataSchema } from './metadata-schema.ts';
import { QueryDefaults } from './queries.ts';
import { StopWords } from './stop-words.ts';
import { Synonyms } from './synonyms.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, Nullable, Timestamp, Uuid } from './wire.ts';

export const AddCollectionRequest = Component('AddCollectionRequest', 'A collection to create.', {
  collection_name: Type.String({
    description:
      'Name of the new collection: 1 to 1,024 bytes of UTF-8, without NUL. An existing name returns 409.',
    examples: ['handbook'],
  }),
  num_shards: Type.Optional(
    Type.Integer({
      default: 1,
      description:
        'One of 1, 8, 16, 32 or 64; cannot be changed later. More shards speed up indexing and search of large collections; small collections are fastest with 1.',
      examples: [1],
    }),
  ),
  embedding_model: Type.Optional(
    Type.String({
      description:
        'The embedding model of the collection; default: the default model of the server. `own`: you send vectors with documents and queries.',
      examples: ['zembed-1'],
    }),
  ),
  dimensions: Type.Optional(
    Type.Integer({
      description: 'With `embedding_model: "own"`: number of dimensions of each vector, 1 to 8,192.',
      examples: [768],
    }),
  ),
  query_defaults: Type.Optional(QueryDefaults),
  default_ttl_seconds: Type.Optional(
    Type.Integer({
      description:
        'Documents that are added without `expires_at` expire after this time: 1 to 3,153,600,000 seconds.',
      examples: [2_592_000],
    }),
  ),
  metadata_schema: Type.Optional(MetadataSchema),
  synonyms: Type.Optional(Synonyms),
  stop_words: Type.Optional(StopWords),
  curations: Type.Optional(Curations),
  history_days: Type.Optional(
    Type.Integer({
      description:
        'Keeps replaced and deleted versions of documents for 1 to 3,650 days, so that queries with `as_of` return the results of an earlier moment. Kept versions count as stored bytes. Expired documents are not kept.',
      examples: [365],
    }),
  ),
});
export type AddCollectionRequest = Static<typeof AddCollectionRequest>;

export const DeleteCollectionRequest = Component(
  'DeleteCollectionRequest',
  'A collection to delete with all its documents.',
  {
    collection_name: CollectionName(),
  },
);
export type DeleteCollectionRequest = Static<typeof DeleteCollectionRequest>;

export const ChangeModelRequest = Component(
  'ChangeModelRequest',
  'A collection and its new embedding model.',
  {
    collection_name: CollectionName(),
    embedding_model: Type.String({
      description:
        'Name of an embedding model of this server. The current model of the collection cancels a change in progress.',
      examples: ['zembed-1'],
    }),
  },
);
export type ChangeModelRequest = Static<typeof ChangeModelRequest>;

export const UpdateCollectionRequest = Component('UpdateCollectionRequest', 'Changes to a collection.', {
  collection_name: CollectionName(),
  query_defaults: Type.Optional(
    Nullable(QueryDefaults, {
      description: 'Replaces all query defaults of the collection; null and `{}` remove them.',
      examples: [{ max_per_document: 1 }],
    }),
  ),
  default_ttl_seconds: Type.Optional(
    Nullable(Type.Integer(), {
      description:
        'Applies to documents that are added from now on without `expires_at`: 1 to 3,153,600,000 seconds; null for none.',
    }),
  ),
  metadata_schema: Type.Optional(
    Nullable(MetadataSchema, {
      description:
        'Replaces the types of metadata fields, for documents that are added and filters that are used from now on; null for none. Stored documents do not change.',
    }),
  ),
  synonyms: Type.Optional(
    Nullable(Synonyms, {
      description:
        'Replaces all synonyms of the collection, for queries that start afterwards; null for none.',
    }),
  ),
  stop_words: Type.Optional(
    Nullable(StopWords, {
      description:
        'Replaces all stop words of the collection, for queries that start afterwards; null for none.',
    }),
  ),
  curations: Type.Optional(
    Nullable(Curations, {
      description:
        'Replaces all curations of the collection, for queries that start afterwards; null for none.',
    }),
  ),
  history_days: Type.Optional(
    Nullable(Type.Integer(), {
      description:
        'Days for which replaced and deleted versions are kept, 1 to 3,650. The history begins when it is first set; null deletes it.',
    }),
  ),
});
export type UpdateCollectionRequest = Static<typeof UpdateCollectionRequest>;

export const CloneCollectionRequest = Component('CloneCollectionRequest', 'A collection to copy.', {
  collection_name: CollectionName(),
  new_collection_name: Type.String({
    description: 'Name of the copy. The first call creates it; an existing name returns 409.',
    examples: ['handbook-copy'],
  }),
  path_gt: Type.Optional(
    Nullable(Type.String(), {
      description:
        'Continues a copy after this path: send the value of the previous reply. An empty string continues from the start.',
    }),
  ),
});
export type CloneCollectionRequest = Static<typeof CloneCollectionRequest>;

export const CloneCollectionResponse = Component('CloneCollectionResponse', 'Progress of a copy.', {
  num_documents: Type.Integer({ description: 'Documents that this call copied.' }),
  path_gt: Nullable(Type.String(), {
    description: 'Send this value in the next call; null when the copy is complete.',
  }),
});
export type CloneCollectionResponse = Static<typeof CloneCollectionResponse>;

export const GetCollectionInfoRequest = Component('GetCollectionInfoRequest', 'A collection to describe.', {
  collection_name: CollectionName(),
});
export type GetCollectionInfoRequest = Static<typeof GetCollectionInfoRequest>;

export const CollectionInfo = Component('CollectionInfo', 'A collection.', {
  id: Uuid('Stays the same for the lifetime of the collection.'),
  collection_name: Type.String(),
  created_at: Timestamp('Time when the collection was created.'),
  num_shards: Type.Integer({ description: 'Number of shards.' }),
  embedding_model: Type.String({ description: 'The embedding model; `own`: vectors come from the callers.' }),
  dimensions: Type.Integer({ description: 'Number of dimensions of its vectors.' }),
  query_defaults: Type.Optional(QueryDefaults),
  default_ttl_seconds: Type.Optional(
    Type.Integer({
      description:
        'Seconds after which documents expire by default; absent if they do not expire by default.',
    }),
  ),
  metadata_schema: Type.Optional(MetadataSchema),
  synonyms: Type.Optional(Synonyms),
  stop_words: Type.Optional(StopWords),
  curations: Type.Optional(
    Type.Array(Curation, {
      description:
        'Rules that pin and hide documents in the results of certain queries. Not shown to keys that cannot read all documents.',
    }),
  ),
  history_days: Type.Optional(
    Type.Integer({
      description: 'Days for which replaced and deleted versions are kept; absent if they are not.',
    }),
  ),
});
export type CollectionInfo = Static<typeof CollectionInfo>;

export const GetCollectionInfoResponse = Component('GetCollectionInfoResponse', 'The requested collection.', {
  collection: CollectionInfo,
});
export type GetCollectionInfoResponse = Static<typeof GetCollectionInfoResponse>;

export const GetCollectionListResponse = Component(
  'GetCollectionListResponse',
  'All collections of the caller.',
  {
    collection_names: Type.Array(Type.String(), {
      description: 'Names in ascending order.',
      examples: [['handbook', 'tickets']],
    }),
    query_defaults: Type.Optional(
      Type.Array(Type.Object({ collection_name: Type.String(), query_defaults: QueryDefaults }), {
        description:
          'Query defaults by collection; collections without defaults are omitted. Absent if no collection has defaults.',
      }),
    ),
  },
);
export type GetCollectionListResponse = Static<typeof GetCollectionListResponse>;
