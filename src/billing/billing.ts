import type { Actor } from '../audit/audit-log.ts';
import type { ReplyDeadline } from '../core/async/reply-deadline.ts';
import type * as wire from '../schemas/billing.ts';
import type { Organization } from '../storage/organizations.ts';

/** Organization and acting user. The caller has checked the permission. */
export interface BillingContext {
  readonly organization: Organization;
  readonly by: Actor;
  /** Deadline of the reply; absent if the caller waits for any time. */
  readonly deadline?: ReplyDeadline | undefined;
}

type BillingOperation<Request, Reply> = (call: BillingContext, request: Request) => Promise<Reply>;

/**
 * Billing operations of organizations. Implemented by `stripe-billing`, and by `disabled-billing` if no key
 * is configured.
 */
export interface Billing {
  readonly status: (call: BillingContext) => Promise<wire.BillingStatusResponse>;
  readonly preview: BillingOperation<wire.PreviewRequest, wire.PreviewResponse>;
  readonly subscribe: BillingOperation<wire.SubscribeRequest, wire.SubscribeResponse>;
  readonly downgrade: BillingOperation<wire.DowngradeRequest, wire.DowngradeResponse>;
  readonly cancelDowngrade: BillingOperation<wire.CancelDowngradeRequest, wire.CancelDowngradeResponse>;
  readonly cancelUpgrade: BillingOperation<wire.CancelUpgradeRequest, wire.CancelUpgradeResponse>;
  readonly addPaymentMethod: BillingOperation<wire.AddPaymentRequest, wire.AddPaymentResponse>;
  readonly removePaymentMethod: BillingOperation<wire.RemovePaymentRequest, wire.RemovePaymentResponse>;
  readonly manageDetails: BillingOperation<
    wire.ManageBillingDetailsRequest,
    wire.ManageBillingDetailsResponse
  >;
  readonly pause: BillingOperation<wire.PauseRequest, wire.PauseResponse>;
  readonly redeemCode: BillingOperation<wire.RedeemCodeRequest, wire.RedeemCodeResponse>;
  /**
   * Awaits a change, or fails with 503 after a deadline. The change then continues, and a repeated request
   * returns its outcome. `run` passes the deadline on in the `BillingContext`.
   */
  readonly withDeadline: <T>(
    organizationId: string,
    run: (deadline: ReplyDeadline) => Promise<T>,
  ) => Promise<T>;
  /** Handles one webhook event of the payment provider. `body`: the raw bytes, as signed. */
  readonly handleWebhook: (body: Uint8Array, signature: string | undefined) => Promise<void>;
  /**
   * Errors: 409 while an invoice is open, so that deletion cannot discard a debt; 503 if the check exceeds
   * its deadline; those of the provider.
   */
  readonly checkDeletable: (organization: Organization) => Promise<void>;
  /** Ends the subscription of a deleted organization and deletes its billing records. Idempotent. */
  readonly closeAccount: (organizationId: string) => Promise<void>;
}
