import { AppError } from '../core/app-error.ts';
import type { Principal } from '../schemas/principal.ts';

/** Access that an operation requires of its caller. */
export type RequiredAccess = 'nothing' | 'read' | 'write' | 'administrator' | 'person';

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
  'get-document': 'nothing',
  'get-page-image': 'nothing',
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
  'admin-login': 'nothing',
  'admin-logout': 'nothing',
  'get-sign-in-options': 'nothing',
  'send-magic-link': 'nothing',
  'verify-magic-link': 'nothing',
  'confirm-magic-link': 'nothing',
  'begin-provider-login': 'nothing',
  'finish-provider-login': 'nothing',
  'login-link': 'nothing',
  'finish-second-factor': 'nothing',
  logout: 'nothing',
  'get-user': 'person',
  'edit-user': 'person',
  'delete-own-user': 'person',
  'get-second-factor': 'person',
  'begin-second-factor': 'person',
  'confirm-second-factor': 'person',
  'disable-second-factor': 'person',
  'list-sessions': 'person',
  'revoke-session': 'person',
  'add-organization': 'person',
  'get-organization-info': 'person',
  'rename-organization': 'person',
  'delete-organization': 'person',
  'invite-user': 'person',
  'accept-invite': 'person',
  'update-user': 'person',
  'remove-user': 'person',
  'delete-invite-user': 'person',
  'add-organization-api-key': 'person',
  'update-organization-api-key': 'person',
  'delete-organization-api-key': 'person',
  'get-audit-log': 'person',
  'billing-status': 'person',
  'preview-subscription': 'person',
  subscribe: 'person',
  downgrade: 'person',
  'cancel-downgrade': 'person',
  'cancel-upgrade': 'person',
  'add-payment-method': 'person',
  'remove-payment-method': 'person',
  'manage-billing-details': 'person',
  pause: 'person',
  'redeem-code': 'person',
  'billing-webhook': 'nothing',
  'begin-aws-marketplace': 'nothing',
  'begin-vercel-marketplace': 'nothing',
  'aws-marketplace-event': 'nothing',
  'vercel-marketplace-event': 'nothing',
  'get-marketplace-sign-up': 'person',
  'bind-marketplace': 'person',
  healthz: 'nothing',
  readyz: 'nothing',
  metrics: 'administrator',
  openapi: 'nothing',
  'account-openapi': 'nothing',
  docs: 'nothing',
  dashboard: 'nothing',
  asset: 'nothing',
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

type CallerKind = 'nobody' | 'read_only' | 'all' | 'administrator' | 'person';
type AccessDecision =
  | 'yes'
  | 'who are you'
  | 'sign in'
  | 'read only'
  | 'administrators only'
  | 'organisations only'
  | 'which organisation';

/** Access decisions by kind of caller and required access. */
const accessDecisions: Readonly<Record<CallerKind, Readonly<Record<RequiredAccess, AccessDecision>>>> = {
  nobody: {
    nothing: 'yes',
    read: 'who are you',
    write: 'who are you',
    administrator: 'who are you',
    person: 'sign in',
  },
  read_only: {
    nothing: 'yes',
    read: 'yes',
    write: 'read only',
    administrator: 'administrators only',
    // A leaked key must not create further keys, so account operations treat a key as unauthenticated.
    person: 'sign in',
  },
  all: { nothing: 'yes', read: 'yes', write: 'yes', administrator: 'administrators only', person: 'sign in' },
  administrator: {
    nothing: 'yes',
    read: 'organisations only',
    write: 'organisations only',
    administrator: 'yes',
    person: 'sign in',
  },
  person: {
    nothing: 'yes',
    read: 'which organisation',
    write: 'which organisation',
    administrator: 'administrators only',
    person: 'yes',
  },
};

/**
 * Returns the error for `operation` by `principal` (null: unauthenticated), or null if it is allowed. Pure,
 * and evaluated before the body is read, so that a read-only key uploads nothing.
 */
export function authorize(principal: Principal | null, operation: OperationName): AppError | null {
  const decision: AccessDecision = accessDecisions[callerKindOf(principal)][requiredAccessOf[operation]];
  switch (decision) {
    case 'yes':
      return checkRestriction(principal, operation);
    case 'who are you':
      return unauthorizedError(
        'This operation needs an API key: send the header "Authorization: Bearer <API key>".',
      );
    case 'sign in':
      return unauthorizedError(
        `People call ${operation}, not keys: sign in, and send the header "Authorization: Bearer <session token>".`,
      );
    case 'which organisation':
      return new AppError(
        'forbidden',
        `Say for which organisation you call ${operation}: send the header "x-quarry-organization: <its id>".`,
      );
    case 'read only':
      return new AppError('forbidden', `This API key is read-only and may not call ${operation}.`);
    case 'administrators only':
      return new AppError('forbidden', `Only the administrator (QUARRY_ADMIN_KEY) may call ${operation}.`);
    case 'organisations only':
      return new AppError(
        'forbidden',
        `The administrator key belongs to no organisation and may not call ${operation}: use an API key.`,
      );
  }
}

function checkRestriction(principal: Principal | null, operation: OperationName): AppError | null {
  if (principal?.kind !== 'organisation' || principal.restriction === undefined) return null;
  if (organizationWideOperations.has(operation)) return restrictedKeyError(operation);
  return principal.restriction.filter !== null && collectionWideOperations.has(operation)
    ? filteredKeyError(operation)
    : null;
}

function restrictedKeyError(operation: OperationName): AppError {
  return new AppError(
    'forbidden',
    `This API key is restricted and may not call ${operation}, which counts the calls of the whole organization: use a key without a restriction.`,
  );
}

function filteredKeyError(operation: OperationName): AppError {
  return new AppError(
    'forbidden',
    `This API key sees only some documents of its collections and may not call ${operation}, which concerns all of them.`,
  );
}

/** Creates a 401 with the `www-authenticate` header that HTTP requires. */
export function unauthorizedError(detail: string): AppError {
  return new AppError('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer' } });
}

function callerKindOf(principal: Principal | null): CallerKind {
  if (principal === null) return 'nobody';
  return principal.kind === 'organisation' ? principal.permission : principal.kind;
}
