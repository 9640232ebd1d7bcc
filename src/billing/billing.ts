import type { Actor } from '../audit/audit-log.ts';
import type * as wire from '../schemas/billing.ts';
import type { Organisation } from '../store/organisations.ts';

/** An organisation, and who acts for it: the caller has made sure that they may. */
export interface BillingCall {
  readonly organisation: Organisation;
  readonly by: Actor;
}

type Use<Request, Reply> = (call: BillingCall, request: Request) => Promise<Reply>;

/** What organisations do about money. `stripe-billing` does it, `no-payments` stands in where no key is configured. */
export interface Billing {
  readonly status: (call: BillingCall) => Promise<wire.StatusResponse>;
  readonly preview: Use<wire.PreviewRequest, wire.PreviewResponse>;
  readonly subscribe: Use<wire.SubscribeRequest, wire.SubscribeResponse>;
  readonly downgrade: Use<wire.DowngradeRequest, wire.DowngradeResponse>;
  readonly cancelDowngrade: Use<wire.CancelDowngradeRequest, wire.CancelDowngradeResponse>;
  readonly cancelUpgrade: Use<wire.CancelUpgradeRequest, wire.CancelUpgradeResponse>;
  readonly addPaymentMethod: Use<wire.AddPaymentRequest, wire.AddPaymentResponse>;
  readonly removePaymentMethod: Use<wire.RemovePaymentRequest, wire.RemovePaymentResponse>;
  readonly manageDetails: Use<wire.ManageBillingDetailsRequest, wire.ManageBillingDetailsResponse>;
  readonly pause: Use<wire.PauseRequest, wire.PauseResponse>;
  readonly redeemCode: Use<wire.RedeemCodeRequest, wire.RedeemCodeResponse>;
  /**
   * What a change comes to, or 503 when it takes longer than anybody should wait: then it goes on, and whoever asks for
   * the same again is told what became of it.
   */
  readonly inTime: <T>(organizationId: string, change: Promise<T>) => Promise<T>;
  /** An event of the payment provider, as its bytes came. */
  readonly takeEvent: (body: Uint8Array, signature: string | undefined) => Promise<void>;
  /**
   * Errors: 409 while an invoice is open, so that nobody leaves a debt by deletion; 503 where that takes too long to find
   * out; those of the provider.
   */
  readonly mayEnd: (organisation: Organisation) => Promise<void>;
  /** Ends what a deleted organisation pays for and forgets it. May be done again. */
  readonly end: (organizationId: string) => Promise<void>;
}
