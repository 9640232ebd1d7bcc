import * as aliases from '../../schemas/aliases.ts';
import * as checks from '../../schemas/checks.ts';
import { DefaultResponse, EmptyRequest } from '../../schemas/wire.ts';
import { checkCollection, collectionNotFound, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const aliasRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'add-alias',
    access: 'write',
    scope: 'organization',
    path: '/aliases/add-alias',
    summary: 'Create an alias',
    description:
      'Adds another name for a collection. Operations on documents and queries accept it as `collection_name`; replies contain the name of the collection. Keys that are restricted to collections are checked by the name of the collection.',
    request: aliases.AddAliasRequest,
    reply: DefaultResponse,
    example: { alias_name: 'live', collection_name: 'handbook' },
    successStatuses: [201],
    errorResponses: {
      404: collectionNotFound,
      409: 'The alias exists, or a collection has this name.',
    },
    check: (request) => {
      checks.checkAliasName(request.alias_name);
      checkCollection(request);
    },
    serve: (services, call, request) => services.names.addAlias(call, request),
  }),
  organizationRoute({
    operation: 'update-aliases',
    access: 'write',
    scope: 'organization',
    path: '/aliases/update-aliases',
    summary: 'Change several aliases at once',
    description:
      'Creates, changes and deletes up to 64 aliases in one atomic step: a query sees either all changes or none. To replace a collection without downtime, fill a new one, then point the alias at it.',
    request: aliases.UpdateAliasesRequest,
    reply: DefaultResponse,
    example: { changes: [{ alias_name: 'live', collection_name: 'handbook' }] },
    errorResponses: {
      404: 'A collection, or an alias to be deleted, does not exist. Nothing was changed.',
      409: 'A collection has the name of an alias. Nothing was changed.',
    },
    check: (request) => checks.checkAliasChanges(request.changes),
    serve: (services, call, request) => services.names.updateAliases(call, request),
  }),
  organizationRoute({
    operation: 'delete-alias',
    access: 'write',
    scope: 'organization',
    path: '/aliases/delete-alias',
    summary: 'Delete an alias',
    description: 'Deletes an alias; its collection is unchanged. Deleting a collection deletes its aliases.',
    request: aliases.DeleteAliasRequest,
    reply: DefaultResponse,
    example: { alias_name: 'live' },
    errorResponses: { 404: 'The alias does not exist.' },
    check: (request) => checks.checkAliasName(request.alias_name),
    serve: (services, call, request) => services.names.deleteAlias(call, request),
  }),
  organizationRoute({
    operation: 'get-alias-list',
    access: 'read',
    path: '/aliases/get-alias-list',
    summary: 'List the aliases',
    description: 'Lists the aliases of all collections that the caller may access. The body may be empty.',
    request: EmptyRequest,
    reply: aliases.GetAliasListResponse,
    example: {},
    serve: (services, call) => services.names.getAliasList(call),
  }),
];
