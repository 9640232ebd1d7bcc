import { AppError } from '../core/app-error.ts';
import { ReplyDeadline } from '../core/async/reply-deadline.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { BillingRecords } from '../storage/billing.ts';
import { emptyBillingAccount } from '../storage/billing-account.ts';
import type { Store } from '../storage/store.ts';
import type { Billing } from './billing.ts';
import type { Plans } from './plans.ts';
import { buildStatusReply, type DisplayedLimits } from './status-reply.ts';

/**
 * Billing of a server without payments: reports tiers and limits, and rejects every payment operation with
 * 503.
 */
export function createDisabledBilling(options: {
  readonly plans: Plans;
  readonly limits: DisplayedLimits;
  readonly clock: Clock;
  readonly store: Store;
  readonly logger: Logger;
}): Billing {
  const records = new BillingRecords(options.store);
  const reject = () => Promise.reject(paymentsDisabledError());
  return {
    status: async ({ organization }) =>
      buildStatusReply(
        {
          organization,
          account: emptyBillingAccount,
          grants: [],
          reported: undefined,
          now: options.clock.now(),
          isStale: false,
          isEnabled: false,
        },
        options,
      ),
    preview: reject,
    subscribe: reject,
    downgrade: reject,
    cancelDowngrade: reject,
    cancelUpgrade: reject,
    addPaymentMethod: reject,
    removePaymentMethod: reject,
    manageDetails: reject,
    pause: reject,
    redeemCode: reject,
    withDeadline: (_organizationId, run) => run(new ReplyDeadline()),
    handleWebhook: reject,
    checkDeletable: async () => {},
    closeAccount: async (organizationId) => {
      const { copy } = records.getAccount(organizationId);
      const subscription = copy?.subscription?.id;
      if (subscription !== undefined) {
        const hint = 'payments are disabled: cancel the subscription of a deleted organization in Stripe';
        options.logger.error({ organizationId, subscription }, hint);
      }
      await options.store.write(await records.deleteOrganization(organizationId, options.clock.now()), {
        mayUseReserve: true,
      });
    },
  };
}

function paymentsDisabledError(): AppError {
  return new AppError(
    'unavailable',
    'Payments are disabled on this server (QUARRY_STRIPE_SECRET_KEY is not set). The administrator assigns tiers.',
    { shouldRetry: false },
  );
}
