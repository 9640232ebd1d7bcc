import type Stripe from 'stripe';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { firstOfNextMonth } from './billing-months.ts';
import { mapStripeErrors } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';

export interface CreditGrantsOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly clock: Clock;
}

/** Metadata key of the credit for a paid invoice. */
export const invoiceMetadataKey = 'quarry_invoice';
/** Metadata keys of the credit that remains after a withdrawal, and of the credit returned from it. */
export const keptMetadataKey = 'quarry_kept';
export const returnedMetadataKey = 'quarry_returned';

/** Credit grants in Stripe that pay for the usage of one month. */
export class CreditGrants {
  readonly #options: CreditGrantsOptions;

  constructor(options: CreditGrantsOptions) {
    this.#options = options;
  }

  /**
   * Creates a grant. Idempotent per metadata entry. Does nothing for a month that is over and invoiced, which
   * has no charges left to deduct from.
   */
  async create(
    organizationId: string,
    customer: string,
    grant: {
      readonly metadataEntry: Readonly<Record<string, string>>;
      readonly currency: string;
      readonly expiresAt: number;
      readonly amount: number;
    },
  ): Promise<void> {
    const { stripe, calls, clock } = this.#options;
    const { metadataEntry, currency, expiresAt, amount } = grant;
    if (amount <= 0 || expiresAt * 1_000 <= clock.now()) return;
    const [[name, value] = ['', '']] = Object.entries(metadataEntry);
    if ((await this.#list(customer)).some(({ metadata }) => metadata?.[name] === value)) return;
    await calls.run({ organizationId, name: `grant:${name}:${value}` }, (options) =>
      stripe.billing.creditGrants.create(
        {
          customer,
          name: 'Subscription payment',
          category: 'paid',
          amount: { type: 'monetary', monetary: { currency, value: amount } },
          applicability_config: { scope: { price_type: 'metered' } },
          expires_at: expiresAt,
          priority: 10,
          metadata: { ...metadataEntry, organization_id: organizationId },
        },
        options,
      ),
    );
  }

  async expire(organizationId: string, grantId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `expire:${grantId}` }, (options) =>
      stripe.billing.creditGrants.expire(grantId, {}, options),
    );
  }

  /** Lists grants created by this server that pay for usage until their month expires. */
  async listOpen(customer: string): Promise<Stripe.Billing.CreditGrant[]> {
    const now = this.#options.clock.now() / 1_000;
    return (await this.#list(customer)).filter(
      ({ metadata, voided_at: voided, expires_at: end }) =>
        [invoiceMetadataKey, keptMetadataKey, returnedMetadataKey].some(
          (metadataEntry) => metadata?.[metadataEntry] !== undefined,
        ) &&
        !voided &&
        (end ?? 0) > now &&
        expiresWithMonth(end ?? 0),
    );
  }

  async #list(customer: string): Promise<Stripe.Billing.CreditGrant[]> {
    const { stripe } = this.#options;
    const { data } = await mapStripeErrors(() => stripe.billing.creditGrants.list({ customer, limit: 100 }));
    return data;
  }

  /** Returns the remaining amount of a grant in cents. */
  async readRemaining(customer: string, grant: string): Promise<number> {
    const { stripe } = this.#options;
    const filter = { type: 'credit_grant', credit_grant: grant } as const;
    const { balances } = await mapStripeErrors(() =>
      stripe.billing.creditBalanceSummaries.retrieve({ customer, filter }),
    );
    return balances.reduce((sum, { available_balance: left }) => sum + (left.monetary?.value ?? 0), 0);
  }
}

/**
 * Expiry in seconds since the epoch: the grant of a month expires once the usage of that month has been invoiced.
 */
export function expiryOf(paidAt: number): number {
  return Math.floor((firstOfNextMonth(paidAt) + limits.grantGraceMs) / 1_000);
}

/**
 * Whether a grant expires with its month. One that was ended earlier does not, even if the clock of Stripe is
 * ahead.
 */
function expiresWithMonth(end: number): boolean {
  return expiryOf(end * 1_000 - limits.grantGraceMs - 1) === end;
}

/**
 * Whether the month of a grant ended before the current period started. `periodStart`: milliseconds since
 * 1970.
 */
export function isMonthOver({ expires_at: end }: Stripe.Billing.CreditGrant, periodStart: number): boolean {
  return (end ?? 0) * 1_000 - limits.grantGraceMs <= periodStart;
}
