import type Stripe from 'stripe';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { BillingRecords } from '../storage/billing.ts';
import type { Store } from '../storage/store.ts';
import { AccountRepairs } from './account-repairs.ts';
import { AccountWriter } from './account-writer.ts';
import { BillingEvents } from './billing-events.ts';
import { type BillingOrganizations, BillingSync, type MarketplaceMeteringCheck } from './billing-sync.ts';
import { CreditGrants } from './credit-grants.ts';
import { CustomerReader } from './customer-reader.ts';
import { DowngradeManager } from './downgrade-manager.ts';
import type { EffectiveTiers } from './effective-tiers.ts';
import { InvoicePreviews } from './invoice-previews.ts';
import { OrphanedCustomers } from './orphaned-customers.ts';
import { PaymentMethods } from './payment-methods.ts';
import { Payments } from './payments.ts';
import { PendingSchedules } from './pending-schedules.ts';
import type { Plans } from './plans.ts';
import { PortalConfiguration } from './portal-configuration.ts';
import { PriceCatalogReader } from './price-catalog.ts';
import { type PromoCodeLimiter, PromoCodes } from './promo-codes.ts';
import type { DisplayedLimits } from './status-reply.ts';
import { IdempotentStripeCalls } from './stripe-calls.ts';
import { StripeCustomers } from './stripe-customers.ts';
import { StripeReader } from './stripe-reader.ts';
import { SubscriptionCharges } from './subscription-charges.ts';
import { SubscriptionManager } from './subscription-manager.ts';
import { SubscriptionPause } from './subscription-pause.ts';
import { SubscriptionResume } from './subscription-resume.ts';
import { SubscriptionStart } from './subscription-start.ts';
import { SubscriptionUpgrade } from './subscription-upgrade.ts';
import { UpgradeCancellation } from './upgrade-cancellation.ts';
import { UsageCredits } from './usage-credits.ts';
import { UsageReporter, type UsedMinutesReader } from './usage-reporter.ts';

export interface StripeBillingOptions {
  readonly stripe: Stripe;
  readonly webhookSecret: string | null;
  readonly plans: Plans;
  readonly limits: DisplayedLimits;
  readonly store: Store;
  readonly organizations: BillingOrganizations;
  readonly readUsedMinutes: UsedMinutesReader;
  /** Writes the usage recorded so far to the store. */
  readonly flushUsage: () => Promise<void>;
  readonly promoCodeLimiter: PromoCodeLimiter;
  readonly tiers: EffectiveTiers;
  readonly isMeteredByMarketplace: MarketplaceMeteringCheck;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** `https://host` of this server. */
  readonly publicUrl: () => string;
  /** Returns the address to which Stripe sends the invoices of an organization. */
  readonly readContactEmail: (organizationId: string) => Promise<string | null>;
  /** Return URL for requests that name none. */
  readonly defaultReturnUrl: string;
  /** Maximum time in milliseconds that a client waits for a reply of this server. */
  readonly replyMsMax: number;
}

/** Constructs the parts of billing in dependency order. */
export function buildStripeComponents(options: StripeBillingOptions) {
  const { stripe, store, clock, random, organizations } = options;
  const records = new BillingRecords(store);
  const calls = new IdempotentStripeCalls({ ...options, records });
  const catalog = new PriceCatalogReader(options);
  const customers = new StripeCustomers({ ...options, records, calls });
  const payments = new Payments({ stripe, calls });
  const components = { ...options, records, calls, catalog, customers, payments };
  const promoCodes = new PromoCodes({ ...components, sync: () => sync });
  const credits = new UsageCredits({ ...components, grants: new CreditGrants(components) });
  const pendingSchedules = new PendingSchedules({
    ...components,
    downgrades: () => downgrades,
    sync: () => sync,
  });
  const repairs = new AccountRepairs({ ...components, promoCodes, credits, pendingSchedules });
  const reader = new StripeReader({ stripe, catalog, clock });
  const reports = new UsageReporter(components);
  const sync: BillingSync = new BillingSync({
    store,
    records,
    organizations,
    clock,
    random,
    customers: new CustomerReader({ ...components, reader }),
    writer: new AccountWriter({
      ...components,
      startServing: (organizationId) => reports.startServing(organizationId),
    }),
    repair: (organizationId, account, reading) => repairs.repair(organizationId, account, reading),
  });
  const portal = new PortalConfiguration(stripe);
  const downgrades: DowngradeManager = new DowngradeManager({ ...components, sync });
  const charges = new SubscriptionCharges({ ...components, sync });
  return {
    records,
    calls,
    catalog,
    promoCodes,
    sync,
    downgrades,
    subscriptions: new SubscriptionManager({
      ...components,
      charges,
      sync,
      starts: new SubscriptionStart({ ...components, charges }),
      upgrades: new SubscriptionUpgrade({ ...components, charges, downgrades, pendingSchedules, sync }),
      resumes: new SubscriptionResume({ ...components, charges }),
    }),
    pauses: new SubscriptionPause({ ...components, sync, reports, credits }),
    cancellation: new UpgradeCancellation({ ...components, pendingSchedules, sync }),
    previews: new InvoicePreviews({ ...components, sync }),
    methods: new PaymentMethods({ ...components, sync, portal }),
    events: new BillingEvents({ ...components, sync }),
    reports,
    orphanedCustomers: new OrphanedCustomers(components),
  };
}
