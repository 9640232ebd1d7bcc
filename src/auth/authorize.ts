import { AppError } from '../core/app-error.ts';
import type { Principal } from '../schemas/principal.ts';

/** Access that an operation requires of its caller. */
export type RequiredAccess = 'none' | 'read' | 'write' | 'administrator' | 'user';

/**
 * Access required by each operation: add, update and delete operations need write access, administration has
 * its own level, and the account endpoints are for signed-in users. `accounts` decides by role what a user
 * may do in an organization.
 */
export const requiredAccessOf = {
  'add-collection': 'write',
  'delete-collection': 'write',
  'update-collection': 'write',
  'change-model': 'write',
  'get-collection-list': 'read',
  'add-document': 'write',
  'add-documents': 'write',
  'put-document': 'write',
  'upload-document': 'write',
  'update-document': 'write',
  'delete-document': 'write',
  'get-document-info': 'read',
  'get-document-info-list': 'read',
  'get-page-info': 'read',
  'get-document': 'none',
  'get-page-image': 'none',
  'get-status': 'read',
  'top-documents': 'read',
  'top-pages': 'read',
  'top-snippets': 'read',
  'get-model-list': 'read',
  embed: 'read',
  rerank: 'read',
  embeddings: 'read',
  'cohere-rerank': 'read',
  'parse-document': 'read',
  'usage-documents': 'read',
  'usage-queries': 'read',
  'usage-reranker': 'read',
  'usage-embed': 'read',
  'usage-models-counters': 'read',
  'usage-counters': 'read',
  'create-organization': 'administrator',
  'list-organizations': 'administrator',
  'get-organization': 'administrator',
  'update-organization': 'administrator',
  'add-api-key': 'administrator',
  'list-api-keys': 'administrator',
  'update-api-key': 'administrator',
  'delete-api-key': 'administrator',
  'delete-any-organization': 'administrator',
  'inspect-organization': 'administrator',
  'get-any-audit-log': 'administrator',
  'list-users': 'administrator',
  'end-user-sessions': 'administrator',
  'disable-user': 'administrator',
  'enable-user': 'administrator',
  'delete-user': 'administrator',
  'reset-second-factor': 'administrator',
  'get-administrator-second-factor': 'administrator',
  'begin-administrator-second-factor': 'administrator',
  'confirm-administrator-second-factor': 'administrator',
  'disable-administrator-second-factor': 'administrator',
  'admin-login': 'none',
  'admin-logout': 'none',
  'get-sign-in-options': 'none',
  'send-magic-link': 'none',
  'verify-magic-link': 'none',
  'confirm-magic-link': 'none',
  'begin-provider-login': 'none',
  'finish-provider-login': 'none',
  'login-link': 'none',
  'finish-second-factor': 'none',
  logout: 'none',
  'get-user': 'user',
  'edit-user': 'user',
  'delete-own-user': 'user',
  'get-second-factor': 'user',
  'begin-second-factor': 'user',
  'confirm-second-factor': 'user',
  'disable-second-factor': 'user',
  'list-sessions': 'user',
  'revoke-session': 'user',
  'add-organization': 'user',
  'get-organization-info': 'user',
  'rename-organization': 'user',
  'delete-organization': 'user',
  'invite-user': 'user',
  'accept-invite': 'user',
  'update-user': 'user',
  'remove-user': 'user',
  'delete-invite-user': 'user',
  'add-organization-api-key': 'user',
  'update-organization-api-key': 'user',
  'delete-organization-api-key': 'user',
  'get-audit-log': 'user',
  'billing-status': 'user',
  'preview-subscription': 'user',
  subscribe: 'user',
  downgrade: 'user',
  'cancel-downgrade': 'user',
  'cancel-upgrade': 'user',
  'add-payment-method': 'user',
  'remove-payment-method': 'user',
  'manage-billing-details': 'user',
  pause: 'user',
  'redeem-code': 'user',
  'billing-webhook': 'none',
  'begin-aws-marketplace': 'none',
  'begin-vercel-marketplace': 'none',
  'aws-marketplace-event': 'none',
  'vercel-marketplace-event': 'none',
  'get-marketplace-sign-up': 'user',
  'bind-marketplace': 'user',
  healthz: 'none',
  readyz: 'none',
  metrics: 'administrator',
  openapi: 'none',
  'account-openapi': 'none',
  docs: 'none',
  dashboard: 'none',
  asset: 'none',
} as const satisfies Record<string, RequiredAccess>;

export type OperationName = keyof typeof requiredAccessOf;

