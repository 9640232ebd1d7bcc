import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import type { InvitationClaims } from './invitations.ts';

/** Sign-in that a browser started at an identity provider. */
export interface SignInFlow {
  /** Returned in the callback URL. */
  readonly state: string;
  /** Binds the identity token to this sign-in. */
  readonly nonce: string;
  /** Proves to the provider that the callback comes from the browser that started the sign-in (RFC 7636). */
  readonly verifier: string;
  readonly provider: string;
  /** Redirect target after the sign-in: a path of this server. */
  readonly redirect: string;
  /** Invitation to accept after the sign-in. */
  readonly invitation?: InvitationClaims;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const sealingContext = 'sign-in flows';

/**
 * Sign-ins in progress, stored in a cookie of the browser that started them, encrypted and authenticated: an
 * anonymous request writes nothing to disk. Tabs of one browser share the cookie, so it holds the newest
 * flows that fit.
 */
export class SignInFlows {
  readonly #sealer: Sealer;
  readonly #clock: Clock;
  /**
   * States of finished flows with the expiry of the flow, oldest first. Lost on restart, which is safe
   * because provider codes work once.
   */
  readonly #finishedStates = new Map<string, number>();

  constructor(options: { readonly sealer: Sealer; readonly clock: Clock }) {
    this.#sealer = options.sealer;
    this.#clock = options.clock;
  }

  /** Returns the new value of the cookie. */
  begin(flow: SignInFlow, cookie: string | undefined): string {
    const open = [flow, ...this.#read(cookie)];
    let sealed = sealToText(this.#sealer, open, sealingContext);
    while (sealed.length > limits.sealedCookieUnitsMax && open.length > 1) {
      open.pop();
      sealed = sealToText(this.#sealer, open, sealingContext);
    }
    return sealed;
  }

  /** Returns the open flow for this cookie; undefined if the browser started no such flow or it has ended. */
  find(cookie: string | undefined, { state, provider }: Pick<SignInFlow, 'state' | 'provider'>) {
    return this.#read(cookie).find((flow) => flow.state === state && flow.provider === provider);
  }

  /** Returns the cookie value without finished and expired flows; null if none remain. */
  remaining(cookie: string | undefined): string | null {
    const open = this.#read(cookie);
    return open.length === 0 ? null : sealToText(this.#sealer, open, sealingContext);
  }

  /** Marks a flow as finished. A callback is accepted once, regardless of its outcome. */
  finish({ state, expiresAt }: SignInFlow): void {
    const now = this.#clock.now();
    for (const [earlier, end] of this.#finishedStates) {
      if (end > now && this.#finishedStates.size < limits.rateLimitKeysMax) break;
      this.#finishedStates.delete(earlier);
    }
    this.#finishedStates.set(state, expiresAt);
  }

  #read(cookie: string | undefined): SignInFlow[] {
    if (cookie === undefined) return [];
    const flows = openSealedText<SignInFlow[]>(this.#sealer, cookie, sealingContext) ?? [];
    const now = this.#clock.now();
    return flows.filter(({ expiresAt, state }) => expiresAt > now && !this.#finishedStates.has(state));
  }
}
