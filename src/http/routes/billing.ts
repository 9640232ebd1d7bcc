import {
  managerRoles,
  type OrganizationScopedRequest,
  ownerRoles,
  toActor,
} from '../../accounts/membership-authorizer.ts';
import type { UserCall } from '../../accounts/user-operations.ts';
import type { Billing, BillingContext } from '../../billing/billing.ts';
import * as wire from '../../schemas/billing.ts';
import type { Role } from '../../schemas/principal.ts';
import type { Static, TSchema } from '../../schemas/typebox.ts';
import {
  type AccountRoute,
  type AccountServices,
  accountRoute,
  mutationRoute,
  requireRole,
  userRoute,
  wrongRoleMessage,
} from './account-route.ts';
import { organizationExample } from './examples.ts';

/** Routes under `/api/billing`: subscriptions, payment methods and promo codes of organizations. */

const commonErrors = {
  402: 'The payment was declined. The detail gives the reason.',
  403: wrongRoleMessage,
  404: 'The organization does not exist, or you are not a member.',
  409: 'Another change is in progress, or a condition must be resolved first. The detail names it.',
  502: 'The payment provider failed. Nothing is charged twice.',
  503: 'Payments are disabled on this server, or the payment provider does not respond.',
} as const;

/**
 * Why the reply is withheld on repetition: the URL grants access to a page of the payment provider without
 * signing in.
 */
const shownOnceMessage =
  'The URL is shown only once and not stored. Send the request with a new Idempotency-Key for a new URL.';

/** Builds a mutation route for owners of the organization; `withDeadline` bounds the billing call. */
function ownerMutation<Q extends TSchema, R extends TSchema>(
  options: {
    readonly operation: AccountRoute['operation'];
    readonly path: string;
    readonly summary: string;
    readonly description: string;
    readonly request: Q;
    readonly reply: R;
    readonly example: Static<Q> & OrganizationScopedRequest;
    readonly errorResponses?: AccountRoute['errorResponses'];
    readonly withheld?: (reply: Static<R>) => string | null;
  },
  execute: (billing: Billing, call: BillingContext, request: Static<Q>) => Promise<Static<R>>,
): AccountRoute {
  const route = mutationRoute({
    ...options,
    errorResponses: { ...commonErrors, ...options.errorResponses },
    authorize: (services, call, request) =>
      requireRole(ownerRoles)(services, call, request as OrganizationScopedRequest),
    serve: async (services, call, request) =>
      execute(
        services.billing,
        billingCall(services, call, request as OrganizationScopedRequest, ownerRoles),
        request,
      ),
  });
  return {
    ...route,
    serve: (services, call, request) => {
      const { organization_id } = request as OrganizationScopedRequest;
      return services.billing.withDeadline(organization_id.toLowerCase(), (deadline) =>
        route.serve(services, { ...call, deadline }, request),
      );
    },
  };
}

function billingCall(
  { authorizer }: AccountServices,
  call: UserCall,
  request: OrganizationScopedRequest,
  allowed: readonly Role[],
): BillingContext {
  const { organization } = authorizer.authorize(call, request, allowed);
  return { organization, by: toActor(call), deadline: call.deadline };
}

