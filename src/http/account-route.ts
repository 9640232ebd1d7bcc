import type { Idempotency } from '../accounts/idempotency.ts';
import type { MembershipGate, Named } from '../accounts/membership-gate.ts';
import type { OrganisationOperations } from '../accounts/organisation-operations.ts';
import type { ProviderOperations } from '../accounts/provider-operations.ts';
import type { SignInOperations } from '../accounts/sign-in-operations.ts';
import type { PersonCall, UserOperations } from '../accounts/user-operations.ts';
import type { Outcome, Visitor } from '../accounts/visitor.ts';
import type { RateWindow } from '../admission/rate-window.ts';
import { assert } from '../base/assert.ts';
import type { Billing } from '../billing/billing.ts';
import type { Marketplaces } from '../marketplaces/marketplaces.ts';
import type { Principal, Role } from '../schemas/principal.ts';
import type { Static, TSchema } from '../schemas/typebox.ts';
import { apiName, type RouteWords } from './route-words.ts';

/** The use cases of the account side. */
export interface AccountServices {
  readonly signIn: SignInOperations;
  readonly providers: ProviderOperations;
  readonly users: UserOperations;
  readonly organisations: OrganisationOperations;
  readonly idempotency: Idempotency;
  /** How many changes one person may ask for. */
  readonly pace: Pick<RateWindow, 'take'>;
  /** A budget of its own, so that access can be taken away after any number of other changes. */
  readonly revocations: Pick<RateWindow, 'take'>;
  readonly gate: MembershipGate;
  readonly billing: Billing;
  readonly marketplaces: Marketplaces;
  /** Where a browser goes that names no place. */
  readonly home: string;
}

export interface AccountCall {
  /** Null where the operation asks nobody. */
  readonly principal: Principal | null;
  readonly visitor: Visitor;
}

const notAgain =
  'The Idempotency-Key was sent with another request, or its first one is under way or was cut off.';

/** An operation under `/api`. It may set a cookie, show a page or lead elsewhere, which no operation of retrieval does. */
export interface AccountRoute extends RouteWords {
  readonly kind: 'account';
  /**
   * `json`: the body; `form`: the body of a form on a page; `query`: the query string; `bytes`: the body as it came, with
   * its signature. Parts of the path join all.
   */
  readonly from: 'json' | 'form' | 'query' | 'bytes';
  /** The header that signs the bytes. */
  readonly signedBy?: string;
  readonly request: TSchema;
  readonly reply: TSchema;
  readonly successes: readonly number[];
  readonly example: unknown;
  /** Takes an `Idempotency-Key`. */
  readonly mayRepeat?: true;
  /** What a page of another site makes a browser send is refused although nobody has to be signed in. */
  readonly ownPagesOnly?: true;
  readonly serve: (
    services: AccountServices,
    call: AccountCall,
    request: unknown,
  ) => Promise<Outcome<unknown>>;
}

interface Words<Q extends TSchema, R extends TSchema> {
  readonly operation: RouteWords['operation'];
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly request: Q;
  readonly reply: R;
  readonly example: Static<Q>;
  readonly success?: number;
  readonly refusals?: RouteWords['refusals'];
}

/** Erases the types of one operation; the corridor hands `serve` only what the schema has passed. */
export function accountRoute<Q extends TSchema, R extends TSchema>(
  words: Words<Q, R>,
  how: Pick<AccountRoute, 'method' | 'from' | 'signedBy'>,
  serve: (services: AccountServices, call: AccountCall, request: Static<Q>) => Promise<Outcome<Static<R>>>,
): AccountRoute {
  const { success = 200, refusals = {}, ...rest } = words;
  return {
    kind: 'account',
    versioned: false,
    tag: words.path.split('/').at(2) ?? 'accounts',
    ...how,
    ...rest,
    successes: [success],
    refusals,
    serve: (services, call, request) => serve(services, call, request as Static<Q>),
  };
}

type ForVisitors<Q extends TSchema, R extends TSchema> = Words<Q, R> & {
  readonly serve: (
    signIn: SignInOperations,
    visitor: Visitor,
    request: Static<Q>,
  ) => Promise<Outcome<Static<R>>>;
};

/** Whoever calls, signed in or not. */
export function visits<Q extends TSchema, R extends TSchema>(
  { serve, ...words }: ForVisitors<Q, R>,
  how: Pick<AccountRoute, 'method' | 'from'> = { method: 'POST', from: 'json' },
): AccountRoute {
  const route = accountRoute(words, how, (services, call, request) =>
    serve(services.signIn, call.visitor, request),
  );
  // Or another site could sign its visitors in as somebody else, who then sees what they do.
  return how.from === 'json' ? { ...route, ownPagesOnly: true } : route;
}

type ForPeople<Q extends TSchema, R extends TSchema> = Words<Q, R> & {
  readonly serve: (services: AccountServices, call: PersonCall, request: Static<Q>) => Promise<Static<R>>;
};

/** Whoever signed in. */
export function serves<Q extends TSchema, R extends TSchema>({
  serve,
  ...words
}: ForPeople<Q, R>): AccountRoute {
  return accountRoute(words, { method: 'POST', from: 'json' }, async (services, call, request) => {
    const { principal, visitor } = call;
    assert(principal?.kind === 'person', 'the permission table lets only people call this operation');
    const { operation, path } = words;
    const personCall = { principal, visitor, operation, name: apiName(path) };
    return { kind: 'json', body: await serve(services, personCall, request) };
  });
}

/** Refuses a person who may not have the reply of a change now, whatever they were allowed when they sent it first. */
type Authorize<Q> = (services: AccountServices, call: PersonCall, request: Q) => void;

type ForChanges<Q extends TSchema, R extends TSchema> = ForPeople<Q, R> & {
  /**
   * Checked before the change and before a stored reply is repeated. `caller`: the change concerns only the person, or
   * ends their access, and its reply tells no more than that it was made.
   */
  readonly authorize: Authorize<Static<Q>> | 'caller';
  /** The operation takes access away. */
  readonly revokes?: true;
  /** See `RepeatableWork`. */
  readonly withheld?: (reply: Static<R>) => string | null;
};

/** For an operation on an organization: the caller still has one of these roles in it. */
export function asRole(allowed: readonly Role[]): Authorize<Named> {
  return ({ gate }, call, request) => {
    gate.enter(call, request, allowed);
  };
}

/** What changes something: with an `Idempotency-Key` it is done once, however often it is sent. */
export function changes<Q extends TSchema, R extends TSchema>({
  serve,
  authorize,
  withheld,
  revokes,
  ...words
}: ForChanges<Q, R>): AccountRoute {
  const route = serves({
    ...words,
    refusals: { 409: notAgain, 429: 'Too many changes in a short time.', ...words.refusals },
    serve: (services, call, request) => {
      const budget = revokes === true ? services.revocations : services.pace;
      budget.take(call.principal.userId);
      if (authorize !== 'caller') authorize(services, call, request);
      return services.idempotency.once(call, request, {
        work: () => serve(services, call, request),
        withheld,
      });
    },
  });
  return { ...route, mayRepeat: true };
}
