import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type {
  BillingAccount,
  BillingRecords,
  MeteredTokens,
  MeterSending,
  PartialMinute,
  ReportedUsage,
} from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import { isServing } from './effective-tier.ts';
import { MeterEvents } from './meter-events.ts';
import { type Metric, metrics, type Plans } from './plans.ts';
import { StripeRefusal } from './stripe.ts';

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
  readonly plans: Plans;
  readonly usedMinutes: UsedMinutes;
  /** Writes down what was used until now. */
  readonly settleUsage: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The minutes `from` (inclusive) to `to` (exclusive). */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Whose use is reported, and since when the period lasts whose invoice charges it. */
interface Charged {
  readonly organizationId: string;
  readonly customerId: string;
  readonly periodStart: number;
}

const minuteMs = 60_000;
const dayMinutes = 1_440;
const noTokens: MeteredTokens = { embed: 0, rerank: 0 };
const untouched: PartialMinute = { accounted: noTokens, reported: noTokens };

/**
 * Tells Stripe what was used, minute by minute, of organisations with a subscription. What is sent is noted before, with
 * a name that Stripe takes once, and sent again unchanged until Stripe has it. So a crash neither loses nor doubles a
 * token, and a minute that pauses divide is charged for the tokens that were used while something was served.
 */
export class UsageReports {
  readonly #options: UsageReportsOptions;
  readonly #events: MeterEvents;
  /** Of each organisation one thing is reported after another, so that nothing is added up twice. */
  readonly #turns = new KeyedMutex();

