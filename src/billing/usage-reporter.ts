import type Stripe from 'stripe';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type {
  BillingRecords,
  MeteredTokens,
  PartialMinute,
  PendingMeterEvents,
  ReportedUsage,
} from '../storage/billing.ts';
import type { BillingAccount } from '../storage/billing-account.ts';
import type { Store } from '../storage/store.ts';
import { toMonth } from './billing-months.ts';
import { MeterEventSender } from './meter-events.ts';
import { isServing } from './plan-states.ts';
import { type BilledMetric, billedMetrics, type Plans } from './plans.ts';
import { StripeRejectedError } from './stripe.ts';

/** Tokens that an organization used in one minute. `minute`: minutes since the epoch. */
export interface UsedMinute {
  readonly minute: number;
  readonly tokens: number;
}

/** Returns the minutes with usage from `from` (inclusive) to `to` (exclusive), oldest first. */
export type UsedMinutesReader = (range: {
  readonly organizationId: string;
  readonly metric: BilledMetric;
  readonly from: number;
  readonly to: number;
}) => Promise<readonly UsedMinute[]>;

export interface UsageReporterOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly plans: Plans;
  readonly readUsedMinutes: UsedMinutesReader;
  /** Writes the usage recorded so far to the store. */
  readonly flushUsage: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Minutes `from` (inclusive) to `to` (exclusive). */
interface MinuteRange {
  readonly from: number;
  readonly to: number;
}

/** Customer whose usage is reported. `periodStart`: start of the period whose invoice charges the usage. */
interface BilledCustomer {
  readonly organizationId: string;
  readonly customerId: string;
  readonly periodStart: number;
}

const minuteMs = 60_000;
const dayMinutes = 1_440;
const noTokens: MeteredTokens = { embed: 0, rerank: 0 };
const emptyMinute: PartialMinute = { accounted: noTokens, reported: noTokens };

/**
 * Reports usage of organizations with a subscription to Stripe, minute by minute. Each report is stored
 * before it is sent, with an identifier that Stripe counts once, and resent unchanged until Stripe accepts
 * it. A crash therefore neither loses nor doubles a token, and a minute split by pauses is charged only for
 * tokens used while the subscription was serving.
 */
export class UsageReporter {
  readonly #options: UsageReporterOptions;
  readonly #events: MeterEventSender;
  /** Reports of one organization run one after another, so that no usage is counted twice. */
  readonly #mutex = new KeyedMutex();

  constructor(options: UsageReporterOptions) {
    this.#options = options;
    this.#events = new MeterEventSender(options);
  }

  /**
   * Reports all organizations, `usageReportsRunningMax` at a time, so that a slow report for one does not
   * block the others.
   */
  async report(signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#options;
    const to = Math.floor((clock.now() - limits.usageWriteDelayMsMax) / minuteMs);
    const accounts = records.listAccounts();
    const reportNext = async (): Promise<void> => {
      for (;;) {
        const { value, done } = await accounts.next();
        if (done === true || signal.aborted) return;
        await this.#tryReport(value.organizationId, to);
      }
    };
    try {
      await Promise.all(Array.from({ length: limits.usageReportsRunningMax }, reportNext));
    } finally {
      await accounts.return();
    }
  }

