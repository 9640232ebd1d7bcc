import type { AccountResponse, ClientInfo } from '../accounts/client-info.ts';
import type { Idempotency } from '../accounts/idempotency.ts';
import type { MembershipAuthorizer, OrganizationScopedRequest } from '../accounts/membership-authorizer.ts';
import type { OrganizationOperations } from '../accounts/organization-operations.ts';
import type { ProviderOperations } from '../accounts/provider-operations.ts';
import type { SignInOperations } from '../accounts/sign-in-operations.ts';
import type { UserCall, UserOperations } from '../accounts/user-operations.ts';
import type { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Billing } from '../billing/billing.ts';
import { assert } from '../core/assert.ts';
import type { Marketplaces } from '../marketplaces/marketplaces.ts';
import type { Principal, Role } from '../schemas/principal.ts';
import type { Static, TSchema } from '../schemas/typebox.ts';
import { apiOperationPath, type RouteDescription } from './route-description.ts';

/** The use cases of the account side. */
export interface AccountServices {
  readonly signIn: SignInOperations;
  readonly providers: ProviderOperations;
  readonly users: UserOperations;
  readonly organizations: OrganizationOperations;
  readonly idempotency: Idempotency;
  /** How many changes one person may ask for. */
  readonly changeLimiter: Pick<SlidingWindowLimiter, 'consume'>;
  /** A budget of its own, so that access can be taken away after any number of other changes. */
  readonly revocationLimiter: Pick<SlidingWindowLimiter, 'consume'>;
  readonly authorizer: MembershipAuthorizer;
  readonly billing: Billing;
  readonly marketplaces: Marketplaces;
  /** Where a browser goes that names no place. */
  readonly home: string;
}

export interface AccountCall {
  /** Null where the operation asks nobody. */
  readonly principal: Principal | null;
  readonly client: ClientInfo;
}

const idempotencyConflict =
  'The Idempotency-Key was sent with another request, or its first one is under way or was cut off.';

/** An operation under `/api`. It may set a cookie, show a page or lead elsewhere, which no operation of retrieval does. */
export interface AccountRoute extends RouteDescription {
  readonly kind: 'account';
  /**
   * `json`: the body; `form`: the body of a form on a page; `query`: the query string; `bytes`: the body as it came, with
   * its signature. Parts of the path join all.
   */
  readonly inputSource: 'json' | 'form' | 'query' | 'bytes';
  /** The header that signs the bytes. */
  readonly signatureHeader?: string;
  readonly request: TSchema;
  readonly reply: TSchema;
  readonly successStatuses: readonly number[];
  readonly example: unknown;
  /** Takes an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  /** What a page of another site makes a browser send is refused although nobody has to be signed in. */
  readonly sameSiteOnly?: true;
  readonly serve: (
    services: AccountServices,
    call: AccountCall,
    request: unknown,
  ) => Promise<AccountResponse<unknown>>;
}

interface AccountRouteOptions<Q extends TSchema, R extends TSchema> {
  readonly operation: RouteDescription['operation'];
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly request: Q;
  readonly reply: R;
  readonly example: Static<Q>;
  readonly successStatus?: number;
  readonly errorResponses?: RouteDescription['errorResponses'];
}

/** Erases the types of one operation; the corridor hands `serve` only what the schema has passed. */
export function accountRoute<Q extends TSchema, R extends TSchema>(
  options: AccountRouteOptions<Q, R>,
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

/** Whoever calls, signed in or not. */
export function publicRoute<Q extends TSchema, R extends TSchema>(
  { serve, ...options }: PublicRouteOptions<Q, R>,
  transport: Pick<AccountRoute, 'method' | 'inputSource'> = { method: 'POST', inputSource: 'json' },
): AccountRoute {
  const route = accountRoute(options, transport, (services, call, request) =>
    serve(services.signIn, call.client, request),
  );
  // Or another site could sign its visitors in as somebody else, who then sees what they do.
  return transport.inputSource === 'json' ? { ...route, sameSiteOnly: true } : route;
}

type UserRouteOptions<Q extends TSchema, R extends TSchema> = AccountRouteOptions<Q, R> & {
  readonly serve: (services: AccountServices, call: UserCall, request: Static<Q>) => Promise<Static<R>>;
};

/** Whoever signed in. */
export function userRoute<Q extends TSchema, R extends TSchema>({
  serve,
  ...options
}: UserRouteOptions<Q, R>): AccountRoute {
  return accountRoute(options, { method: 'POST', inputSource: 'json' }, async (services, call, request) => {
    const { principal, client } = call;
    assert(principal?.kind === 'person', 'the permission table lets only people call this operation');
    const { operation, path } = options;
    const userCall = { principal, client, operation, name: apiOperationPath(path) };
    return { kind: 'json', body: await serve(services, userCall, request) };
  });
}

/** Refuses a person who may not have the reply of a change now, whatever they were allowed when they sent it first. */
type AuthorizeCall<Q> = (services: AccountServices, call: UserCall, request: Q) => void;

type MutationRouteOptions<Q extends TSchema, R extends TSchema> = UserRouteOptions<Q, R> & {
  /**
   * Checked before the change and before a stored reply is repeated. `caller`: the change concerns only the person, or
   * ends their access, and its reply tells no more than that it was made.
   */
  readonly authorize: AuthorizeCall<Static<Q>> | 'caller';
  /** The operation takes access away. */
  readonly isRevocation?: true;
  /** See `RepeatableWork`. */
  readonly withheld?: (reply: Static<R>) => string | null;
};

/** For an operation on an organization: the caller still has one of these roles in it. */
export function requireRole(allowedRoles: readonly Role[]): AuthorizeCall<OrganizationScopedRequest> {
  return ({ authorizer }, call, request) => {
    authorizer.authorize(call, request, allowedRoles);
  };
}

/** What changes something: with an `Idempotency-Key` it is done once, however often it is sent. */
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
