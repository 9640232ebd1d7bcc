import {
  managerRoles,
  type OrganizationScopedRequest,
  ownerRoles,
  toActor,
} from '../accounts/membership-authorizer.ts';
import type { UserCall } from '../accounts/user-operations.ts';
import type { Billing, BillingContext } from '../billing/billing.ts';
import * as wire from '../schemas/billing.ts';
import type { Role } from '../schemas/principal.ts';
import type { Static, TSchema } from '../schemas/typebox.ts';
import {
  type AccountRoute,
  type AccountServices,
  accountRoute,
  mutationRoute,
  requireRole,
  userRoute,
} from './account-route.ts';

/** Routes under `/api/billing`: subscriptions, payment methods and promo codes of organizations. */

const organizationExample = { organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' } as const;
const commonErrors = {
  402: 'The payment was declined; the detail says why.',
  403: 'For owners.',
  404: 'You belong to no such organisation.',
  409: 'Another change is under way, or something has to be settled first; the detail says what.',
  502: 'The payment provider failed. Nothing is charged twice.',
  503: 'The server takes no payments, or the payment provider does not answer.',
} as const;

/**
 * Why the reply is withheld on repetition: the URL grants access to a page of the payment provider without
 * signing in.
 */
const shownOnceMessage =
  'The address is shown once and not stored. Send the request with a new Idempotency-Key for a new address.';

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
      return services.billing.withDeadline(
        organization_id.toLowerCase(),
        route.serve(services, call, request),
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
  return { organization, by: toActor(call) };
}

export const billingRoutes: readonly AccountRoute[] = [
  userRoute({
    operation: 'billing-status',
    path: '/api/billing/status',
    summary: 'Show tier, payments and limits',
    description:
      'For owners and admins. Reads the payment provider and puts right what differs; where it does not answer, what was read last, with `stale: true`. Without payments tier and limits only, with `billing_enabled: false`.',
    request: wire.BillingStatusRequest,
    reply: wire.BillingStatusResponse,
    example: organizationExample,
    errorResponses: { 403: 'For owners and admins.', 404: commonErrors[404] },
    serve: async (services, call, request) => {
      const { organization } = billingCall(services, call, request, managerRoles);
      // Grants first the tiers that a marketplace sold and a crash kept from being granted, then authorizes
      // again.
      await services.marketplaces.grantPendingTiersOf(organization.organizationId);
      return services.billing.status(billingCall(services, call, request, managerRoles));
    },
  }),
  userRoute({
    operation: 'preview-subscription',
    path: '/api/billing/preview',
    summary: 'Show what a subscription would charge now',
    description:
      'For owners: of a first or a higher tier, or of the one that is paused. As the payment provider would write the invoice at this moment, with what is given back for the tier until now, discounts, taxes and credit. Changes nothing. `subscribe` with the `as_of` of the reply charges the same within an hour, for all but a first tier; without, it charges less by the part of the month that has passed.',
    request: wire.PreviewRequest,
    reply: wire.PreviewResponse,
    example: { ...organizationExample, tier: 'teams' },
    errorResponses: {
      400: 'The tier is not higher, or not for sale.',
      403: commonErrors[403],
      404: commonErrors[404],
      409: 'An invoice waits for its payment, another tier is paused, or the tier was given free of charge.',
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
      summary: 'Subscribe to a tier, or a higher one',
      description:
        'Charges the rest of the month at once; the tier applies when that is paid. Where the bank wants the customer to confirm, the reply leads to the invoice. Resumes a paused subscription. 409 for a tier that the administrator of the server gave free of charge, or a lower one: nothing is charged that changes nothing.',
      request: wire.SubscribeRequest,
      reply: wire.SubscribeResponse,
      example: { ...organizationExample, tier: 'starter' },
      errorResponses: { 400: 'The tier is not higher, or not for sale, or return_url leads elsewhere.' },
    },
    (billing, call, request) => billing.subscribe(call, request),
  ),
  ownerMutation(
    {
      operation: 'downgrade',
      path: '/api/billing/downgrade',
      summary: 'Plan a lower tier',
      description: 'From the 1st of next month, 00:00 UTC. `free` ends the subscription then.',
      request: wire.DowngradeRequest,
      reply: wire.DowngradeResponse,
      example: { ...organizationExample, tier: 'free' },
      errorResponses: { 400: 'The tier is not lower.' },
    },
    (billing, call, request) => billing.downgrade(call, request),
  ),
  ownerMutation(
    {
      operation: 'cancel-downgrade',
      path: '/api/billing/cancel-downgrade',
      summary: 'Keep the tier after all',
      description: 'Takes a planned downgrade back.',
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
      summary: 'Cancel an upgrade that waits for its payment',
      description:
        'Voids the open invoice, so that nothing is owed and its page takes no money. The tier, a planned downgrade and the default payment method are as before the upgrade. Also for a first tier that was never paid.',
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
      description: 'The reply leads to a form of the payment provider, or holds the method that was given.',
      request: wire.AddPaymentRequest,
      reply: wire.AddPaymentResponse,
      example: organizationExample,
      errorResponses: { 400: 'return_url leads elsewhere.', 404: 'No such organisation or payment method.' },
      withheld: ({ url }) => (url === undefined ? null : shownOnceMessage),
    },
    (billing, call, request) => billing.addPaymentMethod(call, request),
  ),
  ownerMutation(
    {
      operation: 'remove-payment-method',
      path: '/api/billing/remove-payment-method',
      summary: 'Remove a payment method',
      description: 'Not the last one while there is something to pay.',
      request: wire.RemovePaymentRequest,
      reply: wire.RemovePaymentResponse,
      example: { ...organizationExample, payment_method_id: 'pm_1' },
      errorResponses: {
        400: 'It is the last one of a subscription.',
        404: 'No such organisation or payment method.',
      },
    },
    (billing, call, request) => billing.removePaymentMethod(call, request),
  ),
  ownerMutation(
    {
      operation: 'manage-billing-details',
      path: '/api/billing/manage-billing-details',
      summary: 'Edit what invoices say',
      description:
        'Answers an address of the payment provider, for once, where name, address and tax ids of future invoices are edited.',
      request: wire.ManageBillingDetailsRequest,
      reply: wire.ManageBillingDetailsResponse,
      example: organizationExample,
      errorResponses: { 400: 'return_url leads elsewhere.' },
      withheld: () => shownOnceMessage,
    },
    (billing, call, request) => billing.manageDetails(call, request),
  ),
  ownerMutation(
    {
      operation: 'pause',
      path: '/api/billing/pause',
      summary: 'Pause the subscription',
      description: 'Nothing is charged, and the limits are those of `free`, until `subscribe` resumes it.',
      request: wire.PauseRequest,
      reply: wire.PauseResponse,
      example: organizationExample,
      errorResponses: { 400: 'Nothing is active.' },
    },
    (billing, call, request) => billing.pause(call, request),
  ),
  ownerMutation(
    {
      operation: 'redeem-code',
      path: '/api/billing/redeem-code',
      summary: 'Redeem a promo code',
      description: 'Adds its worth to the credit of the organisation, once.',
      request: wire.RedeemCodeRequest,
      reply: wire.RedeemCodeResponse,
      example: { ...organizationExample, code: 'WELCOME' },
      errorResponses: { 400: 'The code is worth nothing, or not any more.', 429: 'Ten tries an hour.' },
    },
    (billing, call, request) => billing.redeemCode(call, request),
  ),
  accountRoute(
    {
      operation: 'billing-webhook',
      path: '/api/billing/webhook',
      summary: 'Hear of an event of Stripe',
      description:
        'For Stripe alone: the signature of the raw body is checked. Events may come in any order and again.',
      request: wire.BillingEvent,
      reply: wire.BillingEventResponse,
      example: { body: new Uint8Array() },
      errorResponses: {
        400: 'The signature is wrong or too old.',
        413: 'It is too large.',
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
