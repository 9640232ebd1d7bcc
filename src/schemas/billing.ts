import { SubscriptionType } from './admin.ts';
import { RateLimits } from './organization-limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of billing: tiers, payment methods, invoices. Money is in the smallest unit of the currency. */

const organizationId = Uuid('The organisation.');
const optionalText = (description: string) => Type.Optional(Nullable(Type.String(), { description }));
const nullableText = (description: string) => Nullable(Type.String(), { description });
const nullableTime = (description: string) => Nullable(Timestamp(description), { description });
const centsField = (description: string) =>
  Type.Integer({ description: `${description}, in the smallest unit of the currency.` });
const currency = Type.String({ description: 'Three letters of ISO 4217, lower case.', examples: ['usd'] });
const returnUrl = optionalText('Where the browser comes back to: a path or an address of this server.');

const BillingInvoice = Component('BillingInvoice', 'An invoice.', {
  id: Type.String(),
  number: nullableText('As it is printed on the invoice; null while it is a draft.'),
  status: nullableText('`draft`, `open`, `paid`, `void` or `uncollectible`.'),
  amount_due: centsField('What is or was to pay'),
  amount_paid: centsField('What was paid'),
  currency,
  created_at: Timestamp('When it was made.'),
  hosted_invoice_url: nullableText('Where the customer can pay and read it.'),
  invoice_pdf: nullableText('The invoice as a file.'),
});
export type BillingInvoice = Static<typeof BillingInvoice>;

const BillingPaymentMethod = Component('BillingPaymentMethod', 'How the organisation pays.', {
  id: Type.String(),
  type: Type.String({ examples: ['card'] }),
  brand: nullableText('Of a card.'),
  last4: nullableText('The last digits.'),
  exp_month: Nullable(Type.Integer()),
  exp_year: Nullable(Type.Integer()),
  is_default: Type.Boolean({ description: 'Whether invoices are charged to it.' }),
});
export type BillingPaymentMethod = Static<typeof BillingPaymentMethod>;

const PendingDowngrade = Component('PendingDowngrade', 'A lower tier that is to come.', {
  tier: SubscriptionType,
  effective_at: Timestamp('When it begins: the first of a month, 00:00 UTC.'),
});
export type PendingDowngrade = Static<typeof PendingDowngrade>;

const PendingUpgrade = Component('PendingUpgrade', 'A higher tier that waits for its payment.', {
  tier: SubscriptionType,
  hosted_invoice_url: nullableText('Where the payment is completed.'),
  expires_at: nullableTime('When it is given up.'),
});
export type PendingUpgrade = Static<typeof PendingUpgrade>;

export const PreviewRequest = Component('PreviewRequest', 'The tier an organisation thinks about.', {
  organization_id: organizationId,
  tier: SubscriptionType,
});
export type PreviewRequest = Static<typeof PreviewRequest>;

const PreviewLine = Component('PreviewLine', 'A line of the invoice.', {
  description: Type.String(),
  amount_cents: centsField('What it costs; negative for what is given back'),
});

export const PreviewResponse = Component('PreviewResponse', 'What `subscribe` would charge at this time.', {
  subscription_tier: SubscriptionType,
  as_of: Timestamp(
    'The rest of the month is counted from then. Sent on to `subscribe`, that is what it charges for a higher tier or the end of a pause.',
  ),
  currency,
  lines: Type.Array(PreviewLine),
  total_cents: centsField('The sum of the lines with discounts and taxes'),
  credit_cents: centsField('What credit pays of it'),
  due_cents: centsField('What is left to charge now'),
  monthly_price_cents: centsField('What each whole month costs from then on, without taxes'),
  next_invoice_at: Timestamp('When the first whole month begins.'),
});
export type PreviewResponse = Static<typeof PreviewResponse>;

