import type Stripe from 'stripe';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits as bounds } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { type BillingAccount, BillingRecords } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import type { Billing, BillingCall } from './billing.ts';
import { StripeCalls } from './calls.ts';
import { CatalogueReader, idOf } from './catalogue.ts';
import { Customers } from './customers.ts';
import { Departures } from './departures.ts';
import type { EffectiveTiers } from './effective-tier.ts';
import { BillingEvents } from './events.ts';
import { Lowering, planOf } from './lowering.ts';
import { PaymentMethods } from './payment-methods.ts';
import { Payments } from './payments.ts';
import type { Plans } from './plans.ts';
import { PortalPage } from './portal-page.ts';
import { Previews } from './previews.ts';
import { type Guesses, Promotions } from './promotions.ts';
import { PutAside } from './put-aside.ts';
import { StripeReader } from './reading.ts';
import { Repairs } from './repairs.ts';
import { returnAddress } from './return-address.ts';
import { type ShownLimits, statusReply } from './status-reply.ts';
import { asking, isMissing } from './stripe.ts';
import { Subscribing } from './subscribing.ts';
import { type BillingOrganisations, BillingSync, lookMsMax, type MeteredElsewhere } from './sync.ts';
import { UpgradeCancellation } from './upgrade-cancellation.ts';
import { UsageCredits } from './usage-credits.ts';
import { UsageReports, type UsedMinutes } from './usage-reports.ts';

export interface StripeBillingOptions {
  readonly stripe: Stripe;
  readonly webhookSecret: string | null;
  readonly plans: Plans;
  readonly limits: ShownLimits;
  readonly store: Store;
  readonly organisations: BillingOrganisations;
  readonly usedMinutes: UsedMinutes;
  /** Writes down what was used until now. */
  readonly settleUsage: () => Promise<void>;
  readonly guesses: Guesses;
  readonly tiers: EffectiveTiers;
  readonly isMeteredElsewhere: MeteredElsewhere;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  /** `https://host` of this server. */
  readonly linkBase: () => string;
  /** Whom Stripe writes to about the invoices of an organisation. */
  readonly contactOf: (organizationId: string) => Promise<string | null>;
  /** Where customers come back to when they name no place. */
  readonly home: string;
  /** Milliseconds that somebody waits for an answer of this server. */
  readonly answerMsMax: number;
}

/** The parts of billing, each handed to those that need it. */
function buildParts(options: StripeBillingOptions) {
  const { stripe, store, clock, chance, organisations, audit, logger } = options;
  const records = new BillingRecords(store);
  const calls = new StripeCalls({ ...options, records });
  const catalogue = new CatalogueReader(options);
  const customers = new Customers({ ...options, records, calls });
  const payments = new Payments({ stripe, calls });
  const parts = { ...options, records, calls, catalogue, customers, payments };
  const promotions = new Promotions({ ...parts, sync: () => sync });
  const credits = new UsageCredits(parts);
  const aside = new PutAside({ ...parts, lowering: () => lowering, sync: () => sync });
  const repairs = new Repairs({ ...parts, promotions, credits, aside });
  const reader = new StripeReader({ stripe, catalogue, clock });
  const reports = new UsageReports(parts);
  const sync: BillingSync = new BillingSync({
    ...{ store, records, reader, organisations, audit, clock, chance, logger },
    tiers: options.tiers,
    repair: (organizationId, account, reading) => repairs.repair(organizationId, account, reading),
    beginServing: (organizationId) => reports.beginServing(organizationId),
  });
  const portal = new PortalPage(stripe);
  const lowering: Lowering = new Lowering({ ...parts, sync, reports, credits });
  return {
    ...{ records, calls, catalogue, promotions, sync },
    ...{ lowering, subscribing: new Subscribing({ ...parts, lowering, aside, sync }) },
    cancellation: new UpgradeCancellation({ ...parts, aside, sync }),
    previews: new Previews({ ...parts, sync }),
    methods: new PaymentMethods({ ...parts, sync, portal }),
    events: new BillingEvents({ ...parts, sync }),
    reports,
    departures: new Departures(parts),
  };
}

/** Payments by Stripe. */
export class StripeBilling implements Billing {
  readonly #options: StripeBillingOptions;
  readonly #parts: ReturnType<typeof buildParts>;

