import { SubscriptionType } from './admin.ts';
import { RateLimits } from './organization-limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of billing: tiers, payment methods, invoices. Money is in the smallest unit of the currency. */

const organizationId = Uuid('ID of the organization.');
const optionalText = (description: string) => Type.Optional(Nullable(Type.String(), { description }));
const nullableText = (description: string) => Nullable(Type.String(), { description });
const nullableTime = (description: string) => Nullable(Timestamp(description), { description });
const centsField = (description: string) =>
  Type.Integer({ description: `${description}, in the smallest unit of the currency.` });
const currency = Type.String({ description: 'ISO 4217 code in lower case.', examples: ['usd'] });
const returnUrl = optionalText('Redirect target of the browser: a path or a URL of this server.');

const BillingInvoice = Component('BillingInvoice', 'An invoice.', {
  id: Type.String(),
  number: nullableText('Invoice number; null while it is a draft.'),
  status: nullableText('`draft`, `open`, `paid`, `void` or `uncollectible`.'),
  amount_due: centsField('Total amount'),
  amount_paid: centsField('Amount paid'),
  currency,
  created_at: Timestamp('Creation time.'),
  hosted_invoice_url: nullableText('URL of the invoice page.'),
  invoice_pdf: nullableText('URL of the invoice as a PDF.'),
});
export type BillingInvoice = Static<typeof BillingInvoice>;

const BillingPaymentMethod = Component('BillingPaymentMethod', 'A payment method.', {
  id: Type.String(),
  type: Type.String({ examples: ['card'] }),
  brand: nullableText('Card brand.'),
  last4: nullableText('The last digits.'),
  exp_month: Nullable(Type.Integer()),
  exp_year: Nullable(Type.Integer()),
  is_default: Type.Boolean({ description: 'Whether invoices are charged to it.' }),
});
export type BillingPaymentMethod = Static<typeof BillingPaymentMethod>;

const PendingDowngrade = Component('PendingDowngrade', 'A scheduled lower tier.', {
  tier: SubscriptionType,
  effective_at: Timestamp('Effective time: the first of a month, 00:00 UTC.'),
});
export type PendingDowngrade = Static<typeof PendingDowngrade>;

const PendingUpgrade = Component('PendingUpgrade', 'A higher tier with a pending payment.', {
  tier: SubscriptionType,
  hosted_invoice_url: nullableText('URL of the page that completes the payment.'),
  expires_at: nullableTime('Expiry time.'),
});
export type PendingUpgrade = Static<typeof PendingUpgrade>;

export const PreviewRequest = Component('PreviewRequest', 'The tier to preview.', {
  organization_id: organizationId,
  tier: SubscriptionType,
});
export type PreviewRequest = Static<typeof PreviewRequest>;

const PreviewLine = Component('PreviewLine', 'A line of the invoice.', {
  description: Type.String(),
  amount_cents: centsField('Amount; negative for a refund'),
});

export const PreviewResponse = Component('PreviewResponse', 'The charge of `subscribe` at this time.', {
  subscription_tier: SubscriptionType,
  as_of: Timestamp(
    'Start of the prorated period. Pass it to `subscribe` to be charged this amount for a higher tier or for resuming.',
  ),
  currency,
  lines: Type.Array(PreviewLine),
  total_cents: centsField('The sum of the lines with discounts and taxes'),
  credit_cents: centsField('Amount covered by credit'),
  due_cents: centsField('Amount due now'),
  monthly_price_cents: centsField('Price of each full month, without taxes'),
  next_invoice_at: Timestamp('Start of the first full month.'),
});
export type PreviewResponse = Static<typeof PreviewResponse>;

export const SubscribeRequest = Component('SubscribeRequest', 'The tier to subscribe to.', {
  organization_id: organizationId,
  tier: SubscriptionType,
  payment_method_id: optionalText('Payment method to charge; absent or null means the default one.'),
  as_of: Type.Optional(
    Nullable(
      Timestamp(
        'The `as_of` of a preview of the last hour: a higher tier or resuming is charged as previewed. A first tier is charged from its start.',
      ),
    ),
  ),
  return_url: returnUrl,
});
export type SubscribeRequest = Static<typeof SubscribeRequest>;

