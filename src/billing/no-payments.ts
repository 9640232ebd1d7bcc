import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { BillingRecords, nobody } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import type { Billing } from './billing.ts';
import type { Plans } from './plans.ts';
import { type ShownLimits, statusReply } from './status-reply.ts';

/** For servers that take no payments: tiers and limits are told, everything about money is 503. */
export function noPayments(parts: {
  readonly plans: Plans;
  readonly limits: ShownLimits;
  readonly clock: Clock;
  readonly store: Store;
  readonly logger: Logger;
}): Billing {
  const records = new BillingRecords(parts.store);
  const off = () => Promise.reject(paymentsAreOff());
  return {
    status: async ({ organisation }) =>
      statusReply(
        {
          organisation,
          account: nobody,
          grants: [],
          reported: undefined,
          now: parts.clock.now(),
          isStale: false,
          isEnabled: false,
        },
        parts,
      ),
    preview: off,
    subscribe: off,
    downgrade: off,
    cancelDowngrade: off,
    cancelUpgrade: off,
    addPaymentMethod: off,
    removePaymentMethod: off,
    manageDetails: off,
    pause: off,
    redeemCode: off,
    inTime: (_organizationId, change) => change,
    takeEvent: off,
    mayEnd: async () => {},
    end: async (organizationId) => {
      const { copy } = records.account(organizationId);
      const subscription = copy?.subscription?.id;
      if (subscription !== undefined) {
        const hint = 'payments are off: cancel the subscription of a deleted organisation at Stripe';
        parts.logger.error({ organizationId, subscription }, hint);
      }
      await parts.store.write(await records.forget(organizationId, parts.clock.now()), {
        mayUseReserve: true,
      });
    },
  };
}

function paymentsAreOff(): AppError {
  return new AppError(
    'unavailable',
    'This server takes no payments (QUARRY_STRIPE_SECRET_KEY is not set): its administrator chooses the tiers.',
    { shouldRetry: false },
  );
}
