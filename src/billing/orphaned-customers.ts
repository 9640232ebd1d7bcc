import type Stripe from 'stripe';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { BillingRecords, OrphanedCustomer } from '../storage/billing.ts';
import type { Store } from '../storage/store.ts';
import { idOf, type PriceCatalogReader } from './price-catalog.ts';
import { isResourceMissing, mapStripeErrors } from './stripe.ts';

export interface OrphanedCustomersOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly catalog: Pick<PriceCatalogReader, 'hasTierPrice'>;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

const listMax = 100;

/**
 * Deletes the Stripe customers of deleted organizations, including their cards. A customer is kept until the
 * invoice of the last usage is paid, at most 30 days. A customer with live subscriptions to other products of
 * the same Stripe account is not deleted, because Stripe would end those subscriptions. Failed deletions stay
 * recorded and are retried, even after a restart.
 */
export class OrphanedCustomers {
  readonly #options: OrphanedCustomersOptions;
  readonly #mutex = new Mutex();

  constructor(options: OrphanedCustomersOptions) {
    this.#options = options;
  }

  /**
   * Deletes one newly orphaned customer. Like `deletePending`, never rejects because of an error from Stripe.
   */
  deleteOne(customerId: string): Promise<void> {
    return this.#mutex.run(async () => {
      const orphan = this.#options.records.findOrphanedCustomer(customerId);
      if (orphan !== undefined) await this.#tryToDelete(customerId, orphan);
    });
  }

  /**
   * Deletes all orphaned customers. Deletions that Stripe rejects or does not answer are retried in the next
   * call.
   */
  deletePending(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(async () => {
      for await (const { customerId, customer: orphan } of this.#options.records.listOrphanedCustomers()) {
        if (signal.aborted) return;
        await this.#tryToDelete(customerId, orphan);
      }
    });
  }

  async #tryToDelete(customerId: string, orphan: OrphanedCustomer): Promise<void> {
    const { logger } = this.#options;
    const { organizationId } = orphan;
    try {
      if (await this.#hasUnpaidInvoices(customerId, orphan)) return;
      const others = await this.#listOtherSubscriptions(customerId);
      if (others.length > 0) return await this.#keepCustomer(customerId, organizationId, others);
      await this.#detachPaymentMethods(customerId, new Set());
      await mapStripeErrors(() => this.#options.stripe.customers.del(customerId));
      await this.#recordDeleted(customerId, organizationId);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (isResourceMissing(error)) return this.#recordDeleted(customerId, organizationId);
      logger.warn(
        { organizationId, customer: customerId, error: String(error) },
        'deleting the Stripe customer of a deleted organization failed, will retry',
      );
    }
  }

  async #hasUnpaidInvoices(customer: string, { since }: OrphanedCustomer): Promise<boolean> {
    const { stripe, clock } = this.#options;
    if (clock.now() - since > limits.deletedCustomerMsMax) return false;
    const { data } = await mapStripeErrors(() => stripe.invoices.list({ customer, limit: listMax }));
    return data.some(({ status }) => status === 'draft' || status === 'open');
  }

  /**
   * Returns live subscriptions to products that this server does not sell. Stripe ends them with the
   * customer.
   */
  #listOtherSubscriptions(customer: string): Promise<readonly Stripe.Subscription[]> {
    const { stripe, catalog } = this.#options;
    return mapStripeErrors(async () => {
      const others: Stripe.Subscription[] = [];
      for await (const subscription of stripe.subscriptions.list({ customer, limit: listMax }))
        if (!catalog.hasTierPrice(subscription)) others.push(subscription);
      return others;
    });
  }

  /**
   * Keeps a customer that has subscriptions to other products: removes the organization id, and detaches all
   * cards except those that the other subscriptions are charged to.
   */
  async #keepCustomer(
    customerId: string,
    organizationId: string,
    subscriptions: readonly Stripe.Subscription[],
  ): Promise<void> {
    const { stripe, logger } = this.#options;
    await this.#detachPaymentMethods(customerId, await this.#readChargedMethodIds(customerId, subscriptions));
    // An empty value removes the entry.
    await mapStripeErrors(() => stripe.customers.update(customerId, { metadata: { organization_id: '' } }));
    const ids = subscriptions.map(({ id }) => id);
    await this.#completeDeletion(customerId, 'billing.customer_left', {
      organizationId,
      subscriptions: ids.join(' '),
    });
    logger.warn(
      { organizationId, customer: customerId, subscriptions: ids },
      'Stripe customer of a deleted organization kept: it has subscriptions to other products',
    );
  }

  /** Ids of the cards that the subscriptions are charged to: their own, else the default of the customer. */
  async #readChargedMethodIds(
    customerId: string,
    subscriptions: readonly Stripe.Subscription[],
  ): Promise<ReadonlySet<string>> {
    const customer = await mapStripeErrors(() => this.#options.stripe.customers.retrieve(customerId));
    const defaultMethod = customer.deleted === true ? null : customer.invoice_settings.default_payment_method;
    const charged = subscriptions.map(({ default_payment_method: ownMethod }) => ownMethod ?? defaultMethod);
    return new Set(charged.flatMap((method) => (method === null ? [] : [idOf(method)])));
  }

  async #detachPaymentMethods(customer: string, keptMethodIds: ReadonlySet<string>): Promise<void> {
    const { stripe } = this.#options;
    const ids = await mapStripeErrors(async () => {
      const found: string[] = [];
      for await (const { id } of stripe.paymentMethods.list({ customer, limit: listMax })) found.push(id);
      return found;
    });
    for (const id of ids)
      if (!keptMethodIds.has(id)) await mapStripeErrors(() => stripe.paymentMethods.detach(id));
  }

  async #recordDeleted(customerId: string, organizationId: string): Promise<void> {
    await this.#completeDeletion(customerId, 'billing.customer_deleted', { organizationId });
    this.#options.logger.info(
      { organizationId, customer: customerId },
      'Stripe customer of a deleted organization deleted',
    );
  }

  /** Removes the record of an orphaned customer and writes the audit entry. */
  async #completeDeletion(
    customerId: string,
    action: string,
    details: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { store, records, audit } = this.#options;
    const entry = audit.entryOperation({
      organizationId: null,
      actor: 'system',
      address: null,
      action,
      target: customerId,
      details,
    });
    await store.write([records.deleteOrphanedCustomer(customerId), entry], { mayUseReserve: true });
  }
}
