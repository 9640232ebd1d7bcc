import type { Tier } from './organizations.ts';

/*
 * Billing state stored by this server. Stripe is the source of truth; all data about money here are a copy
 * that only `billing/billing-sync` writes. Times are milliseconds since the epoch, money is in whole numbers
 * of the smallest currency unit.
 */

export interface PaymentMethodCopy {
  readonly id: string;
  readonly type: string;
  readonly brand: string | null;
  readonly last4: string | null;
  readonly expMonth: number | null;
  readonly expYear: number | null;
}

export interface InvoiceCopy {
  readonly id: string;
  readonly number: string | null;
  readonly status: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly createdAt: number;
  readonly hostedInvoiceUrl: string | null;
  readonly invoicePdf: string | null;
}

/** An unpaid invoice of the subscription. */
export interface OpenInvoiceCopy extends InvoiceCopy {
  /** Whether the customer must confirm the payment. */
  readonly needsAction: boolean;
  /** Message of the bank for the last failed charge. */
  readonly refusal: string | null;
}

export interface SubscriptionCopy {
  readonly id: string;
  /** Status as reported by Stripe: `active`, `past_due`, `paused`, `incomplete`, ... */
  readonly status: string;
  /** Null for a price that is not in the catalog. */
  readonly tier: Tier | null;
  readonly itemId: string;
  /** Price of that item. */
  readonly priceId: string;
  readonly startedAt: number;
  readonly periodStart: number | null;
  readonly periodEnd: number | null;
  readonly pausedAt: number | null;
  readonly scheduleId: string | null;
  /** Whether it is set to cancel at the end of its period (`cancel_at_period_end`) rather than at a time. */
  readonly endsWithPeriod: boolean;
  readonly pendingDowngrade: { readonly tier: Tier; readonly effectiveAt: number } | null;
  readonly pendingUpgrade: { readonly tier: Tier; readonly expiresAt: number | null } | null;
  readonly openInvoice: OpenInvoiceCopy | null;
  /** Whether an invoice of it is a draft, as that of a new month is for an hour: not paid yet. */
  readonly isInvoiceDrafted: boolean;
}

/** State of a customer in Stripe when it was last read. */
export interface BillingCopy {
  readonly readAt: number;
  readonly currency: string | null;
  readonly creditBalance: number;
  readonly defaultPaymentMethodId: string | null;
  readonly paymentMethods: readonly PaymentMethodCopy[];
  /** Newest first. */
  readonly invoices: readonly InvoiceCopy[];
  readonly subscription: SubscriptionCopy | null;
}

/** A requested billing change without a confirmed outcome. */
export interface BillingIntent {
  readonly kind: 'subscribe' | 'cancel-upgrade' | 'downgrade' | 'cancel-downgrade' | 'pause';
  readonly tier: Tier | null;
  readonly at: number;
  /** Whether a partially completed change has been repaired. */
  readonly settled: boolean;
}

/** State saved before an upgrade; restored if the upgrade is not paid. */
export interface UpgradeRollbackState {
  readonly subscriptionId: string;
  readonly from: Tier;
  /** Tier of the scheduled downgrade; null for none. */
  readonly tier: Tier | null;
  /** Default payment method before the upgrade, if the upgrade uses another one. */
  readonly usualMethodId?: string | null;
}

/** Withdrawal of usage credit by a pause, recorded before it is executed. */
export interface CreditWithdrawal {
  readonly nonce: string;
  /** Amount of the remaining credit that is returned to the customer. */
  readonly taken: number;
  /** Amount of the remaining credit that stays available for usage, granted again as a new credit. */
  readonly kept: number;
  /** Ids of the credit grants that expire. */
  readonly ended: readonly string[];
  readonly currency: string;
  /** Expiration time of the credits of the month, in seconds. */
  readonly expiresAt: number;
}

export interface BillingAccount {
  readonly customerId: string | null;
  /** True once a subscription has determined the tier: from then on, its end sets the tier to `free`. */
  readonly ownsTier: boolean;
  readonly intent: BillingIntent | null;
  readonly held: UpgradeRollbackState | null;
  readonly withdrawal: CreditWithdrawal | null;
  /**
   * Part of the customer's credit that was paid for tiers and returned: when used for a tier, it counts as
   * paid again.
   */
  readonly paidCredit: number;
  /** When the last subscription stopped being active; null while one is active, and if there was none. */
  readonly servedUntil: number | null;
  /** Payment methods that a bank declined last; none of them may replace a working one. */
  readonly declinedMethodIds: readonly string[];
  /** Payment method whose removal began, until its client has the reply: a repeated request succeeds. */
  readonly pendingRemovalId: string | null;
  readonly copy: BillingCopy | null;
}

/** Account of an organization that never paid. */
export const emptyBillingAccount: BillingAccount = {
  customerId: null,
  ownsTier: false,
  intent: null,
  held: null,
  withdrawal: null,
  paidCredit: 0,
  servedUntil: null,
  declinedMethodIds: [],
  pendingRemovalId: null,
  copy: null,
};

/** Whether usage is charged through Stripe, or is about to be. Not during a pause. */
export function isBilledByStripe({ copy, intent }: BillingAccount): boolean {
  const status = copy?.subscription?.status ?? 'paused';
  return status !== 'paused' || (intent?.kind === 'subscribe' && !intent.settled);
}
