import type Stripe from 'stripe';
import { portalMetadataKey } from './price-catalog.ts';
import { mapStripeErrors } from './stripe.ts';

/**
 * Version of the portal parameters; increase it with every change. Customers may edit only their identity at
 * Stripe.
 */
const portalVersion = 'v1';
export const portalParameters: Stripe.BillingPortal.ConfigurationCreateParams = {
  name: 'Billing details',
  metadata: { [portalMetadataKey]: portalVersion },
  features: {
    customer_update: { enabled: true, allowed_updates: ['name', 'address', 'tax_id'] },
    invoice_history: { enabled: false },
    payment_method_update: { enabled: false },
    subscription_cancel: { enabled: false },
    subscription_update: { enabled: false },
  },
};

/** Configuration of the customer portal. */
export class PortalConfiguration {
  readonly #stripe: Stripe;
  #cachedId: string | null = null;

  constructor(stripe: Stripe) {
    this.#stripe = stripe;
  }

  /** Returns the id of the configuration. Creates the configuration if it is missing. */
  async ensureId(): Promise<string> {
    this.#cachedId ??= (await this.findId()) ?? (await this.create());
    return this.#cachedId;
  }

  findId(): Promise<string | null> {
    return mapStripeErrors(async () => {
      const all = this.#stripe.billingPortal.configurations.list({ active: true, limit: 100 });
      for await (const { id, metadata } of all)
        if (metadata?.[portalMetadataKey] === portalVersion) return id;
      return null;
    });
  }

  async create(): Promise<string> {
    const { id } = await mapStripeErrors(() =>
      this.#stripe.billingPortal.configurations.create(portalParameters, {
        idempotencyKey: `quarry:portal:${portalVersion}`,
      }),
    );
    return id;
  }
}
