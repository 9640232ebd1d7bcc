import * as checks from '../../schemas/checks.ts';
import { checkSourceName, checkSourceOptions, findSourceKind } from '../../schemas/source-checks.ts';
import * as sources from '../../schemas/sources.ts';
import { DefaultResponse, EmptyRequest } from '../../schemas/wire.ts';
import { checkCollection, collectionNotFound, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

const sourceNotFound = 'The source does not exist.';
const sourceDeleting = 'The source is being deleted.';
const notAllowed = 'The operator of this server does not allow the origin.';

const checkName = ({ source_name }: { readonly source_name: string }) => checkSourceName(source_name);

export const sourceRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'add-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/add-source',
    summary: 'Create a source',
    description:
      'Makes a collection follow an origin: when items of the origin are added, changed or deleted, so are their documents. The first run starts immediately, unless the schedule is `off`.',
    request: sources.AddSourceRequest,
    reply: DefaultResponse,
    example: {
      source_name: 'handbook-files',
      collection_name: 'handbook',
      directory: { path: '/srv/handbook' },
      schedule: '1h',
      watch: true,
    },
    successStatuses: [201],
    errorResponses: {
      403: notAllowed,
      404: collectionNotFound,
      409: 'A source with this name already exists.',
    },
    check: (request, { metadataBytesMax }) => {
      checkSourceOptions(request);
      checkCollection(request);
      findSourceKind(request);
      if (request.metadata != null) checks.checkMetadata(request.metadata, metadataBytesMax());
    },
    serve: (services, call, request) => services.sources.addSource(call, request),
  }),
  organizationRoute({
    operation: 'update-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/update-source',
    summary: 'Change a source',
    description:
      'Changes settings, schedule, metadata or credentials. A run in progress restarts with the new settings.',
    request: sources.UpdateSourceRequest,
    reply: DefaultResponse,
    example: { source_name: 'handbook-files', schedule: '02:30' },
    errorResponses: { 403: notAllowed, 404: sourceNotFound, 409: sourceDeleting },
    check: (request, { metadataBytesMax }) => {
      checkSourceOptions(request);
      findSourceKind(request);
      if (request.metadata != null) checks.checkMetadata(request.metadata, metadataBytesMax());
    },
    serve: (services, call, request) => services.sources.updateSource(call, request),
  }),
  organizationRoute({
    operation: 'delete-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/delete-source',
    summary: 'Delete a source',
    description:
      'Deletes a source and, with `delete_documents`, its documents. Deletion continues in the background; the source is listed until it is complete.',
    request: sources.DeleteSourceRequest,
    reply: DefaultResponse,
    example: { source_name: 'handbook-files', delete_documents: true },
    errorResponses: { 404: sourceNotFound, 409: sourceDeleting },
    check: checkName,
    serve: (services, call, request) => services.sources.deleteSource(call, request),
  }),
  organizationRoute({
    operation: 'get-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/get-source',
    summary: 'Get a source',
    description: 'Returns the settings of a source, its progress and the result of its last run.',
    request: sources.SourceRequest,
    reply: sources.SourceResponse,
    example: { source_name: 'handbook-files' },
    errorResponses: { 404: sourceNotFound },
    check: checkName,
    serve: (services, call, request) => services.sources.getSource(call, request),
  }),
  organizationRoute({
    operation: 'get-source-list',
    access: 'write',
    scope: 'organization',
    path: '/sources/get-source-list',
    summary: 'List the sources',
    description: 'Lists the sources of all collections. The body may be empty.',
    request: EmptyRequest,
    reply: sources.GetSourceListResponse,
    example: {},
    serve: (services, call) => services.sources.getSourceList(call),
  }),
  organizationRoute({
    operation: 'sync-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/sync-source',
    summary: 'Synchronize a source now',
    description:
      'Requests a run and returns immediately; poll `get-source` until `state` is `idle`. A request during a run causes another one.',
    request: sources.SyncSourceRequest,
    reply: sources.SourceResponse,
    example: { source_name: 'handbook-files' },
    errorResponses: { 404: sourceNotFound, 409: 'The source is paused or being deleted.' },
    check: checkName,
    serve: (services, call, request) => services.sources.syncSource(call, request),
  }),
  organizationRoute({
    operation: 'preview-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/preview-source',
    summary: 'Preview a synchronization',
    description: 'Dry run: lists the origin and returns the changes that a run would make.',
    request: sources.SourceRequest,
    reply: sources.PreviewSourceResponse,
    example: { source_name: 'handbook-files' },
    errorResponses: {
      403: notAllowed,
      404: sourceNotFound,
      409: sourceDeleting,
      429: 'Your organization already has two dry runs in progress.',
    },
    check: checkName,
    serve: (services, call, request) => services.sources.previewSource(call, request),
  }),
  organizationRoute({
    operation: 'get-source-item-list',
    access: 'write',
    scope: 'organization',
    path: '/sources/get-source-item-list',
    summary: 'List the items of a source',
    description:
      'Returns the result of the last change of each item. For the next page, send `next_key_gt` as `key_gt`; repeat until it is null.',
    request: sources.GetSourceItemListRequest,
    reply: sources.GetSourceItemListResponse,
    example: { source_name: 'handbook-files', only_failed: true },
    errorResponses: { 404: sourceNotFound },
    check: (request) => {
      checkName(request);
      if (request.limit != null) checks.checkListLimit(request.limit);
      if (request.key_gt != null) checks.checkPathBound('key_gt', request.key_gt);
    },
    serve: (services, call, request) => services.sources.getSourceItemList(call, request),
  }),
  organizationRoute({
    operation: 'pause-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/pause-source',
    summary: 'Pause a source',
    description: 'Interrupts the run in progress and starts no other until the source is resumed.',
    request: sources.SourceRequest,
    reply: DefaultResponse,
    example: { source_name: 'handbook-files' },
    errorResponses: { 404: sourceNotFound, 409: sourceDeleting },
    check: checkName,
    serve: (services, call, request) => services.sources.pauseSource(call, request),
  }),
  organizationRoute({
    operation: 'resume-source',
    access: 'write',
    scope: 'organization',
    path: '/sources/resume-source',
    summary: 'Resume a source',
    description: 'Ends a pause. A run that is due starts immediately.',
    request: sources.SourceRequest,
    reply: DefaultResponse,
    example: { source_name: 'handbook-files' },
    errorResponses: { 404: sourceNotFound, 409: sourceDeleting },
    check: checkName,
    serve: (services, call, request) => services.sources.resumeSource(call, request),
  }),
];