/**
 * Operations that concern all documents of a collection, including those outside the filter of a restricted
 * key.
 */
const collectionWideOperations: ReadonlySet<OperationName> = new Set([
  'delete-collection',
  'update-collection',
  'change-model',
  'usage-documents',
  'usage-queries',
  'usage-counters',
]);

/**
 * Operations on model usage, which is metered by organization and not by key, so no part of it belongs to a
 * restricted key.
 */
const organizationWideOperations: ReadonlySet<OperationName> = new Set([
  'usage-reranker',
  'usage-embed',
  'usage-models-counters',
]);

type CallerKind = 'anonymous' | 'read_only' | 'all' | 'administrator' | 'user';
type AccessDecision =
  | 'allowed'
  | 'unauthenticated'
  | 'sign_in_required'
  | 'read_only_key'
  | 'administrator_required'
  | 'organization_key_required'
  | 'organization_required';

/** Access decisions by kind of caller and required access. */
const accessDecisions: Readonly<Record<CallerKind, Readonly<Record<RequiredAccess, AccessDecision>>>> = {
  anonymous: {
    none: 'allowed',
    read: 'unauthenticated',
    write: 'unauthenticated',
    administrator: 'unauthenticated',
    user: 'sign_in_required',
  },
  read_only: {
    none: 'allowed',
    read: 'allowed',
    write: 'read_only_key',
    administrator: 'administrator_required',
    // A leaked key must not create further keys, so account operations treat a key as unauthenticated.
    user: 'sign_in_required',
  },
  all: {
    none: 'allowed',
    read: 'allowed',
    write: 'allowed',
    administrator: 'administrator_required',
    user: 'sign_in_required',
  },
  administrator: {
    none: 'allowed',
    read: 'organization_key_required',
    write: 'organization_key_required',
    administrator: 'allowed',
    user: 'sign_in_required',
  },
  user: {
    none: 'allowed',
    read: 'organization_required',
    write: 'organization_required',
    administrator: 'administrator_required',
    user: 'allowed',
  },
};

/**
 * Returns the error for `operation` by `principal` (null: unauthenticated), or null if it is allowed. Pure,
 * and evaluated before the body is read, so that a read-only key uploads nothing.
 */
export function authorize(principal: Principal | null, operation: OperationName): AppError | null {
  const decision: AccessDecision = accessDecisions[callerKindOf(principal)][requiredAccessOf[operation]];
  switch (decision) {
    case 'allowed':
      return checkRestriction(principal, operation);
    case 'unauthenticated':
      return unauthorizedError(
        'This operation requires an API key. Send the header "Authorization: Bearer <API key>".',
      );
    case 'sign_in_required':
      return unauthorizedError(
        `${operation} requires a signed-in user, not an API key. Sign in and send the header "Authorization: Bearer <session token>".`,
      );
    case 'organization_required':
      return new AppError(
        'forbidden',
        `${operation} requires an organization. Send the header "x-quarry-organization: <organization id>".`,
      );
    case 'read_only_key':
      return new AppError('forbidden', `This API key is read-only and cannot call ${operation}.`);
    case 'administrator_required':
      return new AppError('forbidden', `Only the administrator (QUARRY_ADMIN_KEY) can call ${operation}.`);
    case 'organization_key_required':
      return new AppError(
        'forbidden',
        `The administrator key does not belong to an organization and cannot call ${operation}. Use an API key.`,
      );
  }
}

function checkRestriction(principal: Principal | null, operation: OperationName): AppError | null {
  if (principal?.kind !== 'organization' || principal.restriction === undefined) return null;
  if (organizationWideOperations.has(operation)) return restrictedKeyError(operation);
  return principal.restriction.filter !== null && collectionWideOperations.has(operation)
    ? filteredKeyError(operation)
    : null;
}

function restrictedKeyError(operation: OperationName): AppError {
  return new AppError(
    'forbidden',
    `This API key is restricted and cannot call ${operation}, which reports usage of the whole organization. Use an unrestricted key.`,
  );
}

function filteredKeyError(operation: OperationName): AppError {
  return new AppError(
    'forbidden',
    `This API key has a metadata filter and cannot call ${operation}, which affects whole collections. Use a key without a filter.`,
  );
}

/** Creates a 401 with the `www-authenticate` header that HTTP requires. */
export function unauthorizedError(detail: string): AppError {
  return new AppError('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer' } });
}

function callerKindOf(principal: Principal | null): CallerKind {
  if (principal === null) return 'anonymous';
  return principal.kind === 'organization' ? principal.permission : principal.kind;
}
