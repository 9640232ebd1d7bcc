import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { DowngradeResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { Tier } from '../storage/organizations.ts';
import type { BillingContext } from './billing.ts';
import { firstOfNextMonth, isFirstOfMonth } from './billing-months.ts';
import { toPendingDowngrade } from './billing-replies.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { planTransitionOf } from './plan-states.ts';
import { isPaidTier, tierRank } from './plans.ts';
import { type PriceCatalogReader, tierMetadataKey } from './price-catalog.ts';
import { copyPhase, nextPhase } from './schedule-phases.ts';
import { mapStripeErrors, UnknownOutcomeError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';

export interface DowngradeManagerOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly sync: BillingSync;
  readonly clock: Clock;
}

/** Schedules downgrades for the first of the next month, and cancels them. */
export class DowngradeManager {
  readonly #options: DowngradeManagerOptions;

  constructor(options: DowngradeManagerOptions) {
    this.#options = options;
  }

  downgrade(
    { organization: { organizationId }, deadline }: BillingContext,
    tier: Tier,
  ): Promise<DowngradeResponse> {
    const intent = { kind: 'downgrade', tier } as const;
    const work = async ({ account, reread }: BillingChange) => {
      const subscription = this.#requireDowngradable(account, tier);
      if (subscription.pendingDowngrade?.tier !== tier)
        await this.scheduleDowngrade(organizationId, subscription, tier);
      return this.#buildReply(organizationId, await reread());
    };
    return this.#options.sync.runChange(organizationId, intent, work, { deadline });
  }

  cancelDowngrade({
    organization: { organizationId },
    deadline,
  }: BillingContext): Promise<DowngradeResponse> {
    const intent = { kind: 'cancel-downgrade', tier: null } as const;
    const work = async ({ account, isRepeated, reread }: BillingChange) => {
      const subscription = account.copy?.subscription ?? null;
      if (subscription?.pendingDowngrade) {
        await this.releaseSchedule(organizationId, subscription);
        return this.#buildReply(organizationId, await reread());
      }
      const { held: pendingSchedule } = account;
      if (pendingSchedule !== null && pendingSchedule.tier !== null) {
        await this.#options.sync.putPendingSchedule(organizationId, { ...pendingSchedule, tier: null });
        return this.#buildReply(organizationId, account);
      }
      if (isRepeated) return this.#buildReply(organizationId, account);
      throw new AppError('bad_request', 'No downgrade is pending.');
    };
    return this.#options.sync.runChange(organizationId, intent, work, { deadline });
  }

  #buildReply(organizationId: string, { copy }: BillingAccount): DowngradeResponse {
    return {
      subscription_tier: this.#options.sync.tierOf(organizationId),
      pending_downgrade: toPendingDowngrade(copy?.subscription ?? null),
    };
  }

  /**
   * Returns the subscription to downgrade. Errors: 400 if there is none or `tier` is not lower; 409 while it
   * is paused or an upgrade is pending.
   */
  #requireDowngradable({ copy }: BillingAccount, tier: Tier): SubscriptionCopy {
    const subscription = copy?.subscription ?? null;
    const transition = planTransitionOf('downgrade', subscription);
    if (transition === 'reject_paused')
      throw new AppError(
        'conflict',
        'The subscription is paused. Resume it first by subscribing to its tier.',
      );
    if (subscription === null || transition === 'reject_no_subscription' || subscription.tier === null)
      throw new AppError('bad_request', 'The organization has no subscription to downgrade.');
    if (tierRank(tier) >= tierRank(subscription.tier))
      throw new AppError('bad_request', `${tier} is not lower than ${subscription.tier}.`);
    if (subscription.pendingUpgrade !== null)
      throw new AppError(
        'conflict',
        'The payment of an upgrade is pending. Complete it, or cancel the upgrade.',
      );
    return subscription;
  }

  /** Schedules a downgrade of a running subscription without checking whether it is allowed. */
  async scheduleDowngrade(organizationId: string, subscription: SubscriptionCopy, tier: Tier): Promise<void> {
    const { stripe, calls } = this.#options;
    const { id } = subscription;
    if (subscription.scheduleId === null && subscription.pendingDowngrade !== null)
      await this.releaseSchedule(organizationId, subscription);
    const schedule =
      subscription.scheduleId === null
        ? await calls.run(
            { organizationId, name: `schedule:${id}`, purpose: schedulePurpose(id) },
            (options) => stripe.subscriptionSchedules.create({ from_subscription: id }, options),
          )
        : await this.#retrieveSchedule(subscription.scheduleId);
    try {
      await this.#fillSchedule(organizationId, { subscription, schedule, tier });
    } catch (error) {
      // A schedule that Stripe refused to fill must not block the subscription. If the outcome is unknown,
      // the next read repairs it.
      if (subscription.scheduleId === null && !(error instanceof UnknownOutcomeError))
        await this.releaseSchedule(organizationId, { ...subscription, scheduleId: schedule.id });
      throw error;
    }
  }

  async #fillSchedule(
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
      metadata: { organization_id: organizationId, [tierMetadataKey]: tier },
      phases: await this.#buildPhases(schedule, subscription, tier),
    };
    const call = {
      name: `plan:${schedule.id}:${tier}`,
      purpose: schedulePurpose(subscription.id),
      parameters,
    };
    await calls.run({ organizationId, ...call }, (options, storedParameters) =>
      stripe.subscriptionSchedules.update(schedule.id, storedParameters, options),
    );
  }

  #retrieveSchedule(scheduleId: string): Promise<Stripe.SubscriptionSchedule> {
    return mapStripeErrors(() => this.#options.stripe.subscriptionSchedules.retrieve(scheduleId));
  }

  /**
   * Phases of a schedule: the running plan until the first of the next month, then the lower tier. `free`
   * ends the subscription.
   */
  async #buildPhases(
    schedule: Stripe.SubscriptionSchedule,
    { priceId }: SubscriptionCopy,
    tier: Tier,
  ): Promise<Stripe.SubscriptionScheduleUpdateParams.Phase[]> {
    const { catalog, clock } = this.#options;
    const running =
      schedule.phases.find(({ start_date: start }) => start === schedule.current_phase?.start_date) ??
      schedule.phases[0];
    if (running === undefined) throw unexpectedScheduleError();
    const isFirst = isFirstOfMonth(running.end_date);
    const end = isFirst ? running.end_date : firstOfNextMonth(clock.now()) / 1_000;
    const current = { ...copyPhase(running), start_date: running.start_date, end_date: end };
    if (!isPaidTier(tier)) return [current];
    const { prices } = await catalog.read();
    const next = nextPhase(running, { from: priceId, to: prices[tier] });
    if (next === null) throw unexpectedScheduleError();
    return [
      current,
      {
        ...next,
        proration_behavior: isFirst ? 'none' : 'create_prorations',
        duration: { interval: 'month', interval_count: 1 },
      },
    ];
  }

  /** Releases the planned change of a subscription, whether scheduled here or in the Stripe dashboard. */
  async releaseSchedule(organizationId: string, subscription: SubscriptionCopy): Promise<void> {
    const { stripe, calls } = this.#options;
    const { id, scheduleId, pendingDowngrade, endsWithPeriod } = subscription;
    const purpose = schedulePurpose(id);
    if (scheduleId !== null) {
      await calls.run({ organizationId, name: `release:${scheduleId}`, purpose }, (options) =>
        stripe.subscriptionSchedules.release(scheduleId, {}, options),
      );
    } else if (pendingDowngrade !== null) {
      // Stripe reports both kinds of end as `cancel_at`, but clears each by its own parameter, and not both
      // in one call.
      const parameters = endsWithPeriod ? { cancel_at_period_end: false } : { cancel_at: '' as const };
      await calls.run(
        { organizationId, name: `keep:${id}`, purpose, parameters },
        (options, storedParameters) => stripe.subscriptions.update(id, storedParameters, options),
      );
    }
  }
}

function unexpectedScheduleError(): AppError {
  return new AppError(
    'bad_gateway',
    'The subscription schedule of the payment provider does not match the subscription. Try again.',
  );
}

/**
 * Purpose shared by the calls that schedule a downgrade or the end of a subscription, or release that
 * schedule.
 */
export function schedulePurpose(subscriptionId: string): string {
  return `plan:${subscriptionId}`;
}
