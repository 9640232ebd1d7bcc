import { RenameCollectionRequest } from '../../schemas/aliases.ts';
import * as checks from '../../schemas/checks.ts';
import * as collections from '../../schemas/collections.ts';
import { checkCurations } from '../../schemas/curations.ts';
import { checkStopWords } from '../../schemas/stop-words.ts';
import { checkSynonyms } from '../../schemas/synonyms.ts';
import { DefaultResponse, EmptyRequest } from '../../schemas/wire.ts';
import { checkCollection, collectionNotFound, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const collectionRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'add-collection',
    access: 'write',
    path: '/collections/add-collection',
    summary: 'Create a collection',
    description: 'Creates an empty collection. The number of shards cannot be changed later.',
    request: collections.AddCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', num_shards: 1 },
    successStatuses: [201],
    errorResponses: {
      404: 'The embedding model does not exist. The detail lists the available models.',
      409: 'A collection with this name already exists.',
    },
    check: (request) => {
      checkCollection(request);
      if (request.num_shards !== undefined) checks.checkShardCount(request.num_shards);
      if (request.query_defaults !== undefined) checks.checkQueryControls(request.query_defaults);
      if (request.default_ttl_seconds !== undefined) checks.checkTtl(request.default_ttl_seconds);
      checks.checkHistoryDays(request.history_days ?? 1);
      checks.checkMetadataSchema(request.metadata_schema ?? {});
      checkSynonyms(request.synonyms ?? []);
      checkStopWords(request.stop_words ?? []);
      checkCurations(request.curations ?? []);
    },
    serve: (services, call, request) => services.collections.addCollection(call, request),
  }),
  organizationRoute({
    operation: 'delete-collection',
    access: 'write',
    scope: 'collection',
    path: '/collections/delete-collection',
    summary: 'Delete a collection',
    description:
      'Deletes a collection with all its documents. Returns immediately; disk space is freed in the background.',
    request: collections.DeleteCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook' },
    errorResponses: { 404: collectionNotFound },
    check: checkCollection,
    serve: (services, call, request) => services.collections.deleteCollection(call, request),
  }),
  organizationRoute({
    operation: 'update-collection',
    access: 'write',
    scope: 'collection',
    path: '/collections/update-collection',
    summary: 'Change the settings of a collection',
    description:
      'Replaces the settings that the request contains. `query_defaults`, `synonyms`, `stop_words` and `curations` apply to queries that start afterwards, `default_ttl_seconds` to documents that are added afterwards, `metadata_schema` to both, `history_days` to versions that are replaced or deleted afterwards. Absent fields do not change.',
    request: collections.UpdateCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', query_defaults: { max_per_document: 1 } },
    errorResponses: { 404: collectionNotFound },
    check: (request) => {
      checkCollection(request);
      checks.checkQueryControls(request.query_defaults ?? {});
      checks.checkTtl(request.default_ttl_seconds ?? 1);
      checks.checkHistoryDays(request.history_days ?? 1);
      checks.checkMetadataSchema(request.metadata_schema ?? {});
      checkSynonyms(request.synonyms ?? []);
      checkStopWords(request.stop_words ?? []);
      checkCurations(request.curations ?? []);
    },
    serve: (services, call, request) => services.collections.updateCollection(call, request),
  }),
  organizationRoute({
    operation: 'change-model',
    access: 'write',
    scope: 'collection',
    path: '/collections/change-model',
    summary: 'Change the embedding model of a collection',
    description:
      'Recomputes the vectors of a collection with another model, or with a new version of the same model, in the background. Queries use the old vectors until all new vectors exist and then switch in one step; documents can be added and deleted meanwhile. `status/get-status` shows the progress under `model_changes`. Send the current model of the collection to cancel the change.',
    request: collections.ChangeModelRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', embedding_model: 'zembed-1' },
    errorResponses: {
      400: 'The collection uses vectors supplied by its callers (`own`), so its model cannot be changed.',
      404: 'The collection or the model does not exist. The detail lists the available models.',
      409: 'The collection already uses this model, or a change to this model is in progress.',
    },
    check: checkCollection,
    serve: (services, call, request) => services.collections.changeModel(call, request),
  }),
  organizationRoute({
    operation: 'rename-collection',
    access: 'write',
    scope: 'organization',
    path: '/collections/rename-collection',
    summary: 'Rename a collection',
    description:
      'Changes the name of a collection immediately. Documents, aliases and running work are unaffected. API keys that are restricted to the old name lose access; those restricted to the new name gain it.',
    request: RenameCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook-copy', new_collection_name: 'manual' },
    errorResponses: { 404: collectionNotFound, 409: 'A collection or an alias has the new name.' },
    check: (request) => {
      checkCollection(request);
      checks.checkCollectionName(request.new_collection_name);
    },
    serve: (services, call, request) => services.names.renameCollection(call, request),
  }),
  organizationRoute({
    operation: 'clone-collection',
    access: 'write',
    scope: 'organization',
    path: '/collections/clone-collection',
    summary: 'Copy a collection',
    description:
      'Creates a collection with the same settings and copies documents with their text, vectors and metadata; files are shared. Nothing is parsed or embedded again. One call copies documents for up to 20 seconds; repeat it with the `path_gt` of its reply until that is null. Copied documents become searchable within seconds.',
    request: collections.CloneCollectionRequest,
    reply: collections.CloneCollectionResponse,
    example: { collection_name: 'handbook', new_collection_name: 'handbook-copy' },
    errorResponses: {
      404: collectionNotFound,
      409: 'A collection or an alias has the new name, or the model of one of the collections was changed.',
      429: 'The ingest queue or a quota of the organization is full.',
    },
    check: (request) => {
      checkCollection(request);
      checks.checkCollectionName(request.new_collection_name);
      checks.checkPathBound('path_gt', request.path_gt ?? '');
    },
    serve: (services, call, request) => services.clones.cloneCollection(call, request),
  }),
  organizationRoute({
    operation: 'get-collection-info',
    access: 'read',
    path: '/collections/get-collection-info',
    summary: 'Describe a collection',
    description:
      'Returns the settings of a collection, such as its shards, embedding model and query defaults.',
    request: collections.GetCollectionInfoRequest,
    reply: collections.GetCollectionInfoResponse,
    example: { collection_name: 'handbook' },
    errorResponses: { 404: collectionNotFound },
    check: checkCollection,
    serve: (services, call, request) => services.collections.getCollectionInfo(call, request),
  }),
  organizationRoute({
    operation: 'get-collection-list',
    access: 'read',
    path: '/collections/get-collection-list',
    summary: 'List the collections',
    description: 'Lists the names of all collections of the caller. The body may be empty.',
    request: EmptyRequest,
    reply: collections.GetCollectionListResponse,
    example: {},
    serve: (services, call) => services.collections.getCollectionList(call),
  }),
];
