import type { OrganisationDirectory } from '../accounts/organisation-directory.ts';
import { addressKey } from '../admission/address-key.ts';
import { RateWindow } from '../admission/rate-window.ts';
import { limitsOf, type Tiers, tiersOf } from '../admission/tiers.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Billing } from '../billing/billing.ts';
import { EffectiveTiers } from '../billing/effective-tier.ts';
import { type PaymentsState, StripeKeyHealth } from '../billing/key-health.ts';
import { noPayments } from '../billing/no-payments.ts';
import type { Plans } from '../billing/plans.ts';
import type { Guesses } from '../billing/promotions.ts';
import type { ShownLimits } from '../billing/status-reply.ts';
import { openStripe } from '../billing/stripe.ts';
import { StripeBilling } from '../billing/stripe-billing.ts';
import type { UsedMinutes } from '../billing/usage-reports.ts';
import type { Settings } from '../config/schema.ts';
import type { Egress } from '../egress/egress.ts';
import type { Chore } from '../pipeline/housekeeping.ts';
import { limitsToShow } from '../schemas/organisation-limits.ts';
import { BillingRecords } from '../store/billing.ts';
import { MarketplaceRecords } from '../store/marketplaces.ts';
import { noOverrides, tiers as tierNames } from '../store/organisations.ts';
import type { Store } from '../store/store.ts';
import { namedCounters, UsageLedger } from '../usage/ledger.ts';
import type { AccountRooms } from './accounts.ts';
import { chance, clock, home } from './given.ts';
import type { Storage } from './storage.ts';

/** Payments, or their absence. */

export interface BillingRooms {
  readonly billing: Billing;
  readonly chores: readonly Chore[];
  /** Goes on with what the last run left. */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** Null where no payments are taken. */
  readonly state: () => PaymentsState | null;
  /** Whether use is charged to cards. */
  readonly isUseCharged: boolean;
}

interface BillingParts {
  readonly plans: Plans;
  readonly tiers: EffectiveTiers;
  readonly storage: Pick<Storage, 'store' | 'meter'>;
  readonly rooms: Pick<AccountRooms, 'organisations' | 'memberships' | 'people' | 'audit'>;
  readonly logger: Logger;
  readonly linkBase: () => string;
  readonly egress: Egress;
}

/** The limits of the settings, with those of the plans file in their place. */
export function tiersWithPlans(settings: Settings, plans: Plans): Tiers {
  const tiers = tiersOf(settings);
  const merged = tierNames.map((tier) => [tier, { ...tiers[tier], ...plans.limits[tier] }]);
  return Object.fromEntries(merged) as Tiers;
}

export function effectiveTiers(
  settings: Settings,
  store: Store,
  organisations: OrganisationDirectory,
): EffectiveTiers {
  return new EffectiveTiers({
    organisations,
    billing: new BillingRecords(store),
    agreements: new MarketplaceRecords(store),
    clock,
    takesPayments: settings.stripeSecretKey !== null,
  });
}

export async function buildBilling(settings: Settings, parts: BillingParts): Promise<BillingRooms> {
  const { plans, storage, rooms, logger } = parts;
  const { organisations, audit } = rooms;
  const shown = shownLimits(organisations, tiersWithPlans(settings, plans));
  const { stripeSecretKey: secretKey, stripeApiBase: apiBase } = settings;
  if (secretKey === null) {
    const billing = noPayments({ plans, limits: shown, clock, store: storage.store, logger });
    return {
      billing,
      chores: [],
      start: async () => {},
      close: async () => {},
      state: () => null,
      isUseCharged: false,
    };
  }
  if (settings.stripeWebhookSecret === null)
    logger.warn({}, 'QUARRY_STRIPE_WEBHOOK_SECRET is not set: changes at Stripe are seen late');
  const stripe = await openStripe({
    secretKey,
    apiBase,
    msMax: settings.stripeSecondsMax * 1_000,
    egress: parts.egress,
  });
  const health = new StripeKeyHealth(stripe, logger);
  const billing = new StripeBilling({
    ...parts,
    ...{ stripe, organisations, audit, clock, chance, home },
    store: storage.store,
    webhookSecret: settings.stripeWebhookSecret,
    answerMsMax: settings.stripeAnswerSecondsMax * 1_000,
    limits: shown,
    usedMinutes: usedMinutesOf(storage),
    settleUsage: () => storage.meter.settle(),
    guesses: guessesOfCodes(),
    contactOf: contactsIn(rooms),
    isMeteredElsewhere: meteredIn(settings, storage),
  });
  const isUseCharged = Object.keys(plans.metered).length > 0;
  return { ...running(billing, storage, logger), state: () => health.state, isUseCharged };
}

