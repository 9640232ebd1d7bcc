import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { toOptionalTimestamp } from '../core/timestamps.ts';
import type { PauseResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { BillingContext } from './billing.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { planStateOf, planTransitionOf } from './plan-states.ts';
import { StripeRejectedError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { UsageCredits } from './usage-credits.ts';
import type { UsageReporter } from './usage-reporter.ts';

export interface SubscriptionPauseOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly sync: BillingSync;
  readonly reports: Pick<UsageReporter, 'reportUntilNow'>;
  readonly credits: Pick<UsageCredits, 'withdraw' | 'returnWithdrawn'>;
}

/** Pauses subscriptions. */
export class SubscriptionPause {
  readonly #options: SubscriptionPauseOptions;

  constructor(options: SubscriptionPauseOptions) {
    this.#options = options;
  }

  /** Errors: 400 if there is no subscription; 409 while an invoice or a change of the tier is pending; 502. */
  pause({ organization: { organizationId }, deadline }: BillingContext): Promise<PauseResponse> {
    const intent = { kind: 'pause', tier: null } as const;
    const work = async (change: BillingChange) => {
      const subscription = change.account.copy?.subscription ?? null;
      const transition = planTransitionOf('pause', subscription);
      if (subscription === null || transition === 'reject_no_subscription') throw noSubscriptionError();
      if (transition === 'reject_unpaid_invoice') throw unpaidInvoiceError();
      const paused =
        transition === 'keep_paused'
          ? change.account
          : await this.#pause(organizationId, subscription, change);
      return this.#buildReply(organizationId, paused);
    };
    return this.#options.sync.runChange(organizationId, intent, work, { deadline });
  }

  async #pause(
    organizationId: string,
    subscription: SubscriptionCopy,
    { account, reread }: BillingChange,
  ): Promise<BillingAccount> {
    const { reports, credits } = this.#options;
    checkPausable(subscription);
    await reports.reportUntilNow(organizationId);
    await credits.withdraw(organizationId, account, subscription);
    await this.#pauseAtStripe(organizationId, subscription);
    const after = await reread();
    if (planStateOf(after.copy?.subscription ?? null) === 'paused') return after;
    throw new AppError('bad_gateway', 'The payment provider did not pause the subscription. Try again.');
  }

  /**
   * Charges the usage so far and credits the unused paid time to the customer, both at once: items that wait
   * for a later invoice are lost if that invoice is never paid.
   */
  async #pauseAtStripe(organizationId: string, { id, periodEnd }: SubscriptionCopy): Promise<void> {
    const { stripe, calls, credits } = this.#options;
    const call = { name: `pause:${id}:${periodEnd}`, purpose: pausePurpose(id) };
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
      // If the outcome is unknown, the next read repairs it.
      if (error instanceof StripeRejectedError) await credits.returnWithdrawn(organizationId);
      throw error;
    }
  }

  #buildReply(organizationId: string, { copy }: BillingAccount): PauseResponse {
    const subscription = copy?.subscription ?? null;
    return {
      status: 'paused',
      paused_at: toOptionalTimestamp(subscription?.pausedAt),
      subscription_tier: this.#options.sync.tierOf(organizationId),
      paused_tier: subscription?.tier ?? null,
    };
  }
}

/** Purpose shared by the calls that pause and resume a subscription. */
export function pausePurpose(subscriptionId: string): string {
  return `pause:${subscriptionId}`;
}

/** Errors: 409 while an invoice or a change of the tier is pending. */
function checkPausable(subscription: SubscriptionCopy): void {
  if (subscription.openInvoice !== null) throw unpaidInvoiceError();
  // Unpaid amounts would become credit, and that credit would pay the invoice.
  if (subscription.isInvoiceDrafted)
    throw new AppError(
      'conflict',
      'The invoice for the new month is being finalized, which takes about an hour. Try again after that.',
    );
  if (subscription.pendingUpgrade !== null)
    throw new AppError(
      'conflict',
      'The payment of an upgrade is pending. Complete it or cancel the upgrade, then pause.',
    );
  if (subscription.pendingDowngrade !== null || subscription.scheduleId !== null)
    throw new AppError('conflict', 'A downgrade is pending. Cancel it first, then pause.');
}

function noSubscriptionError(): AppError {
  return new AppError('bad_request', 'The organization has no active subscription to pause.');
}

function unpaidInvoiceError(): AppError {
  return new AppError('conflict', 'This organization has an unpaid invoice. Pay it first, then pause.');
}
