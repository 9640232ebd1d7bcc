import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { BillingCall, BillingRecords } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import { StripeSilence, troubleOf } from './stripe.ts';

export interface CallsOptions {
  readonly store: Store;
  readonly records: BillingRecords;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** Which call of which organisation. */
export interface CallName<P = undefined> {
  readonly organizationId: string;
  /** What it does; with `parameters` it says everything that it depends on. */
  readonly name: string;
  /**
   * What it changes, where other calls change the same: of one thing the last call counts. What comes after it makes an
   * earlier one without an answer a thing of the past, whose key would only bring back how it ended then.
   */
  readonly about?: string;
  /** Noted with the call and sent again as they were, although what they were made from may have changed. */
  readonly parameters?: P;
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
  async run<T, P = undefined>(
    name: CallName<P>,
    call: (options: { readonly idempotencyKey: string }, parameters: P) => Promise<T>,
  ): Promise<T> {
    const { nonce, parameters } = await this.#noteOf(name);
    let answer: T;
    try {
      answer = await call({ idempotencyKey: `${nonce}:${name.name}`.slice(0, 255) }, parameters as P);
    } catch (error) {
      const trouble = troubleOf(error);
      const isOpen = trouble instanceof StripeSilence && !trouble.answered;
      if (!isOpen) await this.forget(name);
      throw trouble;
    }
    await this.forget(name);
    return answer;
  }

  /** The outcome of a call is known: the next one of this name is another one. */
  async forget({ organizationId, name, about = name }: CallName<unknown>): Promise<void> {
    const { store, records } = this.#options;
    await store.write([records.deleteCall(organizationId, about)], { mayUseReserve: true });
  }

  async #noteOf({
    organizationId,
    name,
    about = name,
    parameters,
    keepMs = limits.billingCallMsMax,
  }: CallName<unknown>): Promise<BillingCall> {
    const { store, records, clock, chance } = this.#options;
    const now = clock.now();
    const known = records.call(organizationId, about);
    if (known?.name === name && now - known.startedAt < keepMs) return known;
    const note: BillingCall = { nonce: chance.uuid(), startedAt: now, name, parameters };
    await store.write([records.putCall(organizationId, about, note)], { mayUseReserve: true });
    return note;
  }
}
