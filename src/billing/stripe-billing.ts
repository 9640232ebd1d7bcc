import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { ReplyDeadline } from '../core/async/reply-deadline.ts';
import { limits as bounds } from '../core/limits.ts';
import type { BillingAccount } from '../storage/billing-account.ts';
import type { Billing, BillingContext } from './billing.ts';
import type { BillingEvents } from './billing-events.ts';
import { type BillingChange, statusAgeMsMax } from './billing-sync.ts';
import { schedulePurpose } from './downgrade-manager.ts';
import type { OrphanedCustomers } from './orphaned-customers.ts';
import { planStateOf } from './plan-states.ts';
import { idOf } from './price-catalog.ts';
import { parseReturnUrl } from './return-url.ts';
import { buildStatusReply } from './status-reply.ts';
import { isResourceMissing, mapStripeErrors } from './stripe.ts';
import { buildStripeComponents, type StripeBillingOptions } from './stripe-components.ts';
import type { UsageReporter } from './usage-reporter.ts';

/** Billing through Stripe. */
export class StripeBilling implements Billing {
  readonly #options: StripeBillingOptions;
  readonly #components: ReturnType<typeof buildStripeComponents>;

  constructor(options: StripeBillingOptions) {
    this.#options = options;
    this.#components = buildStripeComponents(options);
  }

  get events(): BillingEvents {
    return this.#components.events;
  }

  get orphanedCustomers(): OrphanedCustomers {
    return this.#components.orphanedCustomers;
  }

  get reports(): UsageReporter {
    return this.#components.reports;
  }

  readonly status: Billing['status'] = async ({ organization: callerOrganization }) => {
    const { records } = this.#components;
    const { organizationId } = callerOrganization;
    const { account, isStale } = await this.#readAccount(organizationId);
    const organization = this.#options.organizations.find(organizationId) ?? callerOrganization;
    const grants = await records.listGrants(organizationId);
    const reported = records.findReportedUsage(organizationId);
    const now = this.#options.clock.now();
    return buildStatusReply(
      { organization, account, grants, reported, now, isStale, isEnabled: true },
      this.#options,
    );
  };

  readonly preview: Billing['preview'] = ({ organization }, { tier }) =>
    this.#components.previews.preview(organization, tier);

