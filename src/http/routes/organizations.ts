import { ownerRoles } from '../../accounts/membership-authorizer.ts';
import * as wire from '../../schemas/accounts.ts';
import { AuditLogResponse } from '../../schemas/audit.ts';
import {
  type AccountRoute,
  mutationRoute,
  notMemberMessage,
  requireRole,
  userRoute,
  wrongRoleMessage,
} from './account-route.ts';
import { organizationExample } from './examples.ts';

export const organizationRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'add-organization',
    path: '/api/organizations/add-organization',
    summary: 'Create an organization of your own',
    description: 'Creates an organization with the tier `free` and makes you its owner.',
    request: wire.AddOrganizationRequest,
    reply: wire.AddOrganizationResponse,
    example: { name: 'Acme' },
    errorResponses: { 429: 'You own the maximum number of organizations.' },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.add(call, request),
  }),
  userRoute({
    operation: 'get-organization-info',
    path: '/api/organizations/get-info',
    summary: 'Describe your organization',
    description: 'Returns the tier, members, open invitations and API keys (masked).',
    request: wire.GetOrganizationInfoRequest,
    reply: wire.GetOrganizationInfoResponse,
    example: organizationExample,
    errorResponses: { 404: notMemberMessage },
    serve: ({ organizations }, call, request) => organizations.getInfo(call, request),
  }),
  mutationRoute({
    operation: 'rename-organization',
    path: '/api/organizations/update-organization',
    summary: 'Rename an organization',
    description: 'For owners. Names need not be unique.',
    request: wire.UpdateOrganizationRequest,
    reply: wire.GenericMessageResponse,
    example: { ...organizationExample, name: 'Acme Inc.' },
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    authorize: requireRole(ownerRoles),
    serve: ({ organizations }, call, request) => organizations.rename(call, request),
  }),
  mutationRoute({
    operation: 'delete-organization',
    path: '/api/organizations/delete-organization',
    summary: 'Delete an organization',
    description:
      'For owners. Revokes its API keys, memberships and invitations immediately; its collections are deleted in the background.',
    request: wire.DeleteOrganizationRequest,
    reply: wire.GenericMessageResponse,
    example: { ...organizationExample, confirm_name: 'Acme Inc.' },
    errorResponses: {
      403: wrongRoleMessage,
      404: notMemberMessage,
      409: 'It is the first organization of the installation, or has unpaid invoices.',
      502: 'The payment provider failed; nothing was deleted.',
      503: 'The payment provider did not respond in time; nothing was deleted.',
    },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.delete(call, request),
  }),
  userRoute({
    operation: 'get-audit-log',
    path: '/api/organizations/get-audit-log',
    summary: 'Read the audit log',
    description:
      'For owners. Returns audit log entries, newest first. For the next page, send `next_cursor` as `cursor`; repeat until it is null.',
    request: wire.OrganizationAuditLogRequest,
    reply: AuditLogResponse,
    example: organizationExample,
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    serve: ({ organizations }, call, request) => organizations.auditLog(call, request),
  }),
];