export const SubscribeResponse = Component('SubscribeResponse', 'Result of the subscription.', {
  status: OneOf(['active', 'requires_action', 'requires_payment_method', 'resumed'], {
    description:
      '`active`: paid, the tier applies; `resumed`: the same after a pause; otherwise open `hosted_invoice_url` to confirm or to pay.',
  }),
  subscription_tier: SubscriptionType,
  pending_tier: Nullable(SubscriptionType),
  hosted_invoice_url: nullableText('URL of the page that completes the payment.'),
  invoice: Nullable(BillingInvoice),
});
export type SubscribeResponse = Static<typeof SubscribeResponse>;

export const DowngradeRequest = Component('DowngradeRequest', 'The lower tier to schedule.', {
  organization_id: organizationId,
  tier: SubscriptionType,
});
export type DowngradeRequest = Static<typeof DowngradeRequest>;

export const DowngradeResponse = Component('DowngradeResponse', 'The scheduled change.', {
  subscription_tier: SubscriptionType,
  pending_downgrade: Nullable(PendingDowngrade),
});
export type DowngradeResponse = Static<typeof DowngradeResponse>;

export const CancelDowngradeRequest = Component(
  'CancelDowngradeRequest',
  'The organization with the scheduled downgrade.',
  {
    organization_id: organizationId,
  },
);
export type CancelDowngradeRequest = Static<typeof CancelDowngradeRequest>;

export const CancelDowngradeResponse = Component(
  'CancelDowngradeResponse',
  'The tier is kept.',
  DowngradeResponse.properties,
);
export type CancelDowngradeResponse = Static<typeof CancelDowngradeResponse>;

export const CancelUpgradeRequest = Component(
  'CancelUpgradeRequest',
  'The organization with the unpaid upgrade.',
  {
    organization_id: organizationId,
  },
);
export type CancelUpgradeRequest = Static<typeof CancelUpgradeRequest>;

export const CancelUpgradeResponse = Component(
  'CancelUpgradeResponse',
  'The upgrade was canceled and nothing is due.',
  {
    subscription_tier: SubscriptionType,
    pending_upgrade: Type.Null(),
  },
);
export type CancelUpgradeResponse = Static<typeof CancelUpgradeResponse>;

export const BillingStatusRequest = Component('StatusRequest', 'The organization to describe.', {
  organization_id: organizationId,
});
export type BillingStatusRequest = Static<typeof BillingStatusRequest>;

const TierPrice = Component('TierPrice', 'Price and limits of a tier.', {
  tier: SubscriptionType,
  monthly_price_cents: Nullable(Type.Integer(), { description: 'Null if the price is negotiated.' }),
  currency,
  rate_limits: RateLimits,
});

const UsagePricing = Component('UsagePricing', 'Prices of model usage in addition to the tier.', {
  currency,
  rerank_per_million_tokens_cents: Nullable(Type.Number()),
  embed_per_million_tokens_cents: Nullable(Type.Number()),
});

const BillingUsage = Component('BillingUsage', 'Usage in the current calendar month (UTC).', {
  month: Type.String({ examples: ['2026-11'] }),
  charges_cents: centsField('Cost of usage'),
  subscription_payments_cents: centsField(
    'Subscription payments of this month (without refunds), which are deducted',
  ),
  invoiced_cents: centsField('Amount already invoiced beyond the deduction, for example by a pause'),
  billable_cents: centsField('Amount still to be charged'),
});
export type BillingUsage = Static<typeof BillingUsage>;

export const BillingStatusResponse = Component('StatusResponse', 'Tier, payments and limits.', {
  billing_enabled: Type.Boolean({ description: 'False if payments are disabled on this server.' }),
  stale: Type.Boolean({
    description:
      'True if the payment provider did not respond; the reply then contains the last known state.',
  }),
  read_at: nullableTime('Time of the last synchronization with the payment provider.'),
  subscription_tier: SubscriptionType,
  status: OneOf(['none', 'active', 'past_due', 'paused', 'incomplete', 'requires_action']),
  current_period_start: nullableTime('Start of the paid period.'),
  current_period_end: nullableTime('End of the paid period.'),
  paused_at: nullableTime('Start of the pause; null if not paused.'),
  paused_tier: Nullable(SubscriptionType, { description: 'The tier that `subscribe` resumes.' }),
  payment_method: Nullable(BillingPaymentMethod),
  payment_methods: Type.Array(BillingPaymentMethod),
  invoices: Type.Array(BillingInvoice),
  pricing: Type.Array(TierPrice),
  usage_pricing: UsagePricing,
  rate_limits: RateLimits,
  pending_downgrade: Nullable(PendingDowngrade),
  pending_upgrade: Nullable(PendingUpgrade),
  currency,
  credit_balance_cents: centsField('Credit that is applied to the next invoices'),
  usage: BillingUsage,
});
export type BillingStatusResponse = Static<typeof BillingStatusResponse>;

