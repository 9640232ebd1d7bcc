import type Stripe from 'stripe';
import type { Logger } from '../core/logger.ts';

/** State of payments as reported by `/readyz`. */
export interface PaymentsReadiness {
  readonly ready: boolean;
  readonly detail: string;
}

/**
 * Tracks from its responses whether Stripe accepts the secret key, which can be revoked at any time. The
 * server continues to run without it.
 */
export class StripeKeyHealth {
  readonly #logger: Logger;
  #isAccepted: boolean | null = null;

  constructor(stripe: Pick<Stripe, 'on'>, logger: Logger) {
    this.#logger = logger;
    stripe.on('response', ({ status }: Stripe.ResponseEvent) => this.#record(status !== 401));
  }

  get readiness(): PaymentsReadiness {
    if (this.#isAccepted === null) return { ready: true, detail: 'Stripe has not been called yet' };
    return this.#isAccepted
      ? { ready: true, detail: 'Stripe accepts the key' }
      : { ready: false, detail: 'Stripe rejects QUARRY_STRIPE_SECRET_KEY (401)' };
  }

  #record(isAccepted: boolean): void {
    const wasAccepted = this.#isAccepted;
    this.#isAccepted = isAccepted;
    if (!isAccepted && wasAccepted !== false)
      this.#logger.error(
        {},
        'Stripe rejects QUARRY_STRIPE_SECRET_KEY (401): set a valid key and restart the server',
      );
    if (isAccepted && wasAccepted === false)
      this.#logger.info({}, 'Stripe accepts QUARRY_STRIPE_SECRET_KEY again');
  }
}
