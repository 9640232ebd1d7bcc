import type Stripe from 'stripe';
import { portalMark } from './catalogue.ts';
import { asking } from './stripe.ts';

/** What customers may edit at Stripe: who they are, nothing else. The number grows when this changes. */
const portalVersion = 'v1';
export const portalParameters: Stripe.BillingPortal.ConfigurationCreateParams = {
  name: 'Billing details',
  metadata: { [portalMark]: portalVersion },
  features: {
    customer_update: { enabled: true, allowed_updates: ['name', 'address', 'tax_id'] },
    invoice_history: { enabled: false },
    payment_method_update: { enabled: false },
    subscription_cancel: { enabled: false },
    subscription_update: { enabled: false },
  },
};

/** The configuration of the customer portal. */
export class PortalPage {
  readonly #stripe: Stripe;
  #known: string | null = null;

  constructor(stripe: Stripe) {
    this.#stripe = stripe;
  }

  /** Makes it where it is missing. */
  async configuration(): Promise<string> {
    this.#known ??= (await this.find()) ?? (await this.make());
    return this.#known;
  }

  find(): Promise<string | null> {
    return asking(async () => {
      const all = this.#stripe.billingPortal.configurations.list({ active: true, limit: 100 });
      for await (const { id, metadata } of all) if (metadata?.[portalMark] === portalVersion) return id;
      return null;
    });
  }

  async make(): Promise<string> {
    const { id } = await asking(() =>
      this.#stripe.billingPortal.configurations.create(portalParameters, {
        idempotencyKey: `quarry:portal:${portalVersion}`,
      }),
    );
    return id;
  }
}
