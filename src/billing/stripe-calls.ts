import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { BillingRecords, PendingStripeCall } from '../storage/billing.ts';
import type { Store } from '../storage/store.ts';
import { toStripeError, UnknownOutcomeError } from './stripe.ts';

export interface IdempotentStripeCallsOptions {
  readonly store: Store;
  readonly records: BillingRecords;
  readonly clock: Clock;
  readonly random: Random;
}

/** Which call of which organisation. */
export interface StripeCall<P = undefined> {
  readonly organizationId: string;
  /** What it does; with `parameters` it says everything that it depends on. */
  readonly name: string;
  /**
   * What it changes, where other calls change the same: of one thing the last call counts. What comes after it makes an
   * earlier one without an answer a thing of the past, whose key would only bring back how it ended then.
   */
  readonly purpose?: string;
  /** Noted with the call and sent again as they were, although what they were made from may have changed. */
  readonly parameters?: P;
  /** How long a call without an answer keeps its key: by then it has surely ended, and reading shows how. */
  readonly keyTtlMs?: number;
}

/**
 * Calls that change something at Stripe. Each is noted with its idempotency key before it is made, and the note goes
 * when its outcome is known. So a call that nobody saw the answer of, because Stripe was silent or this process died, is
 * repeated with the same key and done once; and one that was refused gets a new key when it is tried again.
 */
export class IdempotentStripeCalls {
  readonly #options: IdempotentStripeCallsOptions;

  constructor(options: IdempotentStripeCallsOptions) {
    this.#options = options;
  }

  /** Errors: `StripeRefusal` for a no; `StripeSilence` when the outcome is unknown. */
  async run<T, P = undefined>(
    name: StripeCall<P>,
    call: (options: { readonly idempotencyKey: string }, parameters: P) => Promise<T>,
  ): Promise<T> {
    const { nonce, parameters } = await this.#findOrCreateRecord(name);
    let reply: T;
    try {
      reply = await call({ idempotencyKey: `${nonce}:${name.name}`.slice(0, 255) }, parameters as P);
    } catch (error) {
      const stripeError = toStripeError(error);
      const isOutcomeUnknown = stripeError instanceof UnknownOutcomeError && !stripeError.hasReplied;
      if (!isOutcomeUnknown) await this.forget(name);
      throw stripeError;
    }
    await this.forget(name);
    return reply;
  }

  /** The outcome of a call is known: the next one of this name is another one. */
  async forget({ organizationId, name, purpose = name }: StripeCall<unknown>): Promise<void> {
    const { store, records } = this.#options;
    await store.write([records.deleteCall(organizationId, purpose)], { mayUseReserve: true });
  }

  async #findOrCreateRecord({
    organizationId,
    name,
    purpose = name,
    parameters,
    keyTtlMs = limits.billingCallMsMax,
  }: StripeCall<unknown>): Promise<PendingStripeCall> {
    const { store, records, clock, random } = this.#options;
    const now = clock.now();
    const stored = records.findCall(organizationId, purpose);
    if (stored?.name === name && now - stored.startedAt < keyTtlMs) return stored;
    const record: PendingStripeCall = { nonce: random.uuid(), startedAt: now, name, parameters };
    await store.write([records.putCall(organizationId, purpose, record)], { mayUseReserve: true });
    return record;
  }
}