  constructor(options: UsageReportsOptions) {
    this.#options = options;
    this.#events = new MeterEvents(options);
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
   * on no invoice. Of the minute that runs it is the part until now. Errors: those of Stripe.
   */
  async reportUntilNow(organizationId: string): Promise<void> {
    await this.#options.settleUsage();
    await this.#turns.run(organizationId, async () => {
      const minute = this.#minute;
      await this.#reportBefore(organizationId, minute);
      const span = { from: minute, to: minute + 1 };
      const charged = this.#chargedOf(organizationId);
      const served = this.#servedSpan(organizationId, span.to);
      if (charged !== null && served !== null && served.to === span.to) await this.#reportSpan(charged, span);
    });
  }

  /**
   * A subscription serves from now on: of the minute that runs, what was used until now is not charged. What an earlier
   * one served is reported first. Errors: those of Stripe, but for what it refuses.
   */
  async beginServing(organizationId: string): Promise<void> {
    const { settleUsage, store, records, logger } = this.#options;
    await settleUsage();
    await this.#turns.run(organizationId, async () => {
      const minute = this.#minute;
      try {
        await this.#reportBefore(organizationId, minute);
      } catch (error) {
        if (!(error instanceof StripeRefusal)) throw error;
        logger.error(
          { organizationId, reason: error.sentence },
          'Stripe refused usage of a subscription that ended; it is not charged',
        );
      }
      const known = records.reportedUsage(organizationId);
      if (known !== undefined && known.minute > minute) return;
      const used = await this.#usedIn(organizationId, { from: minute, to: minute + 1 });
      const { reported } = partialOf(known, minute);
      const partial = { accounted: used.get(minute) ?? noTokens, reported };
      const next = { ...inMonth(known, minute, minute), partial };
      await store.write([records.putReportedUsage(organizationId, next)], { mayUseReserve: true });
    });
  }

  get #minute(): number {
    return Math.floor(this.#options.clock.now() / minuteMs);
  }

  async #tryToReport(organizationId: string, to: number): Promise<void> {
    try {
      await this.#turns.run(organizationId, () => this.#reportBefore(organizationId, to));
    } catch (error) {
      this.#options.logger.warn(
        { organizationId, error: String(error) },
        'usage was not reported to Stripe; will try again',
      );
    }
  }

  /** Everything before the minute `to`, or before the end of what was served. */
  async #reportBefore(organizationId: string, to: number): Promise<void> {
    const { store, records } = this.#options;
    await this.#sendAgain(organizationId);
    const known = records.reportedUsage(organizationId);
    if (known !== undefined && known.minute >= to) return;
    const served = this.#servedSpan(organizationId, to);
    if (served === null && known === undefined) return;
    const charged = this.#chargedOf(organizationId);
    if (charged !== null && served !== null) {
      for (let day = served.from; day < served.to; day += dayMinutes)
        await this.#reportSpan(charged, { from: day, to: Math.min(served.to, day + dayMinutes) });
    }
    const done = inMonth(records.reportedUsage(organizationId), to, to);
    await store.write([records.putReportedUsage(organizationId, done)]);
  }

  #chargedOf(organizationId: string): Charged | null {
    const { customerId, copy } = this.#options.records.account(organizationId);
    const periodStart = copy?.subscription?.periodStart ?? 0;
    return customerId === null ? null : { organizationId, customerId, periodStart };
  }

  /** The minutes to be reported; null where nothing was served in them. */
  #servedSpan(organizationId: string, to: number): Span | null {
    const { records, clock } = this.#options;
    const { customerId, copy, servedUntil }: BillingAccount = records.account(organizationId);
    const known = records.reportedUsage(organizationId);
    if (customerId === null) return null;
    const oldest = Math.floor((clock.now() - limits.usageReportMsMax) / minuteMs);
    const subscription = copy?.subscription ?? null;
    if (subscription !== null && isServing(subscription)) {
      const begun = Math.floor(subscription.startedAt / minuteMs);
      return { from: Math.max(known?.minute ?? begun, begun, oldest), to };
    }
    // Of one that ended, on the 1st for instance, the last invoice is a draft for an hour, and takes what was used before.
    if (known === undefined || servedUntil === null) return null;
    return { from: Math.max(known.minute, oldest), to: Math.min(to, Math.floor(servedUntil / minuteMs)) };
  }

  async #usedIn(organizationId: string, span: Span): Promise<Map<number, MeteredTokens>> {
    const { usedMinutes, plans } = this.#options;
    const used = new Map<number, MeteredTokens>();
    for (const metric of metrics) {
      if (plans.metered[metric] === undefined) continue;
      for (const { minute, tokens } of await usedMinutes({ organizationId, metric, ...span }))
        if (tokens > 0) used.set(minute, { ...(used.get(minute) ?? noTokens), [metric]: tokens });
    }
    return used;
  }

  async #reportSpan(charged: Charged, span: Span): Promise<void> {
    const used = await this.#usedIn(charged.organizationId, span);
    for (const [minute, tokens] of [...used].sort(([a], [b]) => a - b))
      await this.#reportMinute(charged, minute, tokens);
  }

  /** What of a minute is not accounted for. */
  async #reportMinute(charged: Charged, minute: number, used: MeteredTokens): Promise<void> {
    const { store, records, clock } = this.#options;
    const { organizationId, customerId, periodStart } = charged;
    const known = records.reportedUsage(organizationId);
    const before = partialOf(known, minute);
    const rest = (metric: Metric) => Math.max(0, used[metric] - before.accounted[metric]);
    const tokens = { embed: rest('embed'), rerank: rest('rerank') };
    if (metrics.every((metric) => tokens[metric] === 0)) return;
    const timestamp = timestampOf(minute, periodStart);
    const sending = { customerId, minute, before, tokens, timestamp, notedAt: clock.now() };
    const noted = { ...(known ?? inMonth(known, minute, minute)), sending };
    await store.write([records.putReportedUsage(organizationId, noted)], { mayUseReserve: true });
    await this.#send(organizationId, noted, sending);
  }

  /** What a crash or a silence of Stripe cut off. */
  async #sendAgain(organizationId: string): Promise<void> {
    const { records, clock, logger } = this.#options;
    const known = records.reportedUsage(organizationId);
    if (known?.sending === undefined) return;
    const { sending } = known;
    const isTaken = clock.now() - sending.minute * minuteMs < limits.usageReportMsMax;
    if (isTaken && sending.customerId === records.account(organizationId).customerId)
      return this.#send(organizationId, known, sending);
    logger.error(
      { organizationId, customer: sending.customerId, tokens: sending.tokens },
      'usage was not reported: it is too old for Stripe, or its customer is gone',
    );
    await this.#putSent(organizationId, known, { ...sending, tokens: noTokens });
  }

  async #send(organizationId: string, known: ReportedUsage, sending: MeterSending): Promise<void> {
    await this.#events.send(organizationId, sending);
    await this.#putSent(organizationId, known, sending);
  }

  async #putSent(
    organizationId: string,
    known: ReportedUsage,
    { minute, before, tokens }: MeterSending,
  ): Promise<void> {
    const { store, records } = this.#options;
    const partial = { accounted: sum(before.accounted, tokens), reported: sum(before.reported, tokens) };
    const sums = inMonth(known, minute, minute);
    const sent = { ...sums, ...sum(sums, tokens), partial };
    await store.write([records.putReportedUsage(organizationId, sent)], { mayUseReserve: true });
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

function partialOf(known: ReportedUsage | undefined, minute: number): PartialMinute {
  return known?.minute === minute ? (known.partial ?? untouched) : untouched;
}

function sum(one: MeteredTokens, other: MeteredTokens): MeteredTokens {
  return { embed: one.embed + other.embed, rerank: one.rerank + other.rerank };
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
