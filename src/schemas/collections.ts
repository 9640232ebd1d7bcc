import { QueryDefaults } from './queries.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, Nullable } from './wire.ts';

export const AddCollectionRequest = Component('AddCollectionRequest', 'A collection to create.', {
  collection_name: Type.String({
    description:
      'Name of the new collection: 1 to 1,024 bytes of UTF-8, without NUL. A name that exists answers 409.',
    examples: ['handbook'],
  }),
  num_shards: Type.Optional(
    Type.Integer({
      default: 1,
      description:
        'One of 1, 8, 16, 32 or 64; it cannot change later. More shards index faster and search large collections faster; small collections are fastest with 1.',
      examples: [1],
    }),
  ),
  embedding_model: Type.Optional(
    Type.String({
      description:
        'The embedding model that makes its vectors, by default the one of the server; `own`: you send them with documents and queries.',
      examples: ['zembed-1'],
    }),
  ),
  dimensions: Type.Optional(
    Type.Integer({
      description: 'With `embedding_model: "own"`: how many numbers each vector has, 1 to 8,192.',
      examples: [768],
    }),
  ),
  query_defaults: Type.Optional(QueryDefaults),
});
export type AddCollectionRequest = Static<typeof AddCollectionRequest>;

export const DeleteCollectionRequest = Component(
  'DeleteCollectionRequest',
  'A collection to delete with everything in it.',
  {
    collection_name: CollectionName(),
  },
);
export type DeleteCollectionRequest = Static<typeof DeleteCollectionRequest>;

export const ChangeModelRequest = Component(
  'ChangeModelRequest',
  'A collection, and the model that is to make its vectors.',
  {
    collection_name: CollectionName(),
    embedding_model: Type.String({
      description:
        'Name of an embedding model of this server. The one whose vectors the collection has cancels a change that is under way.',
      examples: ['zembed-1'],
    }),
  },
);
export type ChangeModelRequest = Static<typeof ChangeModelRequest>;

export const UpdateCollectionRequest = Component(
  'UpdateCollectionRequest',
  'What is to be different in a collection.',
  {
    collection_name: CollectionName(),
    query_defaults: Type.Optional(
      Nullable(QueryDefaults, {
        description: 'Takes the place of all that the collection has; null and `{}` take it away.',
        examples: [{ max_per_document: 1 }],
      }),
    ),
  },
);
export type UpdateCollectionRequest = Static<typeof UpdateCollectionRequest>;

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
        description: 'Of the collections that have some; absent when none has.',
      }),
    ),
  },
);
export type GetCollectionListResponse = Static<typeof GetCollectionListResponse>;
