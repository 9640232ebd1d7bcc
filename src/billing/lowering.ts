import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { DowngradeResponse, PauseResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../store/billing.ts';
import type { Organisation, Tier } from '../store/organisations.ts';
import { downgradeToShow, optionalTime } from './billing-replies.ts';
import type { StripeCalls } from './calls.ts';
import { type CatalogueReader, tierMark } from './catalogue.ts';
import { isServing } from './effective-tier.ts';
import { phaseAfter, phaseAgain } from './phases.ts';
import { isPaid, rankOf } from './plans.ts';
import { asking, StripeRefusal, StripeSilence } from './stripe.ts';
import type { BillingSync } from './sync.ts';
import type { UsageCredits } from './usage-credits.ts';
import type { UsageReports } from './usage-reports.ts';

export interface LoweringOptions {
  readonly stripe: Stripe;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly sync: BillingSync;
  readonly reports: Pick<UsageReports, 'reportUntilNow'>;
  readonly credits: Pick<UsageCredits, 'withdraw' | 'giveBack'>;
  readonly clock: Clock;
}

/** Lowers tiers on the first of the next month, takes that back, and pauses subscriptions. */
export class Lowering {
  readonly #options: LoweringOptions;

  constructor(options: LoweringOptions) {
    this.#options = options;
  }

  downgrade({ organizationId }: Organisation, tier: Tier): Promise<DowngradeResponse> {
    return this.#options.sync.change(
      organizationId,
      { kind: 'downgrade', tier },
      async ({ account, reread }) => {
        const subscription = this.#lowered(account, tier);
        if (subscription.pendingDowngrade?.tier !== tier) await this.plan(organizationId, subscription, tier);
        return this.#replyOf(organizationId, await reread());
      },
    );
  }

  cancelDowngrade({ organizationId }: Organisation): Promise<DowngradeResponse> {
    const intent = { kind: 'cancel-downgrade', tier: null } as const;
    return this.#options.sync.change(organizationId, intent, async ({ account, isRepeated, reread }) => {
      const subscription = account.copy?.subscription ?? null;
      if (subscription?.pendingDowngrade) {
        await this.release(organizationId, subscription);
        return this.#replyOf(organizationId, await reread());
      }
      const { held } = account;
      if (held !== null && held.tier !== null) {
        await this.#options.sync.hold(organizationId, { ...held, tier: null });
        return this.#replyOf(organizationId, account);
      }
      if (isRepeated) return this.#replyOf(organizationId, account);
      throw new AppError('bad_request', 'No downgrade is pending.');
    });
  }

  pause({ organizationId }: Organisation): Promise<PauseResponse> {
    return this.#options.sync.change(
      organizationId,
      { kind: 'pause', tier: null },
      async ({ account, reread }) => {
        const subscription = pausable(account);
        if (subscription.status === 'paused') return this.#pausedReply(organizationId, account);
        await this.#options.reports.reportUntilNow(organizationId);
        await this.#options.credits.withdraw(organizationId, account, subscription);
        await this.#pause(organizationId, subscription);
        const after = await reread();
        if (after.copy?.subscription?.status === 'paused') return this.#pausedReply(organizationId, after);
        throw new AppError('bad_gateway', 'The payment provider did not pause the subscription; try again.');
      },
    );
  }

  #replyOf(organizationId: string, { copy }: BillingAccount): DowngradeResponse {
    return {
      subscription_tier: this.#options.sync.tierOf(organizationId),
      pending_downgrade: downgradeToShow(copy?.subscription ?? null),
    };
  }

  #pausedReply(organizationId: string, { copy }: BillingAccount): PauseResponse {
    const subscription = copy?.subscription ?? null;
    return {
      status: 'paused',
      paused_at: optionalTime(subscription?.pausedAt),
      subscription_tier: this.#options.sync.tierOf(organizationId),
      paused_tier: subscription?.tier ?? null,
    };
  }

  /** The subscription of what is to be lowered. Errors: 400 when that is not lower, 409 while an upgrade waits. */
  #lowered({ copy }: BillingAccount, tier: Tier): SubscriptionCopy {
    const subscription = copy?.subscription ?? null;
    if (subscription?.status === 'paused')
      throw new AppError(
        'conflict',
        'The subscription is paused: resume it first by subscribing to its tier.',
      );
    if (subscription === null || !isServing(subscription) || subscription.tier === null)
      throw new AppError('bad_request', 'The organisation has no subscription to lower.');
    if (rankOf(tier) >= rankOf(subscription.tier))
      throw new AppError('bad_request', `${tier} is not lower than ${subscription.tier}.`);
    if (subscription.pendingUpgrade !== null)
      throw new AppError(
        'conflict',
        'The payment of an upgrade is pending: complete it, or cancel the upgrade.',
      );
    return subscription;
  }

  /** Of a subscription that runs, without asking whether it may be lowered. */
  async plan(organizationId: string, subscription: SubscriptionCopy, tier: Tier): Promise<void> {
    const { stripe, calls } = this.#options;
    const { id } = subscription;
    if (subscription.scheduleId === null && subscription.pendingDowngrade !== null)
      await this.release(organizationId, subscription);
    const schedule =
      subscription.scheduleId === null
        ? await calls.run({ organizationId, name: `schedule:${id}`, about: planOf(id) }, (options) =>
            stripe.subscriptionSchedules.create({ from_subscription: id }, options),
          )
        : await this.#scheduleOf(subscription.scheduleId);
    try {
      await this.#fill(organizationId, { subscription, schedule, tier });
    } catch (error) {
      // What Stripe refused to fill must not hold the subscription; of silence nobody knows, the next reading does.
      if (subscription.scheduleId === null && !(error instanceof StripeSilence))
        await this.release(organizationId, { ...subscription, scheduleId: schedule.id });
      throw error;
    }
  }

  async #fill(
    organizationId: string,
    {
      subscription,
      schedule,
      tier,
    }: {
      readonly subscription: SubscriptionCopy;
      readonly schedule: Stripe.SubscriptionSchedule;
      readonly tier: Tier;
    },
  ): Promise<void> {
    const { stripe, calls } = this.#options;
    const parameters: Stripe.SubscriptionScheduleUpdateParams = {
      end_behavior: tier === 'free' ? 'cancel' : 'release',
      metadata: { organization_id: organizationId, [tierMark]: tier },
      phases: await this.#phases(schedule, subscription, tier),
    };
    const call = { name: `plan:${schedule.id}:${tier}`, about: planOf(subscription.id), parameters };
    await calls.run({ organizationId, ...call }, (options, noted) =>
      stripe.subscriptionSchedules.update(schedule.id, noted, options),
    );
  }

  #scheduleOf(scheduleId: string): Promise<Stripe.SubscriptionSchedule> {
    return asking(() => this.#options.stripe.subscriptionSchedules.retrieve(scheduleId));
  }

  /** What runs until the first of the next month, and the lower tier then; `free` is the end of it. */
  async #phases(
    schedule: Stripe.SubscriptionSchedule,
    { priceId }: SubscriptionCopy,
    tier: Tier,
  ): Promise<Stripe.SubscriptionScheduleUpdateParams.Phase[]> {
    const { catalogue, clock } = this.#options;
    const running =
      schedule.phases.find(({ start_date: start }) => start === schedule.current_phase?.start_date) ??
      schedule.phases[0];
    if (running === undefined) throw notPlannable();
    const isFirst = isFirstOfMonth(running.end_date);
    const end = isFirst ? running.end_date : firstOfNextMonth(clock.now()) / 1_000;
    const current = { ...phaseAgain(running), start_date: running.start_date, end_date: end };
    if (!isPaid(tier)) return [current];
    const { prices } = await catalogue.read();
    const next = phaseAfter(running, { from: priceId, to: prices[tier] });
    if (next === null) throw notPlannable();
    return [
      current,
      {
        ...next,
        proration_behavior: isFirst ? 'none' : 'create_prorations',
        duration: { interval: 'month', interval_count: 1 },
      },
    ];
  }

  /** Takes back what is planned for a subscription, here or in the dashboard of Stripe. */
  async release(organizationId: string, subscription: SubscriptionCopy): Promise<void> {
    const { stripe, calls } = this.#options;
    const { id, scheduleId, pendingDowngrade, endsWithPeriod } = subscription;
    const about = planOf(id);
    if (scheduleId !== null) {
      await calls.run({ organizationId, name: `release:${scheduleId}`, about }, (options) =>
        stripe.subscriptionSchedules.release(scheduleId, {}, options),
      );
    } else if (pendingDowngrade !== null) {
      // Stripe shows both ends as `cancel_at`, takes each back by its own name, and not both at once.
      const parameters = endsWithPeriod ? { cancel_at_period_end: false } : { cancel_at: '' as const };
      await calls.run({ organizationId, name: `keep:${id}`, about, parameters }, (options, noted) =>
        stripe.subscriptions.update(id, noted, options),
      );
    }
  }

  /**
   * What was used until now is charged and what was paid for the rest becomes credit of the customer, at once: items
   * that wait for another invoice are lost when nobody pays that one.
   */
  async #pause(organizationId: string, { id, periodEnd }: SubscriptionCopy): Promise<void> {
    const { stripe, calls, credits } = this.#options;
    const call = { name: `pause:${id}:${periodEnd}`, about: pauseOf(id) };
    try {
      await calls.run({ organizationId, ...call }, (options) =>
        stripe.subscriptions.pause(
          id,
          {
            bill_for: { unused_time_from: { type: 'now' }, outstanding_usage_through: { type: 'now' } },
            invoicing_behavior: 'invoice',
          },
          options,
        ),
      );
    } catch (error) {
      // Of silence nobody knows, the next reading does.
      if (error instanceof StripeRefusal) await credits.giveBack(organizationId);
      throw error;
    }
  }
}