export const SubscribeRequest = Component('SubscribeRequest', 'The tier an organisation wants.', {
  organization_id: organizationId,
  tier: SubscriptionType,
  payment_method_id: optionalText('What to charge; otherwise the usual payment method.'),
  as_of: Type.Optional(
    Nullable(
      Timestamp(
        'Of a preview of the last hour: a higher tier, or the end of a pause, is charged as it said. A first tier is charged from the moment it begins.',
      ),
    ),
  ),
  return_url: returnUrl,
});
export type SubscribeRequest = Static<typeof SubscribeRequest>;

export const SubscribeResponse = Component('SubscribeResponse', 'What became of it.', {
  status: OneOf(['active', 'requires_action', 'requires_payment_method', 'resumed'], {
    description:
      '`active`: paid, and the tier applies; `resumed`: the same after a pause; the other two: open `hosted_invoice_url` to confirm or to pay.',
  }),
  subscription_tier: SubscriptionType,
  pending_tier: Nullable(SubscriptionType),
  hosted_invoice_url: nullableText('Where the payment is completed.'),
  invoice: Nullable(BillingInvoice),
});
export type SubscribeResponse = Static<typeof SubscribeResponse>;

export const DowngradeRequest = Component('DowngradeRequest', 'The lower tier an organisation wants.', {
  organization_id: organizationId,
  tier: SubscriptionType,
});
export type DowngradeRequest = Static<typeof DowngradeRequest>;

export const DowngradeResponse = Component('DowngradeResponse', 'What is planned.', {
  subscription_tier: SubscriptionType,
  pending_downgrade: Nullable(PendingDowngrade),
});
export type DowngradeResponse = Static<typeof DowngradeResponse>;

export const CancelDowngradeRequest = Component('CancelDowngradeRequest', 'Who keeps the tier.', {
  organization_id: organizationId,
});
export type CancelDowngradeRequest = Static<typeof CancelDowngradeRequest>;

export const CancelDowngradeResponse = Component(
  'CancelDowngradeResponse',
  'The tier stays.',
  DowngradeResponse.properties,
);
export type CancelDowngradeResponse = Static<typeof CancelDowngradeResponse>;

export const CancelUpgradeRequest = Component('CancelUpgradeRequest', 'Who gives up an unpaid upgrade.', {
  organization_id: organizationId,
});
export type CancelUpgradeRequest = Static<typeof CancelUpgradeRequest>;

export const CancelUpgradeResponse = Component('CancelUpgradeResponse', 'Nothing of the upgrade is owed.', {
  subscription_tier: SubscriptionType,
  pending_upgrade: Type.Null(),
});
export type CancelUpgradeResponse = Static<typeof CancelUpgradeResponse>;

export const BillingStatusRequest = Component('StatusRequest', 'Whose tier and payments.', {
  organization_id: organizationId,
});
export type BillingStatusRequest = Static<typeof BillingStatusRequest>;

const TierPrice = Component('TierPrice', 'What a tier costs and allows.', {
  tier: SubscriptionType,
  monthly_price_cents: Nullable(Type.Integer(), { description: 'Null where the price is agreed on.' }),
  currency,
  rate_limits: RateLimits,
});

const UsagePricing = Component('UsagePricing', 'What use of the models costs beside the tier.', {
  currency,
  rerank_per_million_tokens_cents: Nullable(Type.Number()),
  embed_per_million_tokens_cents: Nullable(Type.Number()),
});

const BillingUsage = Component('BillingUsage', 'Use of the current calendar month (UTC).', {
  month: Type.String({ examples: ['2026-11'] }),
  charges_cents: centsField('What was used costs'),
  subscription_payments_cents: centsField(
    'What was paid for the subscription this month and not given back, which is deducted',
  ),
  invoiced_cents: centsField('What of it was invoiced already, as a pause does, beyond what was deducted'),
  billable_cents: centsField('What is left to pay'),
});
export type BillingUsage = Static<typeof BillingUsage>;

