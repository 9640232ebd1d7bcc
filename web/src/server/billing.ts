import type * as billing from '../../../src/schemas/billing.ts';
import { callApi } from './api-call.ts';
import { organizationId } from './session.ts';

/** Operations of `/api/billing` for the selected organization. */

function post<Reply>(path: string, request: object = {}, signal?: AbortSignal): Promise<Reply> {
  return callApi<Reply>(
    `/api/billing/${path}`,
    { organization_id: organizationId(), ...request },
    { signal },
  );
}

/** Path to which the payment provider redirects the browser. */
const returnUrl = '/app/billing';

export type BillingStatus = billing.BillingStatusResponse;
export type PaidPlan = Extract<BillingStatus['subscription_tier'], 'starter' | 'teams'>;
export type SubscriptionPreview = billing.PreviewResponse;

export function isPaidPlan(tier: BillingStatus['subscription_tier']): tier is PaidPlan {
  return tier === 'starter' || tier === 'teams';
}

export function getBillingStatus(signal?: AbortSignal): Promise<BillingStatus> {
  return post('status', {}, signal);
}

/** Returns the charge for an upgrade to a higher tier now. */
export function previewSubscription(tier: PaidPlan, signal?: AbortSignal): Promise<SubscriptionPreview> {
  return post('preview', { tier }, signal);
}

/**
 * Upgrades to a higher tier, or resumes the paused one. `paymentMethodId`: null if none exists yet; `asOf`:
 * of the preview that was shown, null without one.
 */
export function subscribe(
  tier: PaidPlan,
  paymentMethodId: string | null,
  asOf: string | null,
): Promise<billing.SubscribeResponse> {
  const options = { payment_method_id: paymentMethodId, as_of: asOf, return_url: returnUrl };
  return post('subscribe', { tier, ...options });
}

export function downgrade(tier: 'free' | 'starter'): Promise<billing.DowngradeResponse> {
  return post('downgrade', { tier });
}

export function cancelDowngrade(): Promise<billing.DowngradeResponse> {
  return post('cancel-downgrade');
}

export function cancelUpgrade(): Promise<billing.CancelUpgradeResponse> {
  return post('cancel-upgrade');
}

export function pauseSubscription(): Promise<billing.PauseResponse> {
  return post('pause');
}

export function addPaymentMethod(): Promise<billing.AddPaymentResponse> {
  return post('add-payment-method', { return_url: returnUrl });
}

export function removePaymentMethod(id: string): Promise<unknown> {
  return post('remove-payment-method', { payment_method_id: id });
}

export function createBillingPortalSession(): Promise<billing.ManageBillingDetailsResponse> {
  return post('manage-billing-details', { return_url: returnUrl });
}

export function redeemCode(code: string): Promise<billing.RedeemCodeResponse> {
  return post('redeem-code', { code });
}
