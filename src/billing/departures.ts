import type Stripe from 'stripe';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { BillingRecords, DepartedCustomer } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import { asking, isMissing } from './stripe.ts';

export interface DeparturesOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

const listMax = 100;

/**
 * Deletes the customers of deleted organizations at Stripe, with their cards. The invoice of the last use is paid first:
 * a customer waits for it, at most 30 days. What fails stays noted and is tried again, also after a restart.
 */
export class Departures {
  readonly #options: DeparturesOptions;
  readonly #mutex = new Mutex();

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /** One that departed just now. Never rejects for what Stripe says, as `work` does not. */
  workOn(customerId: string): Promise<void> {
    return this.#mutex.run(async () => {
      const departure = this.#options.records.departure(customerId);
      if (departure !== undefined) await this.#tryToDelete(customerId, departure);
    });
  }

  /** All of them; what Stripe refuses or does not answer is tried again the next time. */
  work(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(async () => {
      for await (const { customerId, departure } of this.#options.records.departures()) {
        if (signal.aborted) return;
        await this.#tryToDelete(customerId, departure);
      }
    });
  }

  async #tryToDelete(customerId: string, departure: DepartedCustomer): Promise<void> {
    const { logger } = this.#options;
    const { organizationId } = departure;
    try {
      if (await this.#isOwing(customerId, departure)) return;
      await this.#delete(customerId);
      await this.#forget(customerId, organizationId);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (isMissing(error)) return this.#forget(customerId, organizationId);
      logger.warn(
        { organizationId, customer: customerId, error: String(error) },
        'the customer of a deleted organization was not deleted at Stripe; will try again',
      );
    }
  }

  async #isOwing(customer: string, { since }: DepartedCustomer): Promise<boolean> {
    const { stripe, clock } = this.#options;
    if (clock.now() - since > limits.departedCustomerMsMax) return false;
    const { data } = await asking(() => stripe.invoices.list({ customer, limit: listMax }));
    return data.some(({ status }) => status === 'draft' || status === 'open');
  }

  async #delete(customer: string): Promise<void> {
    const { stripe } = this.#options;
    for (;;) {
      const { data } = await asking(() => stripe.paymentMethods.list({ customer, limit: listMax }));
      for (const { id } of data) await asking(() => stripe.paymentMethods.detach(id));
      if (data.length < listMax) break;
    }
    await asking(() => stripe.customers.del(customer));
  }

  async #forget(customerId: string, organizationId: string): Promise<void> {
    const { store, records, audit, logger } = this.#options;
    const entry = audit.entry({
      ...{ organizationId: null, actor: 'system', address: null },
      ...{ action: 'billing.customer_deleted', target: customerId, details: { organizationId } },
    });
    await store.write([records.deleteDeparture(customerId), entry], { mayUseReserve: true });
    logger.info(
      { organizationId, customer: customerId },
      'the customer of a deleted organization is gone at Stripe',
    );
  }
}
