import type * as billing from '../../../src/schemas/billing.ts';
import { call } from './call.ts';
import { organizationId } from './session.ts';

/** The operations of `/api/billing`, in the organisation that was chosen. */

function ask<Reply>(path: string, request: object = {}, signal?: AbortSignal): Promise<Reply> {
  return call<Reply>(`/api/billing/${path}`, { organization_id: organizationId(), ...request }, { signal });
}

/** Where the payment provider sends the browser back to. */
const returnUrl = '/app/billing';

export type Status = billing.StatusResponse;
export type PaidTier = Extract<Status['subscription_tier'], 'starter' | 'teams'>;
export type Preview = billing.PreviewResponse;

export function isPaidTier(tier: Status['subscription_tier']): tier is PaidTier {
  return tier === 'starter' || tier === 'teams';
}

export function getBilling(signal?: AbortSignal): Promise<Status> {
  return ask('status', {}, signal);
}

/** What a higher tier would charge now. */
export function previewSubscription(tier: PaidTier, signal?: AbortSignal): Promise<Preview> {
  return ask('preview', { tier }, signal);
}

/**
 * To a higher tier, or back to the one that was paused; `paymentMethodId`: null where there is none yet; `asOf`: of the
 * preview that was shown, null without one.
 */
export function subscribe(
  tier: PaidTier,
  paymentMethodId: string | null,
  asOf: string | null,
): Promise<billing.SubscribeResponse> {
  const how = { payment_method_id: paymentMethodId, as_of: asOf, return_url: returnUrl };
  return ask('subscribe', { tier, ...how });
}

export function downgrade(tier: 'free' | 'starter'): Promise<billing.DowngradeResponse> {
  return ask('downgrade', { tier });
}

export function cancelDowngrade(): Promise<billing.DowngradeResponse> {
  return ask('cancel-downgrade');
}

export function cancelUpgrade(): Promise<billing.CancelUpgradeResponse> {
  return ask('cancel-upgrade');
}

export function pauseSubscription(): Promise<billing.PauseResponse> {
  return ask('pause');
}

export function addPaymentMethod(): Promise<billing.AddPaymentResponse> {
  return ask('add-payment-method', { return_url: returnUrl });
}

export function removePaymentMethod(id: string): Promise<unknown> {
  return ask('remove-payment-method', { payment_method_id: id });
}

export function billingDetails(): Promise<billing.ManageBillingDetailsResponse> {
  return ask('manage-billing-details', { return_url: returnUrl });
}

export function redeemCode(code: string): Promise<billing.RedeemCodeResponse> {
  return ask('redeem-code', { code });
}
