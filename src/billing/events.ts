import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { BillingRecords } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import { asking } from './stripe.ts';
import type { BillingSync } from './sync.ts';

export interface BillingEventsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly sync: BillingSync;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  /** Null: no event is taken. */
  readonly webhookSecret: string | null;
}

const readTo = 'events';
const firstLookSeconds = 3 * 86_400;
/** Events of one second come in any order. */
const overlapSeconds = 60;

/**
 * Events of Stripe say that something happened to a customer, never what is true: whose it is is noted, and that
 * organisation is read anew. So their order, repetition and loss change nothing, and a restart forgets none.
 */
export class BillingEvents {
  readonly #options: BillingEventsOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #waiting = new Set<string>();
  /** Those that could not be read, when they are tried again, and how long they wait after that. */
  readonly #later = new Map<string, { readonly at: number; readonly waitMs: number }>();
  #closed = false;

  constructor(options: BillingEventsOptions) {
    this.#options = options;
  }

  /** Errors: 400 for a wrong signature, one that is too old, and what is no event. */
  async take(body: Uint8Array, signature: string | undefined): Promise<void> {
    await this.#note(this.#verified(body, signature));
  }

  /**
   * Reads those that are due and were not read, because Stripe did not answer; each less and less often, so that some of
   * whom Stripe never answers do not keep the others waiting.
   */
  async goOn(): Promise<void> {
    const { records, clock } = this.#options;
    const now = clock.monotonic();
    const waiting = new Set<string>();
    let begun = 0;
    for await (const organizationId of records.allDue()) {
      if (begun === limits.billingDueBatchMax) return;
      waiting.add(organizationId);
      if ((this.#later.get(organizationId)?.at ?? now) > now) continue;
      this.#readSoon(organizationId);
      begun += 1;
    }
    for (const organizationId of this.#later.keys())
      if (!waiting.has(organizationId)) this.#later.delete(organizationId);
  }

  /** Looks for events that never arrived. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { stripe, store, records, clock } = this.#options;
    const since = records.mark(readTo) ?? Math.floor(clock.now() / 1_000) - firstLookSeconds;
    let newest = since;
    let looked = 0;
    await asking(async () => {
      for await (const event of stripe.events.list({ created: { gte: since }, limit: 100 })) {
        if (signal.aborted) return;
        newest = Math.max(newest, event.created);
        looked += 1;
        if (looked > limits.billingEventsPerCatchUpMax) break;
        await this.#note(event);
      }
    });
    if (signal.aborted) return;
    if (looked > limits.billingEventsPerCatchUpMax) await this.#noteEverybody();
    await store.write([records.putMark(readTo, Math.max(since, newest - overlapSeconds))]);
  }

  /** Forgets events that are too old to come again, and calls whose answer does not matter any more. */
  async sweep(): Promise<void> {
    const { store, records, clock } = this.#options;
    const now = clock.now();
    const most = limits.billingDueBatchMax;
    const old = [
      ...(await records.oldEvents(now - limits.billingEventMsMax, most)),
      ...(await records.oldCalls(now - limits.billingCustomerCallMsMax, most)),
    ];
    await store.write(old, { mayUseReserve: true });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  #verified(body: Uint8Array, signature: string | undefined): Stripe.Event {
    const { stripe, webhookSecret, clock } = this.#options;
    if (webhookSecret === null)
      throw new AppError(
        'unavailable',
        'This server takes no events: QUARRY_STRIPE_WEBHOOK_SECRET is not set.',
      );
    try {
      return stripe.webhooks.constructEvent(
        Buffer.from(body),
        signature ?? '',
        webhookSecret,
        limits.webhookAgeSecondsMax,
        undefined,
        clock.now(),
      );
    } catch (cause) {
      throw new AppError('bad_request', 'The signature of this event is wrong or too old.', { cause });
    }
  }

  async #note(event: Stripe.Event): Promise<void> {
    const { store, records, clock, logger } = this.#options;
    if (typeof event.id !== 'string' || records.hasEvent(event.id)) return;
    const organizationId = this.#organisationOf(event);
    const arrived = records.putEvent(event.id, clock.now());
    if (organizationId === undefined) {
      logger.debug({ event: event.id, type: event.type }, 'an event of Stripe concerns nobody here');
      await store.write([arrived]);
      return;
    }
    await store.write([arrived, records.putDue(organizationId, event.id)], { mayUseReserve: true });
    this.#readSoon(organizationId);
  }

  #organisationOf({ data }: Stripe.Event): string | undefined {
    const { records } = this.#options;
    const about = data?.object as {
      readonly id?: unknown;
      readonly object?: unknown;
      readonly customer?: unknown;
    } | null;
    if (typeof about !== 'object' || about === null) return undefined;
    // What was taken from a customer says only in this place whose it was.
    const before = (data?.previous_attributes as { readonly customer?: unknown } | undefined)?.customer;
    const customer = about.object === 'customer' ? about.id : (about.customer ?? before);
    if (typeof customer === 'string') return records.organisationOf(customer);
    const id = (customer as { readonly id?: unknown } | null | undefined)?.id;
    return typeof id === 'string' ? records.organisationOf(id) : undefined;
  }

  async #noteEverybody(): Promise<void> {
    const { store, records, chance } = this.#options;
    for await (const { organizationId, account } of records.accounts()) {
      if (account.customerId === null) continue;
      await store.write([records.putDue(organizationId, chance.uuid())]);
      this.#readSoon(organizationId);
    }
  }

  /** In the background, a few organisations at a time; what fails stays due. */
  #readSoon(organizationId: string): void {
    if (this.#closed) return;
    this.#waiting.add(organizationId);
    if (this.#running.size >= limits.billingReadsRunningMax) return;
    const run = this.#readWaiting().finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async #readWaiting(): Promise<void> {
    const { sync, clock, logger } = this.#options;
    for (;;) {
      const { value: organizationId } = this.#waiting.values().next();
      if (organizationId === undefined) return;
      this.#waiting.delete(organizationId);
      try {
        await sync.read(organizationId);
        this.#later.delete(organizationId);
      } catch (error) {
        const waitMs = this.#later.get(organizationId)?.waitMs ?? limits.billingRetryMs;
        const next = Math.min(2 * waitMs, limits.billingRetryMsMax);
        this.#later.set(organizationId, { at: clock.monotonic() + waitMs, waitMs: next });
        logger.warn(
          { organizationId, waitMs, error: String(error) },
          'Stripe could not be read; will try again',
        );
      }
    }
  }
}
