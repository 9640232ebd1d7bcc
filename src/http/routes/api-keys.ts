import { managerRoles } from '../../accounts/membership-authorizer.ts';
import * as wire from '../../schemas/accounts.ts';
import {
  type AccountRoute,
  mutationRoute,
  notMemberMessage,
  requireRole,
  wrongRoleMessage,
} from './account-route.ts';
import { keyExample, organizationExample } from './examples.ts';

export const apiKeyRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'add-organization-api-key',
    path: '/api/organizations/api-keys/add-api-key',
    summary: 'Create an API key for your organization',
    description: 'For owners and admins. The key is shown only in this reply.',
    request: wire.AddAPIKeyRequest,
    bodyKind: 'key',
    reply: wire.AddAPIKeyResponse,
    example: { ...organizationExample, name: 'Website', permission: 'read_only' },
    successStatus: 201,
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    authorize: requireRole(managerRoles),
    withheld: ({ id }) =>
      `API key ${id} was created by the first request with this Idempotency-Key. Its secret is shown once and not stored: delete that key and create another if it is lost.`,
    serve: ({ apiKeys }, call, request) => apiKeys.add(call, request),
  }),
  mutationRoute({
    operation: 'update-organization-api-key',
    path: '/api/organizations/api-keys/update-api-key',
    summary: 'Change an API key of your organization',
    description:
      'For owners and admins. Changes the name, permission, restriction or allowed origins, effective immediately.',
    request: wire.UpdateAPIKeyRequest,
    bodyKind: 'key',
    reply: wire.GenericMessageResponse,
    example: { ...keyExample, permission: 'all' },
    errorResponses: {
      400: 'The request contains no changes.',
      403: wrongRoleMessage,
      404: 'The organization or the key does not exist.',
    },
    authorize: requireRole(managerRoles),
    serve: ({ apiKeys }, call, request) => apiKeys.update(call, request),
  }),
  mutationRoute({
    operation: 'delete-organization-api-key',
    isRevocation: true,
    path: '/api/organizations/api-keys/delete-api-key',
    summary: 'Revoke an API key of your organization',
    description: 'For owners and admins. Requests that use the key return 401.',
    request: wire.DeleteAPIKeyRequest,
    reply: wire.GenericMessageResponse,
    example: keyExample,
    errorResponses: {
      403: wrongRoleMessage,
      404: 'The organization or the key does not exist.',
      409: 'QUARRY_API_KEY sets this key.',
    },
    authorize: requireRole(managerRoles),
    serve: ({ apiKeys }, call, request) => apiKeys.delete(call, request),
  }),
];
