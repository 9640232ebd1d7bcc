import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { SubscribeResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { Organization } from '../storage/organizations.ts';
import type { BillingContext } from './billing.ts';
import { toBillingInvoice } from './billing-replies.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { planTransitionOf, type TransitionName } from './plan-states.ts';
import { requirePaidTier, unknownPriceError } from './sale-conditions.ts';
import type { StripeCustomers } from './stripe-customers.ts';
import {
  chargedMethodId,
  prorationFrom,
  type SubscribeInput,
  type SubscribeOutcome,
  type SubscriptionCharges,
} from './subscription-charges.ts';
import type { SubscriptionResume } from './subscription-resume.ts';
import type { SubscriptionStart } from './subscription-start.ts';
import type { SubscriptionUpgrade } from './subscription-upgrade.ts';

export interface SubscriptionManagerOptions {
  readonly customers: StripeCustomers;
  readonly charges: SubscriptionCharges;
  readonly starts: SubscriptionStart;
  readonly upgrades: SubscriptionUpgrade;
  readonly resumes: SubscriptionResume;
  readonly sync: BillingSync;
  readonly clock: Clock;
}

/** Effects of one transition of an existing subscription. */
type SubscribeEffects = (
  input: SubscribeInput,
  subscription: SubscriptionCopy,
  change: BillingChange,
) => Promise<SubscribeOutcome>;

/**
 * Subscribes organizations to tiers: the state of the plan selects a transition, and the transition its
 * effects. A tier applies once its invoice is paid. A payment that needs confirmation by the customer's bank
 * leaves an open invoice with a URL; a declined payment leaves nothing.
 */
export class SubscriptionManager {
  readonly #options: SubscriptionManagerOptions;
  readonly #effects: Readonly<Record<Exclude<TransitionName<'subscribe'>, 'start'>, SubscribeEffects>>;

  constructor(options: SubscriptionManagerOptions) {
    this.#options = options;
    const { starts, upgrades, resumes } = options;
    this.#effects = {
      continue_start: (...change) => starts.continue(...change),
      upgrade: (...change) => upgrades.upgrade(...change),
      pay_invoice: (...change) => this.#payInvoice(...change),
      resume: (...change) => resumes.resume(...change),
    };
  }

  subscribe(
    { organization, deadline }: BillingContext,
    request: Pick<SubscribeInput, 'paymentMethodId' | 'asOf'> & { readonly tier: Organization['tier'] },
  ): Promise<SubscribeResponse> {
    const { sync, clock } = this.#options;
    const { paymentMethodId, asOf } = request;
    const tier = requirePaidTier(organization, request.tier);
    const { organizationId } = organization;
    const input: SubscribeInput = { organization, tier, paymentMethodId, asOf };
    prorationFrom(input, { now: clock.now(), startedAt: null });
    const work = async (change: BillingChange) => {
      const outcome = await this.#runTransition(input, change);
      const account = await change.reread();
      const tierNow = sync.tierOf(organizationId);
      const reply = buildReply({ before: change, account, input, outcome, tierNow });
      const charged = chargedMethodId(input, change.account);
      if (charged !== null && (reply.invoice?.amount_paid ?? 0) > 0)
        await sync.recordCharge(organizationId, charged, false);
      return reply;
    };
    return sync.runChange(organizationId, { kind: 'subscribe', tier }, work, { deadline });
  }

  async #runTransition(input: SubscribeInput, change: BillingChange): Promise<SubscribeOutcome> {
    const subscription = change.account.copy?.subscription ?? null;
    const transition = planTransitionOf('subscribe', subscription);
    if (subscription === null || transition === 'start') return this.#options.starts.start(input, change);
    if (subscription.tier === null) throw unknownPriceError();
    return this.#effects[transition](input, subscription, change);
  }

  /** Pays an overdue invoice, which must be paid before any other change. */
  async #payInvoice(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { customers, charges } = this.#options;
    if (subscription.tier !== input.tier) {
      throw new AppError(
        'conflict',
        'This organization has an unpaid invoice. Pay it first, then change the tier.',
      );
    }
    const customer = await customers.ensureCustomer(input.organization);
    const method = await charges.chooseMethod(input, customer, change.account);
    if (subscription.openInvoice === null) return 'paid';
    if (method === null) return 'requires_payment_method';
    return charges.payOpenInvoice(input, change, {
      invoiceId: subscription.openInvoice.id,
      method,
      restore: () => charges.restoreDefaultMethod(input, change.account, null),
    });
  }
}

function buildReply({
  before: { account: before, isRepeated },
  account,
  input: { tier },
  outcome,
  tierNow,
}: {
  readonly before: BillingChange;
  readonly account: BillingAccount;
  readonly input: SubscribeInput;
  readonly outcome: SubscribeOutcome;
  readonly tierNow: Organization['tier'];
}): SubscribeResponse {
  const subscription = account.copy?.subscription ?? null;
  const open = subscription?.openInvoice ?? null;
  const isDone = outcome === 'paid' || outcome === 'resumed';
  const newest = account.copy?.invoices[0] ?? null;
  const known = before.copy?.invoices.find(({ id }) => id === newest?.id);
  // A repeated request that charges nothing has no invoice.
  const invoice = open ?? (known?.status !== newest?.status || isRepeated ? newest : null);
  return {
    status: outcome === 'paid' ? 'active' : outcome,
    subscription_tier: tierNow,
    pending_tier: isDone ? null : tier,
    hosted_invoice_url: isDone ? null : (open?.hostedInvoiceUrl ?? null),
    invoice: invoice === null ? null : toBillingInvoice(invoice),
  };
}
