import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { CancelUpgradeResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { BillingContext } from './billing.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import type { Payments } from './payments.ts';
import type { PendingSchedules } from './pending-schedules.ts';
import { planTransitionOf } from './plan-states.ts';
import { StripeRejectedError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';

export interface UpgradeCancellationOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly payments: Payments;
  readonly pendingSchedules: PendingSchedules;
  readonly sync: BillingSync;
}

/**
 * Cancels an upgrade or first subscription whose payment is pending. Nothing is owed for it, and the state
 * that it removed is restored.
 */
export class UpgradeCancellation {
  readonly #options: UpgradeCancellationOptions;

  constructor(options: UpgradeCancellationOptions) {
    this.#options = options;
  }

  /** Errors: 400 if none is pending; 409 if it was paid meanwhile. */
  cancel({ organization: { organizationId }, deadline }: BillingContext): Promise<CancelUpgradeResponse> {
    const { sync } = this.#options;
    const intent = { kind: 'cancel-upgrade', tier: null } as const;
    const work = async (change: BillingChange) => {
      const subscription = change.account.copy?.subscription ?? null;
      const transition = planTransitionOf('cancel_upgrade', subscription);
      if (subscription !== null && transition === 'cancel_start')
        await this.#cancelFirstSubscription(organizationId, subscription, change);
      else if (subscription?.pendingUpgrade && transition === 'cancel_upgrade')
        await this.#cancelPendingUpgrade(organizationId, subscription, change);
      else if (wasPaidMeanwhile(change)) throw alreadyPaidError();
      else if (!change.isRepeated) throw new AppError('bad_request', 'No upgrade is pending.');
      return { subscription_tier: sync.tierOf(organizationId), pending_upgrade: null };
    };
    return sync.runChange(organizationId, intent, work, { deadline });
  }

  async #cancelPendingUpgrade(
    organizationId: string,
    { openInvoice }: SubscriptionCopy,
    { reread }: BillingChange,
  ): Promise<void> {
    try {
      if (openInvoice !== null) await this.#options.payments.voidInvoice(organizationId, openInvoice.id);
    } catch (error) {
      if (!(error instanceof StripeRejectedError)) throw error;
      // An invoice that cannot be voided was paid or is already void.
    }
    const account = await reread();
    const current = account.copy?.subscription ?? null;
    if (openInvoice !== null && isPaid(account, openInvoice.id)) throw alreadyPaidError();
    if (current?.pendingUpgrade) throw notCanceledError();
    if (await this.#options.pendingSchedules.restore(organizationId, account)) await reread();
  }

  async #cancelFirstSubscription(
    organizationId: string,
    { id, openInvoice }: SubscriptionCopy,
    { reread }: BillingChange,
  ): Promise<void> {
    const { stripe, calls, payments } = this.#options;
    try {
      await calls.run({ organizationId, name: `cancel:${id}` }, (options) =>
        stripe.subscriptions.cancel(id, {}, options),
      );
    } catch (error) {
      if (!(error instanceof StripeRejectedError)) throw error;
      // The subscription expired or was paid; the next read shows which.
    }
    const { copy } = await reread();
    const first = copy?.invoices.find((invoice) => invoice.id === openInvoice?.id);
    if (first?.status === 'paid') throw alreadyPaidError();
    if (first?.status !== 'open') return;
    await payments.voidInvoice(organizationId, first.id);
    await reread();
  }
}

/** Whether an upgrade was pending when the client asked to cancel it, and is paid now. */
function wasPaidMeanwhile({ stored, account }: BillingChange): boolean {
  const subscription = stored.copy?.subscription ?? null;
  const transition = planTransitionOf('cancel_upgrade', subscription);
  const wasPending = transition === 'cancel_start' || transition === 'cancel_upgrade';
  const openInvoice = wasPending ? subscription?.openInvoice : null;
  return openInvoice != null && isPaid(account, openInvoice.id);
}

function isPaid({ copy }: BillingAccount, invoiceId: string): boolean {
  return copy?.invoices.some(({ id, status }) => id === invoiceId && status === 'paid') === true;
}

function alreadyPaidError(): AppError {
  return new AppError(
    'conflict',
    'The upgrade has already been paid, and its tier applies. To change the tier, use downgrade.',
  );
}

function notCanceledError(): AppError {
  return new AppError('bad_gateway', 'The payment provider did not cancel the upgrade. Try again.');
}