export const AddPaymentRequest = Component('AddPaymentRequest', 'A payment method to add.', {
  organization_id: organizationId,
  payment_method_id: optionalText(
    'A payment method created in the browser; without it, the reply contains the URL of a form.',
  ),
  return_url: returnUrl,
});
export type AddPaymentRequest = Static<typeof AddPaymentRequest>;

export const AddPaymentResponse = Component(
  'AddPaymentResponse',
  'A form to open, or the payment method that was added.',
  {
    url: Type.Optional(Type.String({ description: 'URL of the form.' })),
    session_id: Type.Optional(Type.String({ description: 'ID of the form session.' })),
    payment_method: Type.Optional(BillingPaymentMethod),
  },
);
export type AddPaymentResponse = Static<typeof AddPaymentResponse>;

export const RemovePaymentRequest = Component('RemovePaymentRequest', 'A payment method to remove.', {
  organization_id: organizationId,
  payment_method_id: Type.String({ minLength: 1, maxLength: 255 }),
});
export type RemovePaymentRequest = Static<typeof RemovePaymentRequest>;

export const RemovePaymentResponse = Component('RemovePaymentResponse', 'The payment method was removed.', {
  message: Type.String({ description: 'Message for display.' }),
});
export type RemovePaymentResponse = Static<typeof RemovePaymentResponse>;

export const ManageBillingDetailsRequest = Component(
  'ManageBillingDetailsRequest',
  'The organization of the billing details.',
  {
    organization_id: organizationId,
    return_url: returnUrl,
  },
);
export type ManageBillingDetailsRequest = Static<typeof ManageBillingDetailsRequest>;

export const ManageBillingDetailsResponse = Component('ManageBillingDetailsResponse', 'A single-use page.', {
  url: Type.String({ description: 'URL for editing name, address and tax IDs of future invoices.' }),
});
export type ManageBillingDetailsResponse = Static<typeof ManageBillingDetailsResponse>;

export const PauseRequest = Component('PauseRequest', 'The subscription to pause.', {
  organization_id: organizationId,
});
export type PauseRequest = Static<typeof PauseRequest>;

export const PauseResponse = Component('PauseResponse', 'The subscription is paused.', {
  status: OneOf(['paused']),
  paused_at: nullableTime('Start of the pause.'),
  subscription_tier: SubscriptionType,
  paused_tier: Nullable(SubscriptionType, { description: 'The tier that `subscribe` resumes.' }),
});
export type PauseResponse = Static<typeof PauseResponse>;

export const RedeemCodeRequest = Component('RedeemCodeRequest', 'A promo code.', {
  organization_id: organizationId,
  code: Type.String({ minLength: 1, maxLength: 500 }),
});
export type RedeemCodeRequest = Static<typeof RedeemCodeRequest>;

export const RedeemCodeResponse = Component('RedeemCodeResponse', 'The credit that was added.', {
  credit_cents: centsField('Value of the code'),
  currency,
  credit_balance_cents: centsField('Credit balance'),
  message: Type.String(),
});
export type RedeemCodeResponse = Static<typeof RedeemCodeResponse>;

/** The body stays raw because its signature is verified. */
export const BillingEvent = Type.Unsafe<{ readonly body: Uint8Array; readonly signature?: string }>({
  title: 'BillingEvent',
  description: 'A Stripe event, signed in the header `stripe-signature`.',
  type: 'object',
  additionalProperties: true,
});

export const BillingEventResponse = Component('BillingEventResponse', 'The event was received.', {
  received: Type.Boolean(),
});
export type BillingEventResponse = Static<typeof BillingEventResponse>;
