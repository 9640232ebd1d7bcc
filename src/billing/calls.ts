import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { BillingRecords } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import { StripeSilence, troubleOf } from './stripe.ts';

export interface CallsOptions {
  readonly store: Store;
  readonly records: BillingRecords;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** Which call of which organisation; the name says everything that decides its parameters. */
export interface CallName {
  readonly organizationId: string;
  readonly name: string;
  /** How long a call without an answer keeps its key: by then it has surely ended, and reading shows how. */
  readonly keepMs?: number;
}

/**
 * Calls that change something at Stripe. Each is noted with its idempotency key before it is made, and the note goes
 * when its outcome is known. So a call that nobody saw the answer of, because Stripe was silent or this process died, is
 * repeated with the same key and done once; and one that was refused gets a new key when it is tried again.
 */
export class StripeCalls {
  readonly #options: CallsOptions;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** Errors: `StripeRefusal` for a no; `StripeSilence` when the outcome is unknown. */
  async run<T>(
    { organizationId, name, keepMs = limits.billingCallMsMax }: CallName,
    call: (options: { readonly idempotencyKey: string }) => Promise<T>,
  ): Promise<T> {
    const nonce = await this.#nonceOf(organizationId, name, keepMs);
    let answer: T;
    try {
      answer = await call({ idempotencyKey: `${nonce}:${name}`.slice(0, 255) });
    } catch (error) {
      const trouble = troubleOf(error);
      const isOpen = trouble instanceof StripeSilence && !trouble.answered;
      if (!isOpen) await this.forget({ organizationId, name });
      throw trouble;
    }
    await this.forget({ organizationId, name });
    return answer;
  }

  /** The outcome of a call is known: the next one of this name is another one. */
  async forget({ organizationId, name }: CallName): Promise<void> {
    const { store, records } = this.#options;
    await store.write([records.deleteCall(organizationId, name)], { mayUseReserve: true });
  }

  async #nonceOf(organizationId: string, name: string, keepMs: number): Promise<string> {
    const { store, records, clock, chance } = this.#options;
    const now = clock.now();
    const known = records.call(organizationId, name);
    if (known !== undefined && now - known.startedAt < keepMs) return known.nonce;
    const nonce = chance.uuid();
    await store.write([records.putCall(organizationId, name, { nonce, startedAt: now })], {
      mayUseReserve: true,
    });
    return nonce;
  }
}
