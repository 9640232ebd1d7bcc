import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { BillingAccount, BillingRecords, ReportedUsage } from '../store/billing.ts';
import type { Operation, Store } from '../store/store.ts';
import type { StripeCalls } from './calls.ts';
import { type Metric, metrics, type Plans } from './plans.ts';
import { StripeRefusal } from './stripe.ts';
import { isServing } from './sync.ts';

/** Tokens that an organisation used in a minute (since the epoch). */
export interface UsedMinute {
  readonly minute: number;
  readonly tokens: number;
}

/** The minutes `from` (inclusive) to `to` (exclusive) in which something was used, oldest first. */
export type UsedMinutes = (question: {
  readonly organizationId: string;
  readonly metric: Metric;
  readonly from: number;
  readonly to: number;
}) => Promise<readonly UsedMinute[]>;

export interface UsageReportsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: StripeCalls;
  readonly plans: Plans;
  readonly usedMinutes: UsedMinutes;
  readonly clock: Clock;
  readonly logger: Logger;
}

const minuteMs = 60_000;
const dayMinutes = 1_440;

/**
 * Tells Stripe what was used, minute by minute, of organisations with a subscription. Each event has a name of its own,
 * which Stripe takes once; how far it is is written behind each minute. So a crash repeats at most events that count once.
 */
export class UsageReports {
  readonly #options: UsageReportsOptions;

  constructor(options: UsageReportsOptions) {
    this.#options = options;
  }

  async report(signal: AbortSignal): Promise<void> {
    const { store, records, clock, logger } = this.#options;
    const now = clock.now();
    const to = Math.floor((now - limits.usageSettledMs) / minuteMs);
    const passed: Operation[] = [];
    for await (const { organizationId, account } of records.accounts()) {
      if (signal.aborted) return;
      try {
        passed.push(...(await this.#reportOne(organizationId, account, to)));
      } catch (error) {
        logger.warn(
          { organizationId, error: String(error) },
          'usage was not reported to Stripe; will try again',
        );
      }
    }
    await store.write(passed);
  }

  /** What is written when everything up to `to` is reported. */
  async #reportOne(organizationId: string, account: BillingAccount, to: number): Promise<Operation[]> {
    const { records, clock } = this.#options;
    const subscription = account.copy?.subscription ?? null;
    let known = records.reportedUsage(organizationId);
    if (known !== undefined && known.minute >= to) return [];
    const serves = account.customerId !== null && subscription !== null && isServing(subscription);
    if (!serves && known === undefined) return [];
    if (account.customerId !== null && subscription !== null && serves) {
      const begun = Math.floor(subscription.startedAt / minuteMs);
      const oldest = Math.floor((clock.now() - limits.usageReportMsMax) / minuteMs);
      const from = Math.max(known?.minute ?? begun, begun, oldest);
      for (let day = from; day < to; day += dayMinutes) {
        const span = { from: day, to: Math.min(to, day + dayMinutes) };
        known = await this.#reportSpan({ organizationId, customer: account.customerId, known }, span);
      }
    }
    return [records.putReportedUsage(organizationId, inMonth(known, to, to))];
  }

  async #reportSpan(
    whose: {
      readonly organizationId: string;
      readonly customer: string;
      readonly known: ReportedUsage | undefined;
    },
    span: { readonly from: number; readonly to: number },
  ): Promise<ReportedUsage | undefined> {
    const { store, records, usedMinutes, plans } = this.#options;
    const { organizationId, customer } = whose;
    const byMinute = new Map<number, Partial<Record<Metric, number>>>();
    for (const metric of metrics) {
      if (plans.metered[metric] === undefined) continue;
      for (const { minute, tokens } of await usedMinutes({ organizationId, metric, ...span }))
        if (tokens > 0) byMinute.set(minute, { ...byMinute.get(minute), [metric]: tokens });
    }
    let { known } = whose;
    for (const [minute, used] of [...byMinute].sort(([a], [b]) => a - b)) {
      for (const metric of metrics) {
        const tokens = used[metric];
        if (tokens !== undefined) await this.#send({ organizationId, customer, metric }, { minute, tokens });
      }
      const sums = inMonth(known, minute, minute + 1);
      known = { ...sums, embed: sums.embed + (used.embed ?? 0), rerank: sums.rerank + (used.rerank ?? 0) };
      await store.write([records.putReportedUsage(organizationId, known)], { mayUseReserve: true });
    }
    return known;
  }

  async #send(
    about: { readonly organizationId: string; readonly customer: string; readonly metric: Metric },
    { minute, tokens }: UsedMinute,
  ): Promise<void> {
    const { stripe, calls, plans, logger } = this.#options;
    const { organizationId, customer, metric } = about;
    const price = plans.metered[metric];
    if (price === undefined) return;
    const stamp = new Date(minute * minuteMs).toISOString().replace(/\D/g, '').slice(0, 12);
    const identifier = `${organizationId}:${metric}:${stamp}`;
    try {
      await calls.run({ organizationId, name: `meter:${metric}:${stamp}` }, (options) =>
        stripe.billing.meterEvents.create(
          {
            event_name: price.meter,
            identifier,
            timestamp: minute * 60,
            payload: { stripe_customer_id: customer, value: String(tokens) },
          },
          options,
        ),
      );
    } catch (error) {
      if (!(error instanceof StripeRefusal) || !isKnownAlready(error)) throw error;
      logger.debug({ identifier }, 'Stripe knows this usage already');
    }
  }
}

function isKnownAlready({ sentence }: StripeRefusal): boolean {
  return /identifier/i.test(sentence) && /already|duplicate|exist/i.test(sentence);
}

/** The sums of the month in which a minute lies; those of another month begin anew. */
function inMonth(known: ReportedUsage | undefined, minute: number, readTo: number): ReportedUsage {
  const month = monthOf(minute * minuteMs);
  const same = known?.month === month ? known : null;
  return { minute: readTo, month, embed: same?.embed ?? 0, rerank: same?.rerank ?? 0 };
}

/** `2026-11`, in UTC. */
export function monthOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 7);
}