  constructor(options: StripeBillingOptions) {
    this.#options = options;
    this.#parts = buildParts(options);
  }

  get events(): BillingEvents {
    return this.#parts.events;
  }

  get departures(): Departures {
    return this.#parts.departures;
  }

  get reports(): UsageReports {
    return this.#parts.reports;
  }

  readonly status: Billing['status'] = async ({ organisation: given }) => {
    const { records } = this.#parts;
    const { organizationId } = given;
    const { account, isStale } = await this.#look(organizationId);
    const organisation = this.#options.organisations.find(organizationId) ?? given;
    const grants = await records.grantsOf(organizationId);
    const reported = records.reportedUsage(organizationId);
    const now = this.#options.clock.now();
    return statusReply(
      { organisation, account, grants, reported, now, isStale, isEnabled: true },
      this.#options,
    );
  };

  readonly preview: Billing['preview'] = ({ organisation }, { tier }) =>
    this.#parts.previews.preview(organisation, tier);

  readonly subscribe: Billing['subscribe'] = async ({ organisation, by }, request) => {
    this.#back(request.return_url);
    const { tier, payment_method_id: paymentMethodId = null, as_of: previewed = null } = request;
    const asOf = previewed === null ? null : Math.floor(Date.parse(previewed) / 1_000);
    const reply = await this.#parts.subscribing.subscribe(organisation, { tier, paymentMethodId, asOf });
    await this.#note({ organisation, by }, 'billing.subscribed', { tier, status: reply.status });
    return reply;
  };

  readonly downgrade: Billing['downgrade'] = async ({ organisation, by }, { tier }) => {
    const reply = await this.#parts.lowering.downgrade(organisation, tier);
    await this.#note({ organisation, by }, 'billing.downgrade_scheduled', { tier });
    return reply;
  };

  readonly cancelDowngrade: Billing['cancelDowngrade'] = async ({ organisation, by }) => {
    const reply = await this.#parts.lowering.cancelDowngrade(organisation);
    await this.#note({ organisation, by }, 'billing.downgrade_cancelled', {});
    return reply;
  };

  readonly cancelUpgrade: Billing['cancelUpgrade'] = async ({ organisation, by }) => {
    const reply = await this.#parts.cancellation.cancel(organisation);
    await this.#note({ organisation, by }, 'billing.upgrade_cancelled', {});
    return reply;
  };

  readonly pause: Billing['pause'] = async ({ organisation, by }) => {
    const reply = await this.#parts.lowering.pause(organisation);
    await this.#note({ organisation, by }, 'billing.paused', { tier: reply.paused_tier });
    return reply;
  };

  readonly addPaymentMethod: Billing['addPaymentMethod'] = async (call, request) => {
    const back = this.#back(request.return_url);
    const { payment_method_id: paymentMethodId = null } = request;
    return this.#parts.methods.add(call, { paymentMethodId, back });
  };

  readonly removePaymentMethod: Billing['removePaymentMethod'] = async (call, request) => {
    await this.#parts.methods.remove(call, request.payment_method_id);
    return { message: 'Success!' };
  };

  readonly manageDetails: Billing['manageDetails'] = async ({ organisation, by }, request) => {
    const reply = await this.#parts.methods.openPortal(organisation, this.#back(request.return_url));
    await this.#note({ organisation, by }, 'billing.portal_opened', {});
    return reply;
  };

  readonly redeemCode: Billing['redeemCode'] = ({ organisation, by }, { code }) =>
    this.#parts.promotions.redeem(organisation, code, by);

  readonly inTime: Billing['inTime'] = (organizationId, change) =>
    this.#within(organizationId, change, goesOn);

  readonly takeEvent: Billing['takeEvent'] = (body, signature) => this.#parts.events.take(body, signature);

  readonly mayEnd: Billing['mayEnd'] = ({ organizationId }) =>
    this.#within(organizationId, this.#mayEnd(organizationId), notDeleted);

