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

/** Identifies a call of an organization. */
export interface StripeCall<P = undefined> {
  readonly organizationId: string;
  /** Name of the operation. Together with `parameters`, it determines the effect of the call. */
  readonly name: string;
  /**
   * Name of the state that the call changes, if several calls change the same state. Only the last call for a
   * purpose is kept: a later call makes an earlier unanswered one obsolete, whose key would only replay its
   * old outcome.
   */
  readonly purpose?: string;
  /** Stored with the call and resent unchanged, even if the data that they were derived from has changed. */
  readonly parameters?: P;
  /**
   * Milliseconds for which an unanswered call keeps its key. By then the call has ended, and a read shows its
   * outcome.
   */
  readonly keyTtlMs?: number;
}

/**
 * Runs calls that change state in Stripe. Each call is stored with its idempotency key before it is made, and
 * deleted when its outcome is known. A call whose reply was lost, because Stripe did not answer or this
 * process crashed, is therefore repeated with the same key and takes effect once. A rejected call gets a new
 * key when it is repeated.
 */
export class IdempotentStripeCalls {
  readonly #options: IdempotentStripeCallsOptions;

  constructor(options: IdempotentStripeCallsOptions) {
    this.#options = options;
  }

  /**
   * Errors: `StripeRejectedError` if Stripe rejects the call; `UnknownOutcomeError` if the outcome is
   * unknown.
   */
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

  /** Deletes the record of a call whose outcome is known. The next call of the same name gets a new key. */
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