function notPlannable(): AppError {
  return new AppError(
    'bad_gateway',
    'The payment provider shows a plan without what is subscribed to; try again.',
  );
}

/** What calls change that plan a lower tier or the end of a subscription, or take that back. */
export function planOf(subscriptionId: string): string {
  return `plan:${subscriptionId}`;
}

/** What pausing and resuming change. */
export function pauseOf(subscriptionId: string): string {
  return `pause:${subscriptionId}`;
}

function pausable({ copy }: BillingAccount): SubscriptionCopy {
  const subscription = copy?.subscription ?? null;
  if (subscription?.status === 'paused') return subscription;
  if (subscription === null || !(isServing(subscription) || subscription.status === 'unpaid'))
    throw new AppError('bad_request', 'The organisation has no active subscription to pause.');
  if (
    subscription.status === 'past_due' ||
    subscription.status === 'unpaid' ||
    subscription.openInvoice !== null
  )
    throw new AppError('conflict', 'An invoice of this organisation is not paid: pay it first, then pause.');
  // What is not paid yet would become credit, and that credit pay the invoice.
  if (subscription.isInvoiceDrafted)
    throw new AppError(
      'conflict',
      'The invoice of the new month is being written, which takes an hour: pause after that.',
    );
  if (subscription.pendingUpgrade !== null)
    throw new AppError(
      'conflict',
      'The payment of an upgrade is pending: complete it or cancel the upgrade, then pause.',
    );
  if (subscription.pendingDowngrade !== null || subscription.scheduleId !== null)
    throw new AppError('conflict', 'A downgrade is pending: cancel it first, then pause.');
  return subscription;
}

/** Milliseconds of the next first of a month, 00:00 UTC. */
export function firstOfNextMonth(milliseconds: number): number {
  const date = new Date(milliseconds);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

function isFirstOfMonth(seconds: number): boolean {
  const date = new Date(seconds * 1_000);
  return date.getUTCDate() === 1 && seconds % 86_400 === 0;
}
