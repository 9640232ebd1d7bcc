import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { BillingRecords } from '../storage/billing.ts';
import type { Store } from '../storage/store.ts';
import type { BillingSync } from './billing-sync.ts';
import { mapStripeErrors } from './stripe.ts';

export interface BillingEventsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly sync: BillingSync;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Null: all webhook events are rejected. */
  readonly webhookSecret: string | null;
}

const eventsCheckpoint = 'events';
const initialLookbackSeconds = 3 * 86_400;
/**
 * Events within the same second arrive in any order, so consecutive catch-ups overlap by this many seconds.
 */
const overlapSeconds = 60;

/**
 * Handles Stripe events. An event only reports that something happened to a customer, never the resulting
 * state: the organization is marked as due and read again from Stripe. Order, repetition and loss of events
 * therefore change nothing, and a restart forgets no pending read.
 */
export class BillingEvents {
  readonly #options: BillingEventsOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #queued = new Set<string>();
  /** Timers that start the read of an organization after its events. */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Failed reads by organization: monotonic time of the next attempt, and the delay after that attempt. */
  readonly #retries = new Map<string, { readonly at: number; readonly waitMs: number }>();
  #closed = false;

  constructor(options: BillingEventsOptions) {
    this.#options = options;
  }

  /** Errors: 400 if the signature is wrong or too old, or if the body is not an event. */
  async handle(body: Uint8Array, signature: string | undefined): Promise<void> {
    await this.#record(this.#verify(body, signature));
  }

  /**
   * Starts the due reads that failed because Stripe did not answer. The delay grows with each failure, so
   * that organizations that Stripe never answers for do not delay the others.
   */
  async readPending(): Promise<void> {
    const { records, clock } = this.#options;
    const now = clock.monotonic();
    const pending = new Set<string>();
    let started = 0;
    for await (const organizationId of records.listPendingSyncs()) {
      if (started === limits.billingDueBatchMax) return;
      pending.add(organizationId);
      if ((this.#retries.get(organizationId)?.at ?? now) > now) continue;
      this.#queueRead(organizationId);
      started += 1;
    }
    for (const organizationId of this.#retries.keys())
      if (!pending.has(organizationId)) this.#retries.delete(organizationId);
  }

  /** Fetches events that never arrived as webhooks. Stops early when `signal` aborts. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { stripe, store, records, clock } = this.#options;
    const since =
      records.getCheckpoint(eventsCheckpoint) ?? Math.floor(clock.now() / 1_000) - initialLookbackSeconds;
    let newest = since;
    let scanned = 0;
    await mapStripeErrors(async () => {
      for await (const event of stripe.events.list({ created: { gte: since }, limit: 100 })) {
        if (signal.aborted) return;
        newest = Math.max(newest, event.created);
        scanned += 1;
        if (scanned > limits.billingEventsPerCatchUpMax) break;
        await this.#record(event);
      }
    });
    if (signal.aborted) return;
    if (scanned > limits.billingEventsPerCatchUpMax) await this.#markAllPending();
    await store.write([records.putCheckpoint(eventsCheckpoint, Math.max(since, newest - overlapSeconds))]);
  }

  /** Deletes records of events too old to be delivered again and of calls whose reply no longer matters. */
  async sweep(): Promise<void> {
    const { store, records, clock } = this.#options;
    const now = clock.now();
    const limit = limits.billingDueBatchMax;
    const old = [
      ...(await records.deleteEventsBefore(now - limits.billingEventMsMax, limit)),
      ...(await records.deleteCallsBefore(now - limits.billingCustomerCallMsMax, limit)),
    ];
    await store.write(old, { mayUseReserve: true });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#queued.clear();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#running);
  }

  #verify(body: Uint8Array, signature: string | undefined): Stripe.Event {
    const { stripe, webhookSecret, clock } = this.#options;
    if (webhookSecret === null)
      throw new AppError(
        'unavailable',
        'Stripe webhooks are not configured: QUARRY_STRIPE_WEBHOOK_SECRET is not set.',
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
      throw new AppError('bad_request', 'The signature of this event is invalid or too old.', { cause });
    }
  }

  async #record(event: Stripe.Event): Promise<void> {
    const { store, records, clock, logger } = this.#options;
    if (typeof event.id !== 'string' || records.hasEvent(event.id)) return;
    const organizationId = this.#organizationOf(event);
    const eventOperation = records.putEvent(event.id, clock.now());
    if (organizationId === undefined) {
      logger.debug({ event: event.id, type: event.type }, 'Stripe event for an unknown customer ignored');
      await store.write([eventOperation]);
      return;
    }
    await store.write([eventOperation, records.putPendingSync(organizationId, event.id)], {
      mayUseReserve: true,
    });
    this.#queueReadSoon(organizationId);
  }

  #organizationOf({ data }: Stripe.Event): string | undefined {
    const { records } = this.#options;
    const eventObject = data?.object as {
      readonly id?: unknown;
      readonly object?: unknown;
      readonly customer?: unknown;
    } | null;
    if (typeof eventObject !== 'object' || eventObject === null) return undefined;
    // A detached object names its former customer only in `previous_attributes`.
    const before = (data?.previous_attributes as { readonly customer?: unknown } | undefined)?.customer;
    const customer = eventObject.object === 'customer' ? eventObject.id : (eventObject.customer ?? before);
    if (typeof customer === 'string') return records.findOrganizationId(customer);
    const id = (customer as { readonly id?: unknown } | null | undefined)?.id;
    return typeof id === 'string' ? records.findOrganizationId(id) : undefined;
  }

  async #markAllPending(): Promise<void> {
    const { store, records, random } = this.#options;
    for await (const { organizationId, account } of records.listAccounts()) {
      if (account.customerId === null) continue;
      await store.write([records.putPendingSync(organizationId, random.uuid())]);
      this.#queueRead(organizationId);
    }
  }

  /**
   * Queues one read for all events of the next `billingReadMs`: one change of a plan causes about ten events
   * within a second. Requests do not wait for it, because they read an organization that is due themselves.
   */
  #queueReadSoon(organizationId: string): void {
    if (this.#closed || this.#timers.has(organizationId)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(organizationId);
      this.#queueRead(organizationId);
    }, limits.billingReadMs);
    this.#timers.set(organizationId, timer);
  }

  /** Reads in the background, `billingReadsRunningMax` organizations at a time. A failed read stays due. */
  #queueRead(organizationId: string): void {
    if (this.#closed) return;
    this.#queued.add(organizationId);
    if (this.#running.size >= limits.billingReadsRunningMax) return;
    const run = this.#drainQueue().finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async #drainQueue(): Promise<void> {
    const { sync, records, clock, logger } = this.#options;
    for (;;) {
      const { value: organizationId } = this.#queued.values().next();
      if (organizationId === undefined) return;
      this.#queued.delete(organizationId);
      // A request may have read it in the meantime.
      if (records.getPendingSync(organizationId) === undefined) continue;
      try {
        await sync.read(organizationId);
        this.#retries.delete(organizationId);
      } catch (error) {
        const waitMs = this.#retries.get(organizationId)?.waitMs ?? limits.billingRetryMs;
        const next = Math.min(2 * waitMs, limits.billingRetryMsMax);
        this.#retries.set(organizationId, { at: clock.monotonic() + waitMs, waitMs: next });
        logger.warn({ organizationId, waitMs, error: String(error) }, 'reading Stripe failed, will retry');
      }
    }
  }
}