export const billingRoutes: readonly AccountRoute[] = [
  userRoute({
    operation: 'billing-status',
    path: '/api/billing/status',
    summary: 'Show tier, payments and limits',
    description:
      'For owners and admins. Synchronizes with the payment provider. If the provider does not respond, returns the last known state with `stale: true`. If payments are disabled, returns tier and limits with `billing_enabled: false`.',
    request: wire.BillingStatusRequest,
    reply: wire.BillingStatusResponse,
    example: organizationExample,
    errorResponses: { 403: wrongRoleMessage, 404: commonErrors[404] },
    serve: async (services, call, request) => {
      const { organization } = billingCall(services, call, request, managerRoles);
      // First grants tiers that were bought at a marketplace but not granted because of a crash, then
      // authorizes again.
      await services.marketplaces.lifecycle.grantPendingTiersOf(organization.organizationId);
      return services.billing.status(billingCall(services, call, request, managerRoles));
    },
  }),
  userRoute({
    operation: 'preview-subscription',
    path: '/api/billing/preview',
    summary: 'Preview the charge of a subscription',
    description:
      'For owners. Previews the invoice for a first or higher tier, or for resuming a paused tier, including proration, discounts, taxes and credit. Changes nothing. Pass the `as_of` of the reply to `subscribe` within an hour to be charged the previewed amount (not for a first tier); without it, the charge covers only the remaining part of the month.',
    request: wire.PreviewRequest,
    reply: wire.PreviewResponse,
    example: { ...organizationExample, tier: 'teams' },
    errorResponses: {
      400: 'The tier is not higher than the current one, or cannot be purchased.',
      403: commonErrors[403],
      404: commonErrors[404],
      409: 'An invoice is unpaid, another tier is paused, or the tier was granted free of charge.',
      429: 'Too many changes and previews in a short time.',
      502: commonErrors[502],
      503: commonErrors[503],
    },
    serve: async (services, call, request) => {
      services.changeLimiter.consume(call.principal.userId);
      return services.billing.preview(billingCall(services, call, request, ownerRoles), request);
    },
  }),
  ownerMutation(
    {
      operation: 'subscribe',
      path: '/api/billing/subscribe',
      summary: 'Subscribe to a first or higher tier',
      description:
        'Charges the rest of the month immediately; the tier applies once the charge is paid. If the bank requires confirmation, the reply contains the URL of the invoice. Resumes a paused subscription. Returns 409 for a tier that the administrator granted free of charge, or a lower one, because the charge would have no effect.',
      request: wire.SubscribeRequest,
      reply: wire.SubscribeResponse,
      example: { ...organizationExample, tier: 'starter' },
      errorResponses: {
        400: 'The tier is not higher than the current one or cannot be purchased, or `return_url` is not on this server.',
      },
    },
    (billing, call, request) => billing.subscribe(call, request),
  ),
  ownerMutation(
    {
      operation: 'downgrade',
      path: '/api/billing/downgrade',
      summary: 'Schedule a downgrade',
      description: 'Takes effect on the 1st of the next month, 00:00 UTC. `free` ends the subscription.',
      request: wire.DowngradeRequest,
      reply: wire.DowngradeResponse,
      example: { ...organizationExample, tier: 'free' },
      errorResponses: { 400: 'The tier is not lower than the current one.' },
    },
    (billing, call, request) => billing.downgrade(call, request),
  ),
  ownerMutation(
    {
      operation: 'cancel-downgrade',
      path: '/api/billing/cancel-downgrade',
      summary: 'Cancel a scheduled downgrade',
      description: 'Cancels a scheduled downgrade and keeps the tier.',
      request: wire.CancelDowngradeRequest,
      reply: wire.CancelDowngradeResponse,
      example: organizationExample,
      errorResponses: { 400: 'No downgrade is pending.' },
    },
    (billing, call, request) => billing.cancelDowngrade(call, request),
  ),
  ownerMutation(
    {
      operation: 'cancel-upgrade',
      path: '/api/billing/cancel-upgrade',
      summary: 'Cancel an unpaid upgrade',
      description:
        'Voids the open invoice, so it can no longer be paid. Restores the tier, a scheduled downgrade and the default payment method. Also applies to an unpaid first tier.',
      request: wire.CancelUpgradeRequest,
      reply: wire.CancelUpgradeResponse,
      example: organizationExample,
      errorResponses: { 400: 'No upgrade is pending.' },
    },
    (billing, call, request) => billing.cancelUpgrade(call, request),
  ),
  ownerMutation(
    {
      operation: 'add-payment-method',
      path: '/api/billing/add-payment-method',
      summary: 'Add a payment method',
      description: 'Returns the URL of a form of the payment provider, or the payment method that was added.',
      request: wire.AddPaymentRequest,
      reply: wire.AddPaymentResponse,
      example: organizationExample,
      errorResponses: {
        400: '`return_url` is not on this server.',
        404: 'The organization or the payment method does not exist.',
      },
      withheld: ({ url }) => (url === undefined ? null : shownOnceMessage),
    },
    (billing, call, request) => billing.addPaymentMethod(call, request),
  ),
  ownerMutation(
    {
      operation: 'remove-payment-method',
      path: '/api/billing/remove-payment-method',
      summary: 'Remove a payment method',
      description: 'The last payment method cannot be removed while a payment is due.',
      request: wire.RemovePaymentRequest,
      reply: wire.RemovePaymentResponse,
      example: { ...organizationExample, payment_method_id: 'pm_1' },
      errorResponses: {
        400: 'It is the last payment method of a subscription.',
        404: 'The organization or the payment method does not exist.',
      },
    },
    (billing, call, request) => billing.removePaymentMethod(call, request),
  ),
  ownerMutation(
    {
      operation: 'manage-billing-details',
      path: '/api/billing/manage-billing-details',
      summary: 'Edit the billing details',
      description:
        'Returns a single-use URL of the payment provider for editing name, address and tax IDs of future invoices.',
      request: wire.ManageBillingDetailsRequest,
      reply: wire.ManageBillingDetailsResponse,
      example: organizationExample,
      errorResponses: { 400: '`return_url` is not on this server.' },
      withheld: () => shownOnceMessage,
    },
    (billing, call, request) => billing.manageDetails(call, request),
  ),
  ownerMutation(
    {
      operation: 'pause',
      path: '/api/billing/pause',
      summary: 'Pause the subscription',
      description:
        'Stops charges and applies the limits of `free` until `subscribe` resumes the subscription.',
      request: wire.PauseRequest,
      reply: wire.PauseResponse,
      example: organizationExample,
      errorResponses: { 400: 'There is no active subscription.' },
    },
    (billing, call, request) => billing.pause(call, request),
  ),
  ownerMutation(
    {
      operation: 'redeem-code',
      path: '/api/billing/redeem-code',
      summary: 'Redeem a promo code',
      description:
        'Adds the value of the code to the credit of the organization. Each code can be redeemed once.',
      request: wire.RedeemCodeRequest,
      reply: wire.RedeemCodeResponse,
      example: { ...organizationExample, code: 'WELCOME' },
      errorResponses: { 400: 'The code is invalid or has expired.', 429: 'At most ten attempts per hour.' },
    },
    (billing, call, request) => billing.redeemCode(call, request),
  ),
  accountRoute(
    {
      operation: 'billing-webhook',
      access: 'none',
      path: '/api/billing/webhook',
      summary: 'Receive a Stripe webhook',
      description:
        'For Stripe only; the signature of the raw body is verified. Events may arrive repeatedly and in any order.',
      request: wire.BillingEvent,
      reply: wire.BillingEventResponse,
      example: { body: new Uint8Array() },
      errorResponses: {
        400: 'The signature is invalid or too old.',
        413: 'The event is too large.',
        503: commonErrors[503],
      },
    },
    { method: 'POST', inputSource: 'bytes', signatureHeader: 'stripe-signature' },
    async ({ billing }, _call, { body, signature }) => {
      await billing.handleWebhook(body, signature);
      return { kind: 'json', body: { received: true } };
    },
  ),
];