/** Of an organisation, of a person, or whoever founds one organisation after another would guess on, and from a host. */
function guessesOfCodes(): Guesses {
  const within = (max: number) => new RateWindow('promo codes', [{ ms: 3_600_000, max }], clock);
  const ofPerson = within(limits.redemptionsPerHourMax);
  const ofOrganisation = within(limits.redemptionsPerHourMax);
  const fromHost = within(limits.redemptionsFromHostPerHourMax);
  return {
    take: ({ organizationId, by: { actor, address } }) => {
      ofOrganisation.take(organizationId);
      if (actor !== null) ofPerson.take(actor);
      if (address !== null) fromHost.take(addressKey(address));
    },
  };
}

/** Whether use is reported to AWS Marketplace. */
function meteredIn({ awsMarketplace, awsDimensions }: Settings, { store }: Pick<Storage, 'store'>) {
  const records = new MarketplaceRecords(store);
  return async (organizationId: string): Promise<boolean> => {
    if (!awsMarketplace || awsDimensions === null) return false;
    const agreements = await records.agreementsOf(organizationId);
    return agreements.some(({ endedAt, offer }) => endedAt === null && offer.marketplace === 'aws');
  };
}

/** The owner who has been there longest. */
function contactsIn({ memberships, people }: Pick<AccountRooms, 'memberships' | 'people'>) {
  return async (organizationId: string): Promise<string | null> => {
    const members = await memberships.ofOrganisation(organizationId);
    const owner = members.find(({ role }) => role === 'OWNER');
    return owner === undefined ? null : (people.find(owner.userId)?.email ?? null);
  };
}

function running(
  billing: StripeBilling,
  { meter }: Pick<Storage, 'meter'>,
  logger: Logger,
): Omit<BillingRooms, 'state' | 'isUseCharged'> {
  const stop = new AbortController();
  let firstLook: Promise<void> = Promise.resolve();
  const { events, reports, departures } = billing;
  return {
    billing,
    chores: [
      { name: 'Stripe to be read', everyMs: limits.billingRetryMs, work: () => events.goOn() },
      { name: 'missed events of Stripe', everyMs: limits.billingCatchUpMs, work: (s) => events.catchUp(s) },
      {
        name: 'customers of deleted organizations',
        everyMs: limits.billingRetryMsMax,
        work: (signal) => departures.work(signal),
      },
      { name: 'old events of Stripe', everyMs: limits.billingCatchUpMs, work: () => events.sweep() },
      {
        name: 'usage for Stripe',
        everyMs: limits.usageReportMs,
        work: async (signal) => {
          await meter.settle();
          await reports.report(signal);
        },
      },
    ],
    start: async () => {
      await events.goOn();
      const caughtUp = events.catchUp(stop.signal).catch((error: unknown) => {
        logger.warn({ error: String(error) }, 'events of Stripe could not be read; will try again');
      });
      firstLook = caughtUp
        .then(() => departures.work(stop.signal))
        .catch((error: unknown) => {
          logger.warn(
            { error: String(error) },
            'customers of deleted organizations could not be deleted; will try again',
          );
        });
    },
    close: async () => {
      stop.abort();
      await firstLook;
      await billing.close();
    },
  };
}

function shownLimits(organisations: OrganisationDirectory, tiers: Tiers): ShownLimits {
  return {
    of: ({ organizationId, overrides }) => limitsToShow(organisations.limitsOf(organizationId), overrides),
    ofTier: (tier) =>
      limitsToShow(limitsOf({ tier, unlimited: false, overrides: noOverrides }, tiers), noOverrides),
  };
}

/** Tokens per minute, as the ledger has them. */
function usedMinutesOf({ store }: Pick<Storage, 'store'>): UsedMinutes {
  const ledger = new UsageLedger({ store, clock });
  return async ({ organizationId, metric, from, to }) => {
    const question = { organizationId, kind: metric, about: null, window: 'minutely' } as const;
    const rows = await ledger.windows({ ...question, startTime: from * 60, endTime: (to - 1) * 60 });
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
