import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import type {
  BillingInvoice,
  BillingPaymentMethod,
  PendingDowngrade,
  PendingUpgrade,
} from '../schemas/billing.ts';
import type {
  BillingCopy,
  InvoiceCopy,
  PaymentMethodCopy,
  SubscriptionCopy,
} from '../storage/billing-account.ts';
import { planStateOf } from './plan-states.ts';

/** Conversion of stored copies of Stripe objects to wire replies. */

export function toBillingInvoice(invoice: InvoiceCopy): BillingInvoice {
  return {
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    amount_due: invoice.amountDue,
    amount_paid: invoice.amountPaid,
    currency: invoice.currency,
    created_at: toTimestamp(invoice.createdAt),
    hosted_invoice_url: invoice.hostedInvoiceUrl,
    invoice_pdf: invoice.invoicePdf,
  };
}

export function toBillingPaymentMethod(
  method: PaymentMethodCopy,
  defaultMethodId: BillingCopy['defaultPaymentMethodId'],
): BillingPaymentMethod {
  return {
    id: method.id,
    type: method.type,
    brand: method.brand,
    last4: method.last4,
    exp_month: method.expMonth,
    exp_year: method.expYear,
    is_default: method.id === defaultMethodId,
  };
}

export function toPendingDowngrade(subscription: SubscriptionCopy | null): PendingDowngrade | null {
  const pending = subscription?.pendingDowngrade ?? null;
  return pending && { tier: pending.tier, effective_at: toTimestamp(pending.effectiveAt) };
}

/** Includes the first subscription while it is unpaid. */
export function toPendingUpgrade(subscription: SubscriptionCopy | null): PendingUpgrade | null {
  if (subscription === null) return null;
  const { pendingUpgrade, openInvoice, tier } = subscription;
  const hosted_invoice_url = openInvoice?.hostedInvoiceUrl ?? null;
  if (pendingUpgrade !== null)
    return {
      tier: pendingUpgrade.tier,
      hosted_invoice_url,
      expires_at: toOptionalTimestamp(pendingUpgrade.expiresAt),
    };
  const isFirst = planStateOf(subscription) === 'incomplete';
  if (isFirst && tier !== null) return { tier, hosted_invoice_url, expires_at: null };
  return null;
}
