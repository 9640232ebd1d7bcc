import type { ApiKeyOperations } from '../../accounts/api-key-operations.ts';
import type { AccountResponse, ClientInfo } from '../../accounts/client-info.ts';
import type { Idempotency } from '../../accounts/idempotency.ts';
import type { InvitationOperations } from '../../accounts/invitation-operations.ts';
import type { MemberOperations } from '../../accounts/member-operations.ts';
import type {
  MembershipAuthorizer,
  OrganizationScopedRequest,
} from '../../accounts/membership-authorizer.ts';
import type { OrganizationOperations } from '../../accounts/organization-operations.ts';
import type { PasskeyOperations } from '../../accounts/passkey-operations.ts';
import type { ProviderOperations } from '../../accounts/provider-operations.ts';
import type { SignInOperations } from '../../accounts/sign-in-operations.ts';
import type { UserCall, UserOperations } from '../../accounts/user-operations.ts';
import type { BodyKind } from '../../admission/body-limits.ts';
import type { SlidingWindowLimiter } from '../../admission/sliding-window-limiter.ts';
import type { Billing } from '../../billing/billing.ts';
import { assert } from '../../core/assert.ts';
import type { ReplyDeadline } from '../../core/async/reply-deadline.ts';
import type { Marketplaces } from '../../marketplaces/marketplaces.ts';
import type { Principal, Role } from '../../schemas/principal.ts';
import type { Static, TSchema } from '../../schemas/typebox.ts';
import { apiOperationPath, type OperationDescription, type RouteDescription } from './route-description.ts';

/** Use cases of the account API. */
export interface AccountServices {
  readonly signIn: SignInOperations;
  readonly providers: ProviderOperations;
  readonly users: UserOperations;
  readonly passkeys: PasskeyOperations;
  readonly organizations: OrganizationOperations;
  readonly members: MemberOperations;
  readonly invitations: InvitationOperations;
  readonly apiKeys: ApiKeyOperations;
  readonly idempotency: Idempotency;
  /** Limit on the changes that one user may request. */
  readonly changeLimiter: Pick<SlidingWindowLimiter, 'consume'>;
  /** Separate budget, so that access can be revoked after any number of other changes. */
  readonly revocationLimiter: Pick<SlidingWindowLimiter, 'consume'>;
  readonly authorizer: MembershipAuthorizer;
  readonly billing: Billing;
  readonly marketplaces: Marketplaces;
  /** Redirect target of a browser whose request names none. */
  readonly home: string;
}

export interface AccountCall {
  /** Null for operations that need no credential. */
  readonly principal: Principal | null;
  readonly client: ClientInfo;
  readonly deadline?: ReplyDeadline | undefined;
}

const idempotencyConflict =
  'The Idempotency-Key was used for a different request, or the first request is still running or was interrupted.';

/** Operation under `/api`. Unlike retrieval operations, it may set cookies, return a page or redirect. */
export interface AccountRoute extends RouteDescription {
  readonly kind: 'account';
  /**
   * Source of the request fields. `json`: the body; `form`: an HTML form body; `query`: the query string;
   * `bytes`: the raw body with its signature. Path parameters are merged into each of them.
   */
  readonly inputSource: 'json' | 'form' | 'query' | 'bytes';
  /** Header with the signature of the raw bytes. */
  readonly signatureHeader?: string;
  readonly request: TSchema;
  /** Limits of the body. */
  readonly bodyKind: BodyKind;
  readonly reply: TSchema;
  readonly successStatuses: readonly number[];
  readonly example: unknown;
  /** Whether the route accepts an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  /**
   * Whether requests from pages of other sites are rejected although no sign-in is required.
   */
  readonly sameSiteOnly?: true;
  readonly serve: (
    services: AccountServices,
    call: AccountCall,
    request: unknown,
  ) => Promise<AccountResponse<unknown>>;
}

interface AccountRouteOptions<Q extends TSchema, R extends TSchema> extends OperationDescription<Q, R> {
  readonly successStatus?: number;
}

/**
 * Erases the types of one operation. The request pipeline passes `serve` only requests that match the schema.
 */
