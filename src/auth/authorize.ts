import { AppError } from '../core/app-error.ts';
import type { Principal } from '../schemas/principal.ts';

/**
 * Access that an operation requires of its caller: add, update and delete operations need write access,
 * administration has its own level, and the account operations are for signed-in users. `accounts` decides by
 * role what a user may do in an organization.
 */
export type RequiredAccess = 'none' | 'read' | 'write' | 'administrator' | 'user';

/** Callers that may call an operation; its route declares them. */
export interface OperationAccess {
  /** ID, such as `add-document`. */
  readonly operation: string;
  readonly access: RequiredAccess;
  /**
   * Restricted keys that cannot call the operation. `collection`: keys with a filter, because it concerns all
   * documents of a collection. `organization`: all restricted keys, because it concerns the whole
   * organization, such as names, webhooks and model usage.
   */
  readonly scope?: 'collection' | 'organization' | undefined;
}

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
 * Returns the error for an operation by `principal` (null: unauthenticated), or null if it is allowed. Pure,
 * and evaluated before the body is read, so that a read-only key uploads nothing.
 */
export function authorize(
  principal: Principal | null,
  { operation, access, scope }: OperationAccess,
): AppError | null {
  const decision: AccessDecision = accessDecisions[callerKindOf(principal)][access];
  switch (decision) {
    case 'allowed':
      return checkRestriction(principal, { operation, scope });
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
        `${operation} requires an organization. Send the header "x-quarry-organization: <organization ID>".`,
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

function checkRestriction(
  principal: Principal | null,
  { operation, scope }: Pick<OperationAccess, 'operation' | 'scope'>,
): AppError | null {
  if (principal?.kind !== 'organization' || principal.restriction === undefined) return null;
  if (scope === 'organization') return restrictedKeyError(operation);
  return principal.restriction.filter !== null && scope === 'collection' ? filteredKeyError(operation) : null;
}

function restrictedKeyError(operation: string): AppError {
  return new AppError(
    'forbidden',
    `This API key is restricted and cannot call ${operation}, which concerns the whole organization. Use an unrestricted key.`,
  );
}

function filteredKeyError(operation: string): AppError {
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
