import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { CancelUpgradeResponse } from '../schemas/billing.ts';
import type { SubscriptionCopy } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import type { StripeCalls } from './calls.ts';
import type { Payments } from './payments.ts';
import type { PutAside } from './put-aside.ts';
import { StripeRefusal } from './stripe.ts';
import type { BillingSync, Change } from './sync.ts';

export interface UpgradeCancellationOptions {
  readonly stripe: Stripe;
  readonly calls: StripeCalls;
  readonly payments: Payments;
  readonly aside: PutAside;
  readonly sync: BillingSync;
}

/** Cancels an upgrade, or a first tier, whose payment waits: nothing of it is owed, and what it put aside is put back. */
export class UpgradeCancellation {
  readonly #options: UpgradeCancellationOptions;

  constructor(options: UpgradeCancellationOptions) {
    this.#options = options;
  }

  /** Errors: 400 where none waits, 409 where it was paid meanwhile. */
  cancel({ organizationId }: Organisation): Promise<CancelUpgradeResponse> {
    const { sync } = this.#options;
    const intent = { kind: 'cancel-upgrade', tier: null } as const;
    return sync.change(organizationId, intent, async (change) => {
      const subscription = change.account.copy?.subscription ?? null;
      if (subscription?.status === 'incomplete') await this.#endFirst(organizationId, subscription, change);
      else if (subscription?.pendingUpgrade) await this.#cancel(organizationId, subscription, change);
      else if (!change.isRepeated) throw new AppError('bad_request', 'No upgrade is pending.');
      return { subscription_tier: sync.tierOf(organizationId), pending_upgrade: null };
    });
  }

  async #cancel(
    organizationId: string,
    { openInvoice }: SubscriptionCopy,
    { reread }: Change,
  ): Promise<void> {
    try {
      if (openInvoice !== null) await this.#options.payments.void(organizationId, openInvoice.id);
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error;
      // What cannot be voided any more was paid, or is void already.
    }
    const account = await reread();
    const left = account.copy?.subscription ?? null;
    const isPaid = account.copy?.invoices.some(
      ({ id, status }) => id === openInvoice?.id && status === 'paid',
    );
    if (isPaid === true) throw paidMeanwhile();
    if (left?.pendingUpgrade) throw notCancelled();
    if (await this.#options.aside.putBack(organizationId, account)) await reread();
  }

  async #endFirst(
    organizationId: string,
    { id, openInvoice }: SubscriptionCopy,
    { reread }: Change,
  ): Promise<void> {
    const { stripe, calls, payments } = this.#options;
    try {
      await calls.run({ organizationId, name: `cancel:${id}` }, (options) =>
        stripe.subscriptions.cancel(id, {}, options),
      );
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error;
      // It expired or was paid: the next reading tells.
    }
    const { copy } = await reread();
    const first = copy?.invoices.find((invoice) => invoice.id === openInvoice?.id);
    if (first?.status === 'paid') throw paidMeanwhile();
    if (first?.status !== 'open') return;
    await payments.void(organizationId, first.id);
    await reread();
  }
}

function paidMeanwhile(): AppError {
  return new AppError(
    'conflict',
    'The upgrade was paid in the meantime, and its tier applies: use downgrade to change it.',
  );
}

function notCancelled(): AppError {
  return new AppError('bad_gateway', 'The payment provider did not cancel the upgrade; try again.');
}
