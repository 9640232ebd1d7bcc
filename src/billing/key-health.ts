import type Stripe from 'stripe';
import type { Logger } from '../base/logger.ts';

/** What `/readyz` says of payments. */
export interface PaymentsState {
  readonly ready: boolean;
  readonly detail: string;
}

/** Whether Stripe accepts the secret key, by its answers: a key can be revoked at any time. The server goes on. */
export class StripeKeyHealth {
  readonly #logger: Logger;
  #accepted: boolean | null = null;

  constructor(stripe: Pick<Stripe, 'on'>, logger: Logger) {
    this.#logger = logger;
    stripe.on('response', ({ status }: Stripe.ResponseEvent) => this.#note(status !== 401));
  }

  get state(): PaymentsState {
    if (this.#accepted === null) return { ready: true, detail: 'Stripe was not asked yet' };
    return this.#accepted
      ? { ready: true, detail: 'Stripe accepts the key' }
      : { ready: false, detail: 'Stripe refuses QUARRY_STRIPE_SECRET_KEY (401)' };
  }

  #note(isAccepted: boolean): void {
    const before = this.#accepted;
    this.#accepted = isAccepted;
    if (!isAccepted && before !== false)
      this.#logger.error(
        {},
        'Stripe refuses QUARRY_STRIPE_SECRET_KEY (401): set a key that is valid, and restart the server',
      );
    if (isAccepted && before === false)
      this.#logger.info({}, 'Stripe accepts QUARRY_STRIPE_SECRET_KEY again');
  }
}