export const BillingStatusResponse = Component('StatusResponse', 'Tier, payments and limits.', {
  billing_enabled: Type.Boolean({ description: 'False where the server takes no payments.' }),
  stale: Type.Boolean({ description: 'True when the payment provider did not answer: as last read.' }),
  read_at: nullableTime('When the payment provider was read.'),
  subscription_tier: SubscriptionType,
  status: OneOf(['none', 'active', 'past_due', 'paused', 'incomplete', 'requires_action']),
  current_period_start: nullableTime('Of what is paid for.'),
  current_period_end: nullableTime('Of what is paid for.'),
  paused_at: nullableTime('Since when it is paused.'),
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
  credit_balance_cents: centsField('Credit that the next invoices use up'),
  usage: BillingUsage,
});
export type BillingStatusResponse = Static<typeof BillingStatusResponse>;

export const AddPaymentRequest = Component('AddPaymentRequest', 'A payment method to add.', {
  organization_id: organizationId,
  payment_method_id: optionalText('One that was made in the browser; without it the reply leads to a form.'),
  return_url: returnUrl,
});
export type AddPaymentRequest = Static<typeof AddPaymentRequest>;

export const AddPaymentResponse = Component('AddPaymentResponse', 'A form to open, or what was added.', {
  url: Type.Optional(Type.String({ description: 'Where the customer enters it.' })),
  session_id: Type.Optional(Type.String({ description: 'Of that form.' })),
  payment_method: Type.Optional(BillingPaymentMethod),
});
export type AddPaymentResponse = Static<typeof AddPaymentResponse>;

export const RemovePaymentRequest = Component('RemovePaymentRequest', 'A payment method to remove.', {
  organization_id: organizationId,
  payment_method_id: Type.String({ minLength: 1, maxLength: 255 }),
});
export type RemovePaymentRequest = Static<typeof RemovePaymentRequest>;

export const RemovePaymentResponse = Component('RemovePaymentResponse', 'It is charged no more.', {
  message: Type.String({ description: 'A word for people.' }),
});
export type RemovePaymentResponse = Static<typeof RemovePaymentResponse>;

export const ManageBillingDetailsRequest = Component('ManageBillingDetailsRequest', 'Whose details.', {
  organization_id: organizationId,
  return_url: returnUrl,
});
export type ManageBillingDetailsRequest = Static<typeof ManageBillingDetailsRequest>;

export const ManageBillingDetailsResponse = Component('ManageBillingDetailsResponse', 'A page, once.', {
  url: Type.String({ description: 'Where name, address and tax ids of future invoices are edited.' }),
});
export type ManageBillingDetailsResponse = Static<typeof ManageBillingDetailsResponse>;

export const PauseRequest = Component('PauseRequest', 'Whose subscription is to rest.', {
  organization_id: organizationId,
});
export type PauseRequest = Static<typeof PauseRequest>;

export const PauseResponse = Component('PauseResponse', 'The subscription rests.', {
  status: OneOf(['paused']),
  paused_at: nullableTime('Since when.'),
  subscription_tier: SubscriptionType,
  paused_tier: Nullable(SubscriptionType, { description: 'The tier that `subscribe` resumes.' }),
});
export type PauseResponse = Static<typeof PauseResponse>;

export const RedeemCodeRequest = Component('RedeemCodeRequest', 'A promo code.', {
  organization_id: organizationId,
  code: Type.String({ minLength: 1, maxLength: 500 }),
});
export type RedeemCodeRequest = Static<typeof RedeemCodeRequest>;

export const RedeemCodeResponse = Component('RedeemCodeResponse', 'The credit it gave.', {
  credit_cents: centsField('What the code was worth'),
  currency,
  credit_balance_cents: centsField('All credit now'),
  message: Type.String(),
});
export type RedeemCodeResponse = Static<typeof RedeemCodeResponse>;

/** The body stays raw because its signature is verified. */
export const BillingEvent = Type.Unsafe<{ readonly body: Uint8Array; readonly signature?: string }>({
  title: 'BillingEvent',
  description: 'An event of Stripe, signed in the header `stripe-signature`.',
  type: 'object',
  additionalProperties: true,
});

export const BillingEventResponse = Component('BillingEventResponse', 'It arrived.', {
  received: Type.Boolean(),
});
export type BillingEventResponse = Static<typeof BillingEventResponse>;