  readonly subscribe: Billing['subscribe'] = async (context, request) => {
    this.#returnUrl(request.return_url);
    const { tier, payment_method_id: paymentMethodId = null, as_of: previewed = null } = request;
    const asOf = previewed === null ? null : Math.floor(Date.parse(previewed) / 1_000);
    const reply = await this.#components.subscriptions.subscribe(context, {
      tier,
      paymentMethodId,
      asOf,
    });
    await this.#recordAudit(context, 'billing.subscribed', { tier, status: reply.status });
    return reply;
  };

  readonly downgrade: Billing['downgrade'] = async (context, { tier }) => {
    const reply = await this.#components.downgrades.downgrade(context, tier);
    await this.#recordAudit(context, 'billing.downgrade_scheduled', { tier });
    return reply;
  };

  readonly cancelDowngrade: Billing['cancelDowngrade'] = async (context) => {
    const reply = await this.#components.downgrades.cancelDowngrade(context);
    await this.#recordAudit(context, 'billing.downgrade_cancelled', {});
    return reply;
  };

  readonly cancelUpgrade: Billing['cancelUpgrade'] = async (context) => {
    const reply = await this.#components.cancellation.cancel(context);
    await this.#recordAudit(context, 'billing.upgrade_cancelled', {});
    return reply;
  };

  readonly pause: Billing['pause'] = async (context) => {
    const reply = await this.#components.pauses.pause(context);
    await this.#recordAudit(context, 'billing.paused', { tier: reply.paused_tier });
    return reply;
  };

  readonly addPaymentMethod: Billing['addPaymentMethod'] = async (call, request) => {
    const returnUrl = this.#returnUrl(request.return_url);
    const { payment_method_id: paymentMethodId = null } = request;
    return this.#components.methods.add(call, { paymentMethodId, returnUrl });
  };

  readonly removePaymentMethod: Billing['removePaymentMethod'] = async (call, request) => {
    await this.#components.methods.remove(call, request.payment_method_id);
    return { message: 'Success!' };
  };

  readonly manageDetails: Billing['manageDetails'] = async (context, request) => {
    const returnUrl = this.#returnUrl(request.return_url);
    const reply = await this.#components.methods.openPortal(context, returnUrl);
    await this.#recordAudit(context, 'billing.portal_opened', {});
    return reply;
  };

  readonly redeemCode: Billing['redeemCode'] = (context, { code }) =>
    this.#components.promoCodes.redeem(context, code);

  readonly withDeadline: Billing['withDeadline'] = (organizationId, run) =>
    this.#runWithDeadline(organizationId, run, changeStillRunningError);

  readonly handleWebhook: Billing['handleWebhook'] = (body, signature) =>
    this.#components.events.handle(body, signature);

  readonly checkDeletable: Billing['checkDeletable'] = ({ organizationId }) =>
    this.#runWithDeadline(
      organizationId,
      (deadline) => this.#checkNoUnpaidInvoice(organizationId, deadline),
      deletionUndecidedError,
    );

  readonly closeAccount: Billing['closeAccount'] = (organizationId) => {
    const { records, sync, reports, orphanedCustomers } = this.#components;
    const { store, clock } = this.#options;
    return sync.runChange(organizationId, null, async ({ account }) => {
      await reports.reportUntilNow(organizationId);
      for (const { id, schedule } of await this.#listSubscriptions(account.customerId))
        await this.#cancelSubscription(organizationId, id, schedule ? idOf(schedule) : null);
      await store.write(await records.deleteOrganization(organizationId, clock.now()), {
        mayUseReserve: true,
      });
      if (account.customerId !== null) await orphanedCustomers.deleteOne(account.customerId);
    });
  };

  /** Waits for running work. */
  async close(): Promise<void> {
    await this.#components.events.close();
    await this.#components.sync.close();
  }

  /**
   * Awaits `run`, or throws `timeoutError` after `replyMsMax`, unless the deadline was met by then. The work
   * continues after the error.
   */
  async #runWithDeadline<T>(
    organizationId: string,
    run: (deadline: ReplyDeadline) => Promise<T>,
    timeoutError: () => AppError,
  ): Promise<T> {
    const { replyMsMax, logger } = this.#options;
    const deadline = new ReplyDeadline();
    const work = run(deadline);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        if (!deadline.miss()) return;
        work.catch((error: unknown) => {
          const isExpected = error instanceof AppError && error.status < 500;
          logger[isExpected ? 'info' : 'error'](
            { organizationId, error: String(error) },
            'billing change failed after the client timed out',
          );
        });
        reject(timeoutError());
      }, replyMsMax);
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  #checkNoUnpaidInvoice(organizationId: string, deadline: ReplyDeadline): Promise<void> {
    const work = async ({ account: { copy } }: BillingChange) => {
      const subscription = copy?.subscription ?? null;
      // The first invoice of a subscription that never started is not owed.
      const first = planStateOf(subscription) === 'incomplete' ? subscription?.openInvoice?.id : undefined;
      if (copy?.invoices.some(({ id, status }) => status === 'open' && id !== first))
        throw new AppError(
          'conflict',
          'This organization has an unpaid invoice. Pay it first, then delete the organization.',
        );
    };
    return this.#components.sync.runChange(organizationId, null, work, { deadline });
  }

  /** Returns all subscriptions sold to a customer by this server. More than one can be active. */
  async #listSubscriptions(customer: string | null): Promise<readonly Stripe.Subscription[]> {
    if (customer === null) return [];
    const { catalog } = this.#components;
    const found = await mapStripeErrors(() =>
      this.#options.stripe.subscriptions.list({ customer, limit: 100 }),
    );
    return found.data.filter((subscription) => catalog.hasTierPrice(subscription));
  }

  /** Cancels a subscription. Its final invoice includes the usage so far. */
  async #cancelSubscription(
    organizationId: string,
    subscriptionId: string,
    scheduleId: string | null,
  ): Promise<void> {
    const { stripe, logger } = this.#options;
    const { calls } = this.#components;
    try {
      if (scheduleId !== null)
        await calls.run(
          { organizationId, name: `release:${scheduleId}`, purpose: schedulePurpose(subscriptionId) },
          (options) => stripe.subscriptionSchedules.release(scheduleId, {}, options),
        );
      await calls.run({ organizationId, name: `end:${subscriptionId}` }, (options) =>
        stripe.subscriptions.cancel(subscriptionId, { invoice_now: true, prorate: false }, options),
      );
    } catch (error) {
      if (!isResourceMissing(error)) throw error;
      logger.info({ organizationId, subscription: subscriptionId }, 'subscription had already ended');
    }
  }

  /** Returns the state in Stripe, or the last copy if Stripe does not respond in time. */
  async #readAccount(
    organizationId: string,
  ): Promise<{ readonly account: BillingAccount; readonly isStale: boolean }> {
    const { sync, records } = this.#components;
    const { logger, replyMsMax } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), Math.min(bounds.billingReadWaitMsMax, replyMsMax));
    });
    const reading = sync.read(organizationId, statusAgeMsMax).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      logger.warn({ organizationId, error: String(error) }, 'reading Stripe failed, returning the last copy');
      return null;
    });
    try {
      const account = await Promise.race([reading, timeout]);
      return account === null
        ? { account: records.getAccount(organizationId), isStale: true }
        : { account, isStale: false };
    } finally {
      clearTimeout(timer);
    }
  }

  #returnUrl(requestedUrl: string | null | undefined): string {
    return parseReturnUrl(requestedUrl, this.#options.publicUrl(), this.#options.defaultReturnUrl);
  }

  async #recordAudit(
    { organization: { organizationId }, by }: BillingContext,
    action: string,
    details: Readonly<Record<string, string | null>>,
  ): Promise<void> {
    await this.#options.audit.record({ ...by, organizationId, action, target: null, details });
  }
}

function changeStillRunningError(): AppError {
  return new AppError(
    'unavailable',
    'The payment provider is slow. The change is still running: repeat the request later to get its result. Nothing is charged twice.',
    { retryAfterMs: 5_000 },
  );
}

function deletionUndecidedError(): AppError {
  return new AppError(
    'unavailable',
    'The payment provider is slow, so unpaid invoices could not be checked. Nothing was deleted. Try again shortly.',
    { retryAfterMs: 5_000 },
  );
}
