import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { CancelUpgradeResponse } from '../schemas/billing.ts';
import type { SubscriptionCopy } from '../storage/billing.ts';
import type { Organization } from '../storage/organizations.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import type { Payments } from './payments.ts';
import type { PendingSchedules } from './pending-schedules.ts';
import { planEffectOf } from './plan-states.ts';
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
  cancel({ organizationId }: Organization): Promise<CancelUpgradeResponse> {
    const { sync } = this.#options;
    const intent = { kind: 'cancel-upgrade', tier: null } as const;
    return sync.runChange(organizationId, intent, async (change) => {
      const subscription = change.account.copy?.subscription ?? null;
      const effect = planEffectOf('cancel_upgrade', subscription);
      if (subscription !== null && effect === 'cancel_start')
        await this.#cancelFirstSubscription(organizationId, subscription, change);
      else if (subscription?.pendingUpgrade && effect === 'cancel_upgrade')
        await this.#cancelPendingUpgrade(organizationId, subscription, change);
      else if (!change.isRepeated) throw new AppError('bad_request', 'No upgrade is pending.');
      return { subscription_tier: sync.tierOf(organizationId), pending_upgrade: null };
    });
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
    const isPaid = account.copy?.invoices.some(
      ({ id, status }) => id === openInvoice?.id && status === 'paid',
    );
    if (isPaid === true) throw alreadyPaidError();
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

function alreadyPaidError(): AppError {
  return new AppError(
    'conflict',
    'The upgrade was paid in the meantime, and its tier applies. Use downgrade to change it.',
  );
}

function notCanceledError(): AppError {
  return new AppError('bad_gateway', 'The payment provider did not cancel the upgrade; try again.');
}
