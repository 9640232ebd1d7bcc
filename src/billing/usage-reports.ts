import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { BillingAccount, BillingRecords, ReportedUsage } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
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
  /** Writes down what was used until now. */
  readonly settleUsage: () => Promise<void>;
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
  /** Of each organisation one thing is reported after another, so that nothing is added up twice. */
  readonly #turns = new KeyedMutex();

  constructor(options: UsageReportsOptions) {
    this.#options = options;
  }

  /** A few organisations at a time: one for whom Stripe is slow keeps the others waiting no longer than that. */
  async report(signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#options;
    const to = Math.floor((clock.now() - limits.usageSettledMs) / minuteMs);
    const accounts = records.accounts();
    const reportNext = async (): Promise<void> => {
      for (;;) {
        const { value, done } = await accounts.next();
        if (done === true || signal.aborted) return;
        await this.#tryToReport(value.organizationId, to);
      }
    };
    try {
      await Promise.all(Array.from({ length: limits.usageReportsRunningMax }, reportNext));
    } finally {
      await accounts.return();
    }
  }

  /**
   * Everything that was used until now, for what ends a subscription and invoices it: what is reported afterwards would be
   * on no invoice. The minute that runs is reported as it is; what would still come in it is nobody's. Errors: those of
   * Stripe.
   */
  async reportUntilNow(organizationId: string): Promise<void> {
    await this.#options.settleUsage();
    await this.#reportInTurn(organizationId, Math.floor(this.#options.clock.now() / minuteMs) + 1);
  }

  async #tryToReport(organizationId: string, to: number): Promise<void> {
    try {
      await this.#reportInTurn(organizationId, to);
    } catch (error) {
      this.#options.logger.warn(
        { organizationId, error: String(error) },
        'usage was not reported to Stripe; will try again',
      );
    }
  }

  #reportInTurn(organizationId: string, to: number): Promise<void> {
    return this.#turns.run(organizationId, () => this.#reportOne(organizationId, to));
  }

  /** Everything up to `to`, or to the end of what was served. */
  async #reportOne(organizationId: string, to: number): Promise<void> {
    const { store, records } = this.#options;
    const account = records.account(organizationId);
    let known = records.reportedUsage(organizationId);
    if (known !== undefined && known.minute >= to) return;
    const served = this.#servedSpan(account, known, to);
    if (served === null && known === undefined) return;
    if (account.customerId !== null && served !== null) {
      for (let day = served.from; day < served.to; day += dayMinutes) {
        const span = { from: day, to: Math.min(served.to, day + dayMinutes) };
        known = await this.#reportSpan({ organizationId, customer: account.customerId, known }, span);
      }
    }
    await store.write([records.putReportedUsage(organizationId, inMonth(known, to, to))]);
  }

  /** The minutes to be reported; null where nothing was served in them. */
  #servedSpan(
    { customerId, copy, servedUntil }: BillingAccount,
    known: ReportedUsage | undefined,
    to: number,
  ): { readonly from: number; readonly to: number } | null {
    if (customerId === null) return null;
    const oldest = Math.floor((this.#options.clock.now() - limits.usageReportMsMax) / minuteMs);
    const subscription = copy?.subscription ?? null;
    if (subscription !== null && isServing(subscription)) {
      const begun = Math.floor(subscription.startedAt / minuteMs);
      return { from: Math.max(known?.minute ?? begun, begun, oldest), to };
    }
    // Of one that ended, on the 1st for instance, the last invoice is a draft for an hour, and takes what was used before.
    if (known === undefined || servedUntil === null) return null;
    return { from: Math.max(known.minute, oldest), to: Math.min(to, Math.floor(servedUntil / minuteMs)) };
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
    const periodStart = records.account(organizationId).copy?.subscription?.periodStart ?? 0;
    let { known } = whose;
    for (const [minute, used] of [...byMinute].sort(([a], [b]) => a - b)) {
      for (const metric of metrics) {
        const tokens = used[metric];
        if (tokens !== undefined)
          await this.#send({ organizationId, customer, metric, periodStart }, { minute, tokens });
      }
      const sums = inMonth(known, minute, minute + 1);
      known = { ...sums, embed: sums.embed + (used.embed ?? 0), rerank: sums.rerank + (used.rerank ?? 0) };
      await store.write([records.putReportedUsage(organizationId, known)], { mayUseReserve: true });
    }
    return known;
  }

  async #send(
    about: {
      readonly organizationId: string;
      readonly customer: string;
      readonly metric: Metric;
      readonly periodStart: number;
    },
    { minute, tokens }: UsedMinute,
  ): Promise<void> {
    const { stripe, calls, plans, logger } = this.#options;
    const { organizationId, customer, metric, periodStart } = about;
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
            timestamp: timestampOf(minute, periodStart),
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

/**
 * The beginning of a minute, in seconds. Of the minute in which a subscription began or was resumed that would lie before
 * its period, whose invoice counts nothing earlier: there it is the beginning of the period.
 */
function timestampOf(minute: number, periodStart: number): number {
  const isWithin = Math.floor(periodStart / minuteMs) === minute;
  return isWithin ? Math.ceil(periodStart / 1_000) : minute * 60;
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
