import Type from 'typebox';
import { readAccess, withoutFilter, withoutRestrictions, writeAccess } from './expected-statuses.ts';
import { freshCollection, inCollection } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DefaultResponse } from './reply-types.ts';

const GetCollectionListResponse = Type.Object({ collection_names: Type.Array(Type.String()) });
const GetCollectionInfoResponse = Type.Object({
  collection: Type.Object({
    id: Type.String(),
    collection_name: Type.String(),
    created_at: Type.String(),
    num_shards: Type.Integer(),
    embedding_model: Type.String(),
    dimensions: Type.Integer(),
  }),
});
const CloneCollectionResponse = Type.Object({
  num_documents: Type.Integer(),
  path_gt: Type.Union([Type.String(), Type.Null()]),
});

/** Operations of collections. */
export const collectionTests = {
  'add-collection': {
    expected: { ...writeAccess(201, 201), restricted: 403 },
    buildInput: (_names, fresh) => ({ body: { collection_name: fresh } }),
    published: published('collections/add-collection', DefaultResponse),
    sample: { order: -2 },
  },
  'delete-collection': {
    expected: withoutFilter(writeAccess(200)),
    prepare: freshCollection,
    published: published('collections/delete-collection', DefaultResponse),
    sample: { order: 5 },
  },
  'update-collection': {
    expected: withoutFilter(writeAccess(200)),
    buildInput: inCollection(),
    published: published('collections/update-collection', DefaultResponse),
  },
  'change-model': {
    expected: withoutFilter(writeAccess(409)),
    published: published('collections/change-model', DefaultResponse),
  },
  'rename-collection': {
    expected: withoutRestrictions(writeAccess(200)),
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, new_collection_name: `renamed-${fresh}` },
    }),
    prepare: freshCollection,
    published: published('collections/rename-collection', DefaultResponse),
    // Needs the copy of the sample of clone-collection.
    sample: { order: 1 },
  },
  'clone-collection': {
    expected: withoutRestrictions(writeAccess(200)),
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, new_collection_name: `clone-${fresh}` },
    }),
    published: published('collections/clone-collection', CloneCollectionResponse),
  },
  'get-collection-info': {
    expected: readAccess(200),
    published: published('collections/get-collection-info', GetCollectionInfoResponse),
  },
  'get-collection-list': {
    expected: readAccess(200, 200),
    published: published('collections/get-collection-list', GetCollectionListResponse),
  },
} satisfies OperationTests;