  readonly end: Billing['end'] = (organizationId) => {
    const { records, sync, reports, departures } = this.#parts;
    const { store, clock } = this.#options;
    return sync.change(organizationId, null, async ({ account }) => {
      await reports.reportUntilNow(organizationId);
      for (const { id, schedule } of await this.#subscriptionsOf(account.customerId))
        await this.#cancel(organizationId, id, schedule ? idOf(schedule) : null);
      await store.write(await records.forget(organizationId, clock.now()), { mayUseReserve: true });
      if (account.customerId !== null) await departures.workOn(account.customerId);
    });
  };

  /** Waits for what runs. */
  async close(): Promise<void> {
    await this.#parts.events.close();
    await this.#parts.sync.close();
  }

  /** What `work` comes to, or the error of who is late when it takes longer than anybody should wait: then it goes on. */
  async #within<T>(organizationId: string, work: Promise<T>, late: () => AppError): Promise<T> {
    const { answerMsMax, logger } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.#parts.sync.abandon(organizationId);
        work.catch((error: unknown) => {
          const isExpected = error instanceof AppError && error.status < 500;
          logger[isExpected ? 'info' : 'error'](
            { organizationId, error: String(error) },
            'a change of billing that nobody waited for any more came to nothing',
          );
        });
        reject(late());
      }, answerMsMax);
    });
    try {
      return await Promise.race([work, waited]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #mayEnd(organizationId: string): Promise<void> {
    await this.#parts.sync.change(organizationId, null, async ({ account: { copy } }) => {
      const subscription = copy?.subscription ?? null;
      // What was never begun is owed by nobody.
      const first = subscription?.status === 'incomplete' ? subscription.openInvoice?.id : undefined;
      if (copy?.invoices.some(({ id, status }) => status === 'open' && id !== first))
        throw new AppError(
          'conflict',
          'An invoice of this organisation is not paid: pay it first, then delete it.',
        );
    });
  }

  /** All that were sold to a customer here: there may be more than one that counts. */
  async #subscriptionsOf(customer: string | null): Promise<readonly Stripe.Subscription[]> {
    if (customer === null) return [];
    const { catalogue } = this.#parts;
    const found = await asking(() => this.#options.stripe.subscriptions.list({ customer, limit: 100 }));
    return found.data.filter((one) => catalogue.isOfTier(one));
  }

  /** What was used until now is invoiced with the end. */
  async #cancel(organizationId: string, subscriptionId: string, scheduleId: string | null): Promise<void> {
    const { stripe, logger } = this.#options;
    const { calls } = this.#parts;
    try {
      if (scheduleId !== null)
        await calls.run(
          { organizationId, name: `release:${scheduleId}`, about: planOf(subscriptionId) },
          (options) => stripe.subscriptionSchedules.release(scheduleId, {}, options),
        );
      await calls.run({ organizationId, name: `end:${subscriptionId}` }, (options) =>
        stripe.subscriptions.cancel(subscriptionId, { invoice_now: true, prorate: false }, options),
      );
    } catch (error) {
      if (!isMissing(error)) throw error;
      logger.info({ organizationId, subscription: subscriptionId }, 'the subscription had ended already');
    }
  }

  /** As Stripe says it, or as it last did where it does not answer soon. */
  async #look(
    organizationId: string,
  ): Promise<{ readonly account: BillingAccount; readonly isStale: boolean }> {
    const { sync, records } = this.#parts;
    const { logger, answerMsMax } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), Math.min(bounds.billingReadWaitMsMax, answerMsMax));
    });
    const reading = sync.read(organizationId, lookMsMax).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      logger.warn(
        { organizationId, error: String(error) },
        'Stripe could not be read; the last copy is shown',
      );
      return null;
    });
    try {
      const account = await Promise.race([reading, late]);
      return account === null
        ? { account: records.account(organizationId), isStale: true }
        : { account, isStale: false };
    } finally {
      clearTimeout(timer);
    }
  }

  #back(given: string | null | undefined): string {
    return returnAddress(given, this.#options.linkBase(), this.#options.home);
  }

  async #note(
    { organisation: { organizationId }, by }: BillingCall,
    action: string,
    details: Readonly<Record<string, string | null>>,
  ): Promise<void> {
    await this.#options.audit.record({ ...by, organizationId, action, target: null, details });
  }
}

function goesOn(): AppError {
  return new AppError(
    'unavailable',
    'The payment provider is slow; the change goes on. Ask for the same again in a while to hear what became of it: nothing is charged twice.',
    { retryAfterMs: 5_000 },
  );
}

function notDeleted(): AppError {
  return new AppError(
    'unavailable',
    'The payment provider is slow, so nobody knows whether something is owed: nothing was deleted. Try again shortly.',
    { retryAfterMs: 5_000 },
  );
}
