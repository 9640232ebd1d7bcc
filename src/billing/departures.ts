import type Stripe from 'stripe';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { BillingRecords, DepartedCustomer } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import { type CatalogueReader, idOf } from './catalogue.ts';
import { asking, isMissing } from './stripe.ts';

export interface DeparturesOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly catalogue: Pick<CatalogueReader, 'isOfTier'>;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

const listMax = 100;

/**
 * Deletes the customers of deleted organizations at Stripe, with their cards. The invoice of the last use is paid first:
 * a customer waits for it, at most 30 days. A customer that has live subscriptions to other products of the same Stripe
 * account is not deleted, because Stripe would end those. What fails stays noted and is tried again, also after a restart.
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
      const others = await this.#othersSubscriptions(customerId);
      if (others.length > 0) return await this.#leave(customerId, organizationId, others);
      await this.#detachCards(customerId, new Set());
      await asking(() => this.#options.stripe.customers.del(customerId));
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

  /** Live subscriptions to what this server does not sell. Stripe ends them with the customer. */
  #othersSubscriptions(customer: string): Promise<readonly Stripe.Subscription[]> {
    const { stripe, catalogue } = this.#options;
    return asking(async () => {
      const others: Stripe.Subscription[] = [];
      for await (const subscription of stripe.subscriptions.list({ customer, limit: listMax }))
        if (!catalogue.isOfTier(subscription)) others.push(subscription);
      return others;
    });
  }

  /** Leaves a customer to what else is sold to it: without our mark, and with the cards that the rest is charged to. */
  async #leave(
    customerId: string,
    organizationId: string,
    subscriptions: readonly Stripe.Subscription[],
  ): Promise<void> {
    const { stripe, logger } = this.#options;
    await this.#detachCards(customerId, await this.#chargedCards(customerId, subscriptions));
    // An empty value removes the entry.
    await asking(() => stripe.customers.update(customerId, { metadata: { organization_id: '' } }));
    const ids = subscriptions.map(({ id }) => id);
    await this.#note(customerId, 'billing.customer_left', { organizationId, subscriptions: ids.join(' ') });
    logger.warn(
      { organizationId, customer: customerId, subscriptions: ids },
      'the customer of a deleted organization stays at Stripe, because it has subscriptions of other products',
    );
  }

  /** The cards that subscriptions are charged to: their own, else that of the customer. */
  async #chargedCards(
    customerId: string,
    subscriptions: readonly Stripe.Subscription[],
  ): Promise<ReadonlySet<string>> {
    const customer = await asking(() => this.#options.stripe.customers.retrieve(customerId));
    const usual = customer.deleted === true ? null : customer.invoice_settings.default_payment_method;
    const charged = subscriptions.map(({ default_payment_method: own }) => own ?? usual);
    return new Set(charged.flatMap((method) => (method === null ? [] : [idOf(method)])));
  }

  async #detachCards(customer: string, kept: ReadonlySet<string>): Promise<void> {
    const { stripe } = this.#options;
    const ids = await asking(async () => {
      const found: string[] = [];
      for await (const { id } of stripe.paymentMethods.list({ customer, limit: listMax })) found.push(id);
      return found;
    });
    for (const id of ids) if (!kept.has(id)) await asking(() => stripe.paymentMethods.detach(id));
  }

  async #forget(customerId: string, organizationId: string): Promise<void> {
    await this.#note(customerId, 'billing.customer_deleted', { organizationId });
    this.#options.logger.info(
      { organizationId, customer: customerId },
      'the customer of a deleted organization is gone at Stripe',
    );
  }

  /** Ends the work on a customer. */
  async #note(customerId: string, action: string, details: Readonly<Record<string, string>>): Promise<void> {
    const { store, records, audit } = this.#options;
    const entry = audit.entry({
      ...{ organizationId: null, actor: 'system', address: null },
      ...{ action, target: customerId, details },
    });
    await store.write([records.deleteDeparture(customerId), entry], { mayUseReserve: true });
  }
}
