import { hash, tables, text } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** A person's account at an identity provider, which names them by `subject` for ever; an address can change hands. */
export interface IdentityPlace {
  readonly issuer: string;
  readonly subject: string;
}

/** A sign-in that somebody began at an identity provider and has not come back from. */
export interface SignInFlow {
  /** SHA-256 of the state, lower-case hex, which comes back in the address. */
  readonly hash: string;
  /** SHA-256 of what the browser that began it holds. */
  readonly browserHash: string;
  readonly provider: string;
  /** Proves to the provider that the one who comes back is the one who began (RFC 7636). */
  readonly verifier: string;
  /** Ties the identity token to this sign-in. */
  readonly nonce: string;
  /** Where the browser goes then: a path of this server. */
  readonly redirect: string;
  /** What to accept then; its code is not stored. */
  readonly invitation?: {
    readonly invitationId: string;
    readonly organizationId: string;
    readonly email: string;
  };
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const identities = new Table<readonly [issuer: string, subject: string], string>(tables.identities, [
  text,
  text,
]);
const flows = new Table<readonly [hash: string], SignInFlow>(tables.signInFlows, [hash]);

/** Who is who at identity providers, and who is on the way to one. */
export class Identities {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  userOf({ issuer, subject }: IdentityPlace): string | undefined {
    return identities.get(this.#store, [issuer, subject]);
  }

  /** Refused with `ExpectationFailed` when the identity is another user's by then. */
  link({ issuer, subject }: IdentityPlace, userId: string): Operation[] {
    return [
      identities.expect(
        [issuer, subject],
        (known) => known === undefined || known === userId,
        'the identity is nobody else’s',
      ),
      identities.put([issuer, subject], userId),
    ];
  }

  flow(stateHash: string): SignInFlow | undefined {
    return flows.get(this.#store, [stateHash]);
  }

  begin(flow: SignInFlow): Operation[] {
    return [flows.put([flow.hash], flow)];
  }

  /** Refused with `ExpectationFailed` when somebody came back with it already. */
  end(flow: SignInFlow): Operation[] {
    return [
      flows.expect([flow.hash], (known) => known !== undefined, 'the sign-in is under way'),
      flows.delete([flow.hash]),
    ];
  }

  /** Those whose time is up, at most `limit` of them. */
  async expired(now: number, limit: number): Promise<Operation[]> {
    const found: Operation[] = [];
    for await (const { value } of flows.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push(flows.delete([value.hash]));
      if (found.length === limit) break;
    }
    return found;
  }
}
