import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { BillingRecords } from '../storage/billing.ts';
import { isServing } from './plan-states.ts';
import type { StripeReader, StripeSnapshot } from './stripe-reader.ts';

export interface CustomerReaderOptions {
  readonly records: BillingRecords;
  readonly reader: StripeReader;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads the customers of organizations in Stripe. Customers may be deleted or belong to another account. */
export class CustomerReader {
  readonly #options: CustomerReaderOptions;

  constructor(options: CustomerReaderOptions) {
    this.#options = options;
  }

  /**
   * Returns null if the organization is not or no longer a customer. A customer deleted in Stripe has no
   * subscription and is forgotten.
   * A customer unknown to the Stripe account belongs to a different account: the secret key is wrong or new.
   * A wrong key must not take away a paid plan or cause a second subscription. Nothing changes until the end
   * of the paid period, so an operator who restores the previous key loses nothing. After that period, or
   * when nothing is paid for and the organization makes a change, the configured account becomes
   * authoritative. Errors: 409 until then.
   */
  async read(organizationId: string, isChange: boolean): Promise<StripeSnapshot | null> {
    const { records, reader, clock, logger } = this.#options;
    const { customerId, copy } = records.getAccount(organizationId);
    if (customerId === null) return null;
    const reading = await reader.read(customerId);
    if (typeof reading !== 'string') return reading;
    const subscription = copy?.subscription ?? null;
    const logFields = { organizationId, customer: customerId, subscription: subscription?.id ?? null };
    if (reading === 'deleted') {
      logger.warn(logFields, 'customer was deleted in Stripe');
      return null;
    }
    logger.error(
      logFields,
      'customer does not exist in the Stripe account of QUARRY_STRIPE_SECRET_KEY; check the key',
    );
    const paidUntil = isServing(subscription) ? (subscription?.periodEnd ?? 0) : null;
    if (paidUntil !== null && paidUntil > clock.now()) throw paidInOtherStripeAccountError(paidUntil);
    if (paidUntil === null && !isChange) throw otherStripeAccountError();
    return null;
  }
}

function otherStripeAccountError(): AppError {
  return new AppError(
    'conflict',
    'The billing data of this organization belongs to another Stripe account. Ask the operator to restore the secret key of that account.',
  );
}

function paidInOtherStripeAccountError(until: number): AppError {
  return new AppError(
    'conflict',
    `This organization has a paid subscription until ${toTimestamp(until)} in another Stripe account. Ask the operator to restore the secret key of that account.`,
  );
}
