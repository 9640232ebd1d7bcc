import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import { rateLimitAddress } from '../admission/address-key.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import { effectiveLimits, type Tiers, toTiers } from '../admission/tiers.ts';
import type { Billing } from '../billing/billing.ts';
import { createDisabledBilling } from '../billing/disabled-billing.ts';
import { EffectiveTiers } from '../billing/effective-tiers.ts';
import type { Plans } from '../billing/plans.ts';
import type { PromoCodeLimiter } from '../billing/promo-codes.ts';
import type { DisplayedLimits } from '../billing/status-reply.ts';
import { createStripeClient } from '../billing/stripe.ts';
import { StripeBilling } from '../billing/stripe-billing.ts';
import type { StripeBillingOptions } from '../billing/stripe-components.ts';
import { type PaymentsReadiness, StripeKeyHealth } from '../billing/stripe-key-health.ts';
import type { UsedMinutesReader } from '../billing/usage-reporter.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { rateLimits } from '../core/rate-limits.ts';
import type { Egress } from '../egress/egress.ts';
import type { MaintenanceTask } from '../ingest/maintenance.ts';
import { toWireLimits } from '../schemas/organization-limits.ts';
import { BillingRecords } from '../storage/billing.ts';
import { MarketplaceRecords } from '../storage/marketplaces.ts';
import { noOverrides, tiers as tierNames } from '../storage/organizations.ts';
import type { Store } from '../storage/store.ts';
import { namedCounters, UsageLedger } from '../usage/ledger.ts';
import type { AccountComponents } from './account-components.ts';
import { clock, home, random } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Components of Stripe billing, or their replacements when billing is not configured. */

export interface BillingComponents {
  readonly billing: Billing;
  readonly maintenanceTasks: readonly MaintenanceTask[];
  /** Resumes the work that the last run left unfinished. */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** Null when billing is not configured. */
  readonly state: () => PaymentsReadiness | null;
  /** Whether metered usage is charged through Stripe. */
  readonly isUseCharged: boolean;
}

interface BillingDependencies {
  readonly plans: Plans;
  readonly tiers: EffectiveTiers;
  readonly storage: Pick<Storage, 'store' | 'meter'>;
  readonly components: Pick<AccountComponents, 'organizations' | 'memberships' | 'userAccounts' | 'audit'>;
  readonly logger: Logger;
  readonly publicUrl: () => string;
  readonly egress: Egress;
}

/** Limits of the tiers: those of the plans file override those of the settings. */
export function mergePlanLimits(settings: Settings, plans: Plans): Tiers {
  const tiers = toTiers(settings);
  const merged = tierNames.map((tier) => [tier, { ...tiers[tier], ...plans.limits[tier] }]);
  return Object.fromEntries(merged) as Tiers;
}

export function createEffectiveTiers(
  settings: Settings,
  store: Store,
  organizations: OrganizationDirectory,
): EffectiveTiers {
  return new EffectiveTiers({
    organizations,
    billing: new BillingRecords(store),
    agreements: new MarketplaceRecords(store),
    clock,
    isBillingEnabled: settings.stripeSecretKey !== null,
  });
}

export async function buildBilling(
  settings: Settings,
  dependencies: BillingDependencies,
): Promise<BillingComponents> {
  const { plans, storage, components, logger } = dependencies;
  const displayedLimits = createDisplayedLimits(components.organizations, mergePlanLimits(settings, plans));
  const { stripeSecretKey: secretKey, stripeApiBase: apiBase } = settings;
  if (secretKey === null) {
    const billing = createDisabledBilling({
      plans,
      limits: displayedLimits,
      clock,
      store: storage.store,
      logger,
    });
    return {
      billing,
      maintenanceTasks: [],
      start: async () => {},
      close: async () => {},
      state: () => null,
      isUseCharged: false,
    };
  }
  if (settings.stripeWebhookSecret === null)
    logger.warn({}, 'QUARRY_STRIPE_WEBHOOK_SECRET is not set; Stripe changes are detected by polling only');
  const stripe = await createStripeClient({
    secretKey,
    apiBase,
    msMax: settings.stripeSecondsMax * 1_000,
    egress: dependencies.egress,
  });
  const health = new StripeKeyHealth(stripe, logger);
  const billing = createStripeBilling(settings, dependencies, stripe, displayedLimits);
  const isUseCharged = Object.keys(plans.metered).length > 0;
  const { start, close } = createBackgroundWork(billing, logger);
  return {
    billing,
    maintenanceTasks: createMaintenanceTasks(billing, storage),
    start,
    close,
    state: () => health.readiness,
    isUseCharged,
  };
}

function createStripeBilling(
  settings: Settings,
  { plans, tiers, storage, components, logger, publicUrl }: BillingDependencies,
  stripe: StripeBillingOptions['stripe'],
  displayedLimits: DisplayedLimits,
): StripeBilling {
  return new StripeBilling({
    stripe,
    webhookSecret: settings.stripeWebhookSecret,
    plans,
    limits: displayedLimits,
    store: storage.store,
    organizations: components.organizations,
    readUsedMinutes: createUsedMinutesReader(storage),
    flushUsage: () => storage.meter.tryFlush(),
    promoCodeLimiter: createPromoCodeLimiter(),
    tiers,
    isMeteredByMarketplace: createMeteringCheck(settings, storage),
    audit: components.audit,
    clock,
    random,
    logger,
    publicUrl,
    readContactEmail: createContactReader(components),
    defaultReturnUrl: home,
    replyMsMax: settings.stripeAnswerSecondsMax * 1_000,
  });
}

