import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import type { InvitationClaims } from './invitations.ts';

/** A sign-in that a browser began at an identity provider. */
export interface SignInFlow {
  /** Comes back in the address. */
  readonly state: string;
  /** Ties the identity token to this sign-in. */
  readonly nonce: string;
  /** Proves to the provider that the browser that returns is the one that began (RFC 7636). */
  readonly verifier: string;
  readonly provider: string;
  /** Where the browser goes then: a path of this server. */
  readonly redirect: string;
  /** What to accept then. */
  readonly invitation?: InvitationClaims;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const sealingContext = 'sign-in flows';

/**
 * The sign-ins under way, in a cookie of the browser that began them, encrypted and authenticated: an anonymous request
 * writes nothing to the disk. Tabs of one browser share the cookie, so it holds the newest flows that fit.
 */
export class SignInFlows {
  readonly #sealer: Sealer;
  readonly #clock: Clock;
  /** States that came back, with the end of their flow; oldest first. A restart forgets them: codes work once. */
  readonly #finishedStates = new Map<string, number>();

  constructor(options: { readonly sealer: Sealer; readonly clock: Clock }) {
    this.#sealer = options.sealer;
    this.#clock = options.clock;
  }

  /** The new value of the cookie. */
  begin(flow: SignInFlow, cookie: string | undefined): string {
    const open = [flow, ...this.#read(cookie)];
    let sealed = sealToText(this.#sealer, open, sealingContext);
    while (sealed.length > limits.sealedCookieUnitsMax && open.length > 1) {
      open.pop();
      sealed = sealToText(this.#sealer, open, sealingContext);
    }
    return sealed;
  }

  /** The open flow of a browser with this cookie; undefined when it began none such, or it is over. */
  find(cookie: string | undefined, { state, provider }: Pick<SignInFlow, 'state' | 'provider'>) {
    return this.#read(cookie).find((flow) => flow.state === state && flow.provider === provider);
  }

  /** The value of the cookie without the flows that came back or expired; null when none is left. */
  remaining(cookie: string | undefined): string | null {
    const open = this.#read(cookie);
    return open.length === 0 ? null : sealToText(this.#sealer, open, sealingContext);
  }

  /** A flow can come back once, whatever becomes of it. */
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