export function accountRoute<Q extends TSchema, R extends TSchema>(
  options: AccountRouteOptions<Q, R> & { readonly access: 'none' | 'user' },
  transport: Pick<AccountRoute, 'method' | 'inputSource' | 'signatureHeader'>,
  serve: (
    services: AccountServices,
    call: AccountCall,
    request: Static<Q>,
  ) => Promise<AccountResponse<Static<R>>>,
): AccountRoute {
  const { successStatus = 200, errorResponses = {}, ...rest } = options;
  return {
    kind: 'account',
    isVersioned: false,
    tag: options.path.split('/').at(2) ?? 'accounts',
    bodyKind: transport.inputSource === 'bytes' ? 'webhook' : 'account',
    ...transport,
    ...rest,
    successStatuses: [successStatus],
    errorResponses,
    serve: (services, call, request) => serve(services, call, request as Static<Q>),
  };
}

type PublicRouteOptions<Q extends TSchema, R extends TSchema> = AccountRouteOptions<Q, R> & {
  readonly serve: (
    signIn: SignInOperations,
    client: ClientInfo,
    request: Static<Q>,
  ) => Promise<AccountResponse<Static<R>>>;
};

/** Builds a route that needs no session. */
export function publicRoute<Q extends TSchema, R extends TSchema>(
  { serve, ...options }: PublicRouteOptions<Q, R>,
  transport: Pick<AccountRoute, 'method' | 'inputSource'> = { method: 'POST', inputSource: 'json' },
): AccountRoute {
  const route = accountRoute({ ...options, access: 'none' }, transport, (services, call, request) =>
    serve(services.signIn, call.client, request),
  );
  // Otherwise another site could sign its visitors in to an account of its own and see their activity.
  return transport.inputSource === 'json' ? { ...route, sameSiteOnly: true } : route;
}

type UserRouteOptions<Q extends TSchema, R extends TSchema> = AccountRouteOptions<Q, R> & {
  readonly serve: (services: AccountServices, call: UserCall, request: Static<Q>) => Promise<Static<R>>;
};

/** Builds a route for signed-in users. */
export function userRoute<Q extends TSchema, R extends TSchema>({
  serve,
  ...options
}: UserRouteOptions<Q, R>): AccountRoute {
  const transport = { method: 'POST', inputSource: 'json' } as const;
  return accountRoute({ ...options, access: 'user' }, transport, async (services, call, request) => {
    const { principal, client, deadline } = call;
    assert(principal?.kind === 'user', 'the access of the route lets only users call this operation');
    const { operation, path } = options;
    const userCall = { principal, client, deadline, operation, name: apiOperationPath(path) };
    return { kind: 'json', body: await serve(services, userCall, request) };
  });
}

/** Throws if the caller may not receive the reply now, regardless of the permissions at the first send. */
type AuthorizeCall<Q> = (services: AccountServices, call: UserCall, request: Q) => void;

type MutationRouteOptions<Q extends TSchema, R extends TSchema> = UserRouteOptions<Q, R> & {
  /**
   * Checked before the change and before a stored reply is repeated. `caller`: the change concerns only the
   * caller or ends their access, and the reply confirms nothing else.
   */
  readonly authorize: AuthorizeCall<Static<Q>> | 'caller';
  /** Whether the operation takes access away; it then uses `revocationLimiter`. */
  readonly isRevocation?: true;
  /** See `IdempotentWork`. */
  readonly withheld?: (reply: Static<R>) => string | null;
};

/** Returns a check that the caller still has one of these roles in the organization of the request. */
export function requireRole(allowedRoles: readonly Role[]): AuthorizeCall<OrganizationScopedRequest> {
  return ({ authorizer }, call, request) => {
    authorizer.authorize(call, request, allowedRoles);
  };
}

/**
 * Builds a route that changes state. With an `Idempotency-Key` the change is made once, however often it is
 * sent.
 */
export function mutationRoute<Q extends TSchema, R extends TSchema>({
  serve,
  authorize,
  withheld,
  isRevocation,
  ...options
}: MutationRouteOptions<Q, R>): AccountRoute {
  const route = userRoute({
    ...options,
    errorResponses: {
      409: idempotencyConflict,
      429: 'Too many changes in a short time.',
      ...options.errorResponses,
    },
    serve: (services, call, request) => {
      const limiter = isRevocation === true ? services.revocationLimiter : services.changeLimiter;
      limiter.consume(call.principal.userId);
      if (authorize !== 'caller') authorize(services, call, request);
      return services.idempotency.runOnce(call, request, {
        work: () => serve(services, call, request),
        withheldReason: withheld,
      });
    },
  });
  return { ...route, isIdempotent: true };
}

export const queryTransport = { method: 'GET', inputSource: 'query' } as const;
export const notMemberMessage = 'The organization does not exist, or you are not a member.';
export const wrongRoleMessage =
  'Your role does not allow this operation. The detail lists the roles that do.';