  /**
   * Reports all usage until now, before a subscription is ended and invoiced: later reports would be on no
   * invoice. Includes the elapsed part of the current minute. Errors: those of Stripe.
   */
  async reportUntilNow(organizationId: string): Promise<void> {
    await this.#options.flushUsage();
    await this.#mutex.run(organizationId, async () => {
      const minute = this.#minute;
      await this.#reportBefore(organizationId, minute);
      const range = { from: minute, to: minute + 1 };
      const customer = this.#findBilledCustomer(organizationId);
      const served = this.#servedRange(organizationId, range.to);
      if (customer !== null && served !== null && served.to === range.to)
        await this.#reportRange(customer, range);
    });
  }

  /**
   * Starts charging from now on: usage earlier in the current minute is not charged. Usage of a previous
   * subscription is reported first. Errors: those of Stripe, except rejections.
   */
  async startServing(organizationId: string): Promise<void> {
    const { flushUsage, store, records, logger } = this.#options;
    await flushUsage();
    await this.#mutex.run(organizationId, async () => {
      const minute = this.#minute;
      try {
        await this.#reportBefore(organizationId, minute);
      } catch (error) {
        if (!(error instanceof StripeRejectedError)) throw error;
        logger.error(
          { organizationId, reason: error.stripeMessage },
          'Stripe rejected usage of an ended subscription; it is not charged',
        );
      }
      const previous = records.findReportedUsage(organizationId);
      if (previous !== undefined && previous.minute > minute) return;
      const used = await this.#readUsage(organizationId, { from: minute, to: minute + 1 });
      const { reported } = partialOf(previous, minute);
      const partial = { accounted: used.get(minute) ?? noTokens, reported };
      const next = { ...monthTotals(previous, minute, minute), partial };
      await store.write([records.putReportedUsage(organizationId, next)], { mayUseReserve: true });
    });
  }

  get #minute(): number {
    return Math.floor(this.#options.clock.now() / minuteMs);
  }

  async #tryReport(organizationId: string, to: number): Promise<void> {
    try {
      await this.#mutex.run(organizationId, () => this.#reportBefore(organizationId, to));
    } catch (error) {
      this.#options.logger.warn(
        { organizationId, error: String(error) },
        'reporting usage to Stripe failed, will retry',
      );
    }
  }

  /** Reports all usage before the minute `to`, or before the end of service. */
  async #reportBefore(organizationId: string, to: number): Promise<void> {
    const { store, records } = this.#options;
    await this.#resendPending(organizationId);
    const previous = records.findReportedUsage(organizationId);
    if (previous !== undefined && previous.minute >= to) return;
    const served = this.#servedRange(organizationId, to);
    if (served === null && previous === undefined) return;
    const customer = this.#findBilledCustomer(organizationId);
    if (customer !== null && served !== null) {
      for (let day = served.from; day < served.to; day += dayMinutes)
        await this.#reportRange(customer, { from: day, to: Math.min(served.to, day + dayMinutes) });
    }
    const done = monthTotals(records.findReportedUsage(organizationId), to, to);
    await store.write([records.putReportedUsage(organizationId, done)]);
  }

  #findBilledCustomer(organizationId: string): BilledCustomer | null {
    const { customerId, copy } = this.#options.records.getAccount(organizationId);
    const periodStart = copy?.subscription?.periodStart ?? 0;
    return customerId === null ? null : { organizationId, customerId, periodStart };
  }

  /** Minutes to report; null if none were served. */
  #servedRange(organizationId: string, to: number): MinuteRange | null {
    const { records, clock } = this.#options;
    const { customerId, copy, servedUntil }: BillingAccount = records.getAccount(organizationId);
    const previous = records.findReportedUsage(organizationId);
    if (customerId === null) return null;
    const oldest = Math.floor((clock.now() - limits.usageReportMsMax) / minuteMs);
    const subscription = copy?.subscription ?? null;
    if (subscription !== null && isServing(subscription)) {
      const startedMinute = Math.floor(subscription.startedAt / minuteMs);
      return { from: Math.max(previous?.minute ?? startedMinute, startedMinute, oldest), to };
    }
    // The last invoice of an ended subscription, for example on the 1st, is a draft for an hour and still
    // accepts earlier usage.
    if (previous === undefined || servedUntil === null) return null;
    return { from: Math.max(previous.minute, oldest), to: Math.min(to, Math.floor(servedUntil / minuteMs)) };
  }

  async #readUsage(organizationId: string, range: MinuteRange): Promise<Map<number, MeteredTokens>> {
    const { readUsedMinutes, plans } = this.#options;
    const used = new Map<number, MeteredTokens>();
    for (const metric of billedMetrics) {
      if (plans.metered[metric] === undefined) continue;
      for (const { minute, tokens } of await readUsedMinutes({ organizationId, metric, ...range }))
        if (tokens > 0) used.set(minute, { ...(used.get(minute) ?? noTokens), [metric]: tokens });
    }
    return used;
  }

  async #reportRange(customer: BilledCustomer, range: MinuteRange): Promise<void> {
    const used = await this.#readUsage(customer.organizationId, range);
    for (const [minute, tokens] of [...used].sort(([a], [b]) => a - b))
      await this.#reportMinute(customer, minute, tokens);
  }

  /** Reports the unaccounted tokens of a minute. */
  async #reportMinute(customer: BilledCustomer, minute: number, used: MeteredTokens): Promise<void> {
    const { store, records, clock } = this.#options;
    const { organizationId, customerId, periodStart } = customer;
    const previous = records.findReportedUsage(organizationId);
    const before = partialOf(previous, minute);
    const rest = (metric: BilledMetric) => Math.max(0, used[metric] - before.accounted[metric]);
    const tokens = { embed: rest('embed'), rerank: rest('rerank') };
    if (billedMetrics.every((metric) => tokens[metric] === 0)) return;
    const timestamp = timestampOf(minute, periodStart);
    const pendingEvents = { customerId, minute, before, tokens, timestamp, notedAt: clock.now() };
    const pending = { ...(previous ?? monthTotals(previous, minute, minute)), sending: pendingEvents };
    await store.write([records.putReportedUsage(organizationId, pending)], { mayUseReserve: true });
    await this.#send(organizationId, pending, pendingEvents);
  }

  /** Resends a report that a crash or a lost reply interrupted. */
  async #resendPending(organizationId: string): Promise<void> {
    const { records, clock, logger } = this.#options;
    const previous = records.findReportedUsage(organizationId);
    if (previous?.sending === undefined) return;
    const { sending: pendingEvents } = previous;
    const isAccepted = clock.now() - pendingEvents.minute * minuteMs < limits.usageReportMsMax;
    if (isAccepted && pendingEvents.customerId === records.getAccount(organizationId).customerId)
      return this.#send(organizationId, previous, pendingEvents);
    logger.error(
      { organizationId, customer: pendingEvents.customerId, tokens: pendingEvents.tokens },
      'usage dropped: too old for Stripe, or its customer was deleted',
    );
    await this.#recordSent(organizationId, previous, { ...pendingEvents, tokens: noTokens });
  }

  async #send(
    organizationId: string,
    previous: ReportedUsage,
    pendingEvents: PendingMeterEvents,
  ): Promise<void> {
    await this.#events.send(organizationId, pendingEvents);
    await this.#recordSent(organizationId, previous, pendingEvents);
  }

  async #recordSent(
    organizationId: string,
    previous: ReportedUsage,
    { minute, before, tokens }: PendingMeterEvents,
  ): Promise<void> {
    const { store, records } = this.#options;
    const partial = {
      accounted: addTokens(before.accounted, tokens),
      reported: addTokens(before.reported, tokens),
    };
    const sums = monthTotals(previous, minute, minute);
    const sent = { ...sums, ...addTokens(sums, tokens), partial };
    await store.write([records.putReportedUsage(organizationId, sent)], { mayUseReserve: true });
  }
}

/**
 * Returns the start of a minute in seconds since the epoch. In the minute in which a subscription starts or
 * resumes, that would precede its period, whose invoice ignores earlier events. The start of the period is
 * returned there.
 */
function timestampOf(minute: number, periodStart: number): number {
  const isWithin = Math.floor(periodStart / minuteMs) === minute;
  return isWithin ? Math.ceil(periodStart / 1_000) : minute * 60;
}

function partialOf(previous: ReportedUsage | undefined, minute: number): PartialMinute {
  return previous?.minute === minute ? (previous.partial ?? emptyMinute) : emptyMinute;
}

function addTokens(one: MeteredTokens, other: MeteredTokens): MeteredTokens {
  return { embed: one.embed + other.embed, rerank: one.rerank + other.rerank };
}

/** Totals of the month that contains a minute. A new month starts at zero. */
function monthTotals(previous: ReportedUsage | undefined, minute: number, readTo: number): ReportedUsage {
  const month = toMonth(minute * minuteMs);
  const same = previous?.month === month ? previous : null;
  return { minute: readTo, month, embed: same?.embed ?? 0, rerank: same?.rerank ?? 0 };
}