/** Limits attempts per organization, per user (a user may own several organizations) and per address. */
function createPromoCodeLimiter(): PromoCodeLimiter {
  const perUser = new SlidingWindowLimiter('promo codes', rateLimits.promoCodes, clock);
  const perOrganization = new SlidingWindowLimiter('promo codes', rateLimits.promoCodes, clock);
  const perAddress = new SlidingWindowLimiter('promo codes', rateLimits.promoCodesOfAddress, clock);
  return {
    consume: ({ organizationId, by: { actor, address } }) => {
      perOrganization.consume(organizationId);
      if (actor !== null) perUser.consume(actor);
      if (address !== null) perAddress.consume(rateLimitAddress(address));
    },
  };
}

/** Checks whether usage of an organization is metered by AWS Marketplace. */
function createMeteringCheck({ awsMarketplace, awsDimensions }: Settings, { store }: Pick<Storage, 'store'>) {
  const records = new MarketplaceRecords(store);
  return async (organizationId: string): Promise<boolean> => {
    if (!awsMarketplace || awsDimensions === null) return false;
    const agreements = await records.listAgreementsByOrganization(organizationId);
    return agreements.some(({ endedAt, offer }) => endedAt === null && offer.marketplace === 'aws');
  };
}

/** Returns the email address of the owner who joined first; null if there is none. */
function createContactReader({
  memberships,
  userAccounts,
}: Pick<AccountComponents, 'memberships' | 'userAccounts'>) {
  return async (organizationId: string): Promise<string | null> => {
    const members = await memberships.listByOrganization(organizationId);
    const owner = members.find(({ role }) => role === 'OWNER');
    return owner === undefined ? null : (userAccounts.find(owner.userId)?.email ?? null);
  };
}

function createMaintenanceTasks(
  { events, reports, orphanedCustomers }: StripeBilling,
  { meter }: Pick<Storage, 'meter'>,
): MaintenanceTask[] {
  return [
    { name: 'Stripe synchronization', intervalMs: limits.billingRetryMs, run: () => events.readPending() },
    { name: 'missed Stripe events', intervalMs: limits.billingCatchUpMs, run: (s) => events.catchUp(s) },
    {
      name: 'customers of deleted organizations',
      intervalMs: limits.billingRetryMsMax,
      run: (signal) => orphanedCustomers.deletePending(signal),
    },
    { name: 'old Stripe events', intervalMs: limits.billingCatchUpMs, run: () => events.sweep() },
    {
      name: 'Stripe usage reports',
      intervalMs: limits.usageReportMs,
      run: async (signal) => {
        await meter.tryFlush();
        await reports.report(signal);
      },
    },
  ];
}

function createBackgroundWork(
  billing: StripeBilling,
  logger: Logger,
): Pick<BillingComponents, 'start' | 'close'> {
  const stop = new AbortController();
  let initialSync: Promise<void> = Promise.resolve();
  const { events, orphanedCustomers } = billing;
  return {
    start: async () => {
      await events.readPending();
      const catchUp = events.catchUp(stop.signal).catch((error: unknown) => {
        logger.warn({ error: String(error) }, 'reading Stripe events failed, will retry');
      });
      initialSync = catchUp
        .then(() => orphanedCustomers.deletePending(stop.signal))
        .catch((error: unknown) => {
          logger.warn({ error: String(error) }, 'deleting Stripe customers failed, will retry');
        });
    },
    close: async () => {
      stop.abort();
      await initialSync;
      await billing.close();
    },
  };
}

function createDisplayedLimits(organizations: OrganizationDirectory, tiers: Tiers): DisplayedLimits {
  return {
    forOrganization: ({ organizationId, overrides }) =>
      toWireLimits(organizations.limitsOf(organizationId), overrides),
    forTier: (tier) =>
      toWireLimits(effectiveLimits({ tier, unlimited: false, overrides: noOverrides }, tiers), noOverrides),
  };
}

/** Tokens per minute, from the usage ledger. */
function createUsedMinutesReader({ store }: Pick<Storage, 'store'>): UsedMinutesReader {
  const ledger = new UsageLedger({ store, clock });
  return async ({ organizationId, metric, from, to }) => {
    const query = { organizationId, kind: metric, subjectIds: null, window: 'minutely' } as const;
    const rows = await ledger.windows({ ...query, startTime: from * 60, endTime: (to - 1) * 60 });
    const tokens = new Map<number, number>();
    for (const { windowStart, amounts } of rows) {
      const minute = windowStart / 60;
      const used =
        metric === 'embed'
          ? namedCounters('embed', amounts).total_request_tokens
          : namedCounters('rerank', amounts).total_reranker_tokens;
      tokens.set(minute, (tokens.get(minute) ?? 0) + used);
    }
    return [...tokens].sort(([a], [b]) => a - b).map(([minute, used]) => ({ minute, tokens: used }));
  };
}
