import type { Actor } from '../audit/audit-log.ts';
import type * as wire from '../schemas/billing.ts';
import type { Organization } from '../storage/organizations.ts';

/** An organisation, and who acts for it: the caller has made sure that they may. */
export interface BillingContext {
  readonly organization: Organization;
  readonly by: Actor;
}

type BillingOperation<Request, Reply> = (call: BillingContext, request: Request) => Promise<Reply>;

/** What organisations do about money. `stripe-billing` does it, `no-payments` stands in where no key is configured. */
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
   * What a change comes to, or 503 when it takes longer than anybody should wait: then it goes on, and whoever asks for
   * the same again is told what became of it.
   */
  readonly withDeadline: <T>(organizationId: string, change: Promise<T>) => Promise<T>;
  /** An event of the payment provider, as its bytes came. */
  readonly handleWebhook: (body: Uint8Array, signature: string | undefined) => Promise<void>;
  /**
   * Errors: 409 while an invoice is open, so that nobody leaves a debt by deletion; 503 where that takes too long to find
   * out; those of the provider.
   */
  readonly checkDeletable: (organization: Organization) => Promise<void>;
  /** Ends what a deleted organisation pays for and forgets it. May be done again. */
  readonly closeAccount: (organizationId: string) => Promise<void>;
}
