import { keyDigest } from '../accounts/key-format.ts';
import { addressKey } from '../admission/address-key.ts';
import { RateWindow } from '../admission/rate-window.ts';
import { derivedSecrets } from '../base/installation-secrets.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { Sealing } from '../base/sealing.ts';
import type { EffectiveTiers } from '../billing/effective-tier.ts';
import type { Settings } from '../config/schema.ts';
import type { Egress } from '../egress/egress.ts';
import { Agreements } from '../marketplaces/agreements.ts';
import { hourMs } from '../marketplaces/aws-agreement.ts';
import { AwsMarket } from '../marketplaces/aws-market.ts';
import { type AwsParts, Marketplaces, type VercelParts } from '../marketplaces/marketplaces.ts';
import { type BilledDimension, type MeteredUse, Metering, type Uses } from '../marketplaces/metering.ts';
import { SnsInbox } from '../marketplaces/sns-inbox.ts';
import { VercelApi } from '../marketplaces/vercel-api.ts';
import { type HeldKeys, VercelVariables } from '../marketplaces/vercel-variables.ts';
import type { Chore } from '../pipeline/housekeeping.ts';
import { BillingRecords, isCharged } from '../store/billing.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import type { Tier } from '../store/organisations.ts';
import type { UsageKind } from '../usage/facts.ts';
import { namedCounters, UsageLedger } from '../usage/ledger.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { AccountRooms } from './accounts.ts';
import type { BillingRooms } from './billing.ts';
import { chance, clock } from './given.ts';

/** The marketplaces that are set up. */

interface MarketplaceParts {
  readonly data: DataDirectory;
  readonly rooms: AccountRooms;
  readonly meter: UsageMeter;
  readonly linkBase: () => string;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly payments: Pick<BillingRooms, 'isUseCharged'>;
  readonly tiers: Pick<EffectiveTiers, 'apply'>;
}

export function buildMarketplaces(
  settings: Settings,
  parts: MarketplaceParts,
): { readonly marketplaces: Marketplaces; readonly chores: readonly Chore[] } {
  const { data, rooms, logger } = parts;
  const { organisations, audit } = rooms;
  const agreements = new Agreements(data.store);
  const billing = new BillingRecords(data.store);
  const comings = new RateWindow('sign-ups from marketplaces', [{ ms: 60_000, max: 30 }], clock);
  const perMinute = [{ ms: 60_000, max: limits.marketplaceMessagesPerMinuteMax }];
  const messages = new RateWindow('messages from marketplaces', perMinute, clock);
  const sealing = new Sealing(derivedSecrets(data.secrets, 'marketplaces'), chance);
  const marketplaces = new Marketplaces({
    ...{ store: data.store, agreements, clock, chance, audit, logger },
    sealing,
    aws: settings.awsMarketplace ? awsParts(settings, agreements, parts) : null,
    vercel: vercelParts(settings, { ...parts, agreements, sealing }),
    cards: parts.payments.isUseCharged
      ? {
          isCharged: (organizationId) => isCharged(billing.account(organizationId)),
          expectUncharged: (organizationId) => billing.expectUncharged(organizationId),
        }
      : null,
    admit: (address) => comings.take(addressKey(address)),
    admitMessage: (address) => messages.take(addressKey(address)),
    tierOf: (organizationId) => organisations.find(organizationId)?.tier ?? null,
    applyTier: async (organizationId, by) => {
      await parts.tiers.apply(organizationId, by);
    },
  });
  return { marketplaces, chores: marketplaceChores(marketplaces) };
}

function awsParts(settings: Settings, agreements: Agreements, parts: MarketplaceParts): AwsParts {
  const { data, rooms, meter, egress, logger } = parts;
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsTopicArns } = settings;
  const hasKey = accessKeyId !== null && secretAccessKey !== null;
  const market = new AwsMarket({
    egress,
    region: settings.awsRegion,
    endpoint: settings.awsEndpoint,
    credentials: hasKey ? { accessKeyId, secretAccessKey } : null,
    productCodes: settings.awsProductCodes === null ? null : new Set(settings.awsProductCodes.split(',')),
    tier: settings.awsTier,
    tiers: settings.awsTiers === null ? null : new Map(pairsOf(settings.awsTiers) as [string, Tier][]),
    clock,
  });
  const metering = new Metering({
    ...{ store: data.store, agreements, market, audit: rooms.audit, clock, logger },
    chargedUntil: chargedUntilIn(data, parts.payments),
    dimensions: settings.awsDimensions === null ? [] : pairsOf(settings.awsDimensions).map(billedDimension),
    usesOf: usesOf(new UsageLedger({ store: data.store, clock }), meter),
  });
  const topicArns = new Set(awsTopicArns?.split(','));
  const inbox =
    awsTopicArns === null
      ? null
      : new SnsInbox({ topicArns, origin: settings.awsSnsUrl, fetch: egress.fetch, clock, logger });
  return { market, metering, inbox };
}

/** Until when the use of an organization was charged by card: Infinity while it is. */
function chargedUntilIn(
  { store }: Pick<DataDirectory, 'store'>,
  { isUseCharged }: MarketplaceParts['payments'],
): (organizationId: string) => number {
  const billing = new BillingRecords(store);
  return (organizationId) => {
    const account = billing.account(organizationId);
    return isUseCharged && isCharged(account) ? Number.POSITIVE_INFINITY : (account.servedUntil ?? 0);
  };
}

interface VercelNeeds extends MarketplaceParts {
  readonly agreements: Agreements;
  readonly sealing: Sealing;
}

function vercelParts(settings: Settings, needs: VercelNeeds): VercelParts | null {
  const { linkBase, rooms, agreements, sealing, egress, logger } = needs;
  const { vercelClientId: clientId, vercelClientSecret: clientSecret, vercelTier } = settings;
  if (clientId === null || clientSecret === null) return null;
  const api = new VercelApi({
    ...{ clientId, clientSecret, fetch: egress.fetch },
    apiUrl: settings.vercelApiUrl,
    nextHosts: new Set(settings.vercelNextHosts.split(',')),
    redirectUri: () => `${linkBase()}/api/marketplaces/vercel`,
  });
  const variables = new VercelVariables({
    ...{ api, agreements, sealing, logger },
    keys: heldKeys(rooms),
    baseUrl: () => `${linkBase()}/v1`,
  });
  return { api, variables, tier: vercelTier === 'none' ? null : vercelTier };
}

/** Who holds a key is written where others have who made it. */
function heldKeys({ keys }: Pick<AccountRooms, 'keys'>): HeldKeys {
  const by = { actor: 'system', address: null } as const;
  const end = async (organizationId: string, holder: string) => {
    for (const { keyId, createdBy } of await keys.list(organizationId))
      if (createdBy === holder) await keys.revoke({ organizationId, keyId }, by);
  };
  return {
    end,
    issue: async (organizationId, holder) => {
      await end(organizationId, holder);
      const wanted = { organizationId, name: 'Vercel', permission: 'all', createdBy: holder } as const;
      return (await keys.issue(wanted, by)).secret;
    },
    isAlive: (secret) => keys.findByDigest(keyDigest(secret)) !== undefined,
  };
}

function marketplaceChores(marketplaces: Marketplaces): Chore[] {
  const everyMs = limits.accountSweepMs;
  return [
    { name: 'agreements of marketplaces', everyMs, work: (signal) => marketplaces.refresh(signal) },
    {
      name: 'variables at Vercel',
      everyMs: limits.marketplaceRetryMs,
      work: (signal) => marketplaces.setWaiting(signal),
    },
    {
      name: 'usage for marketplaces',
      everyMs: limits.marketplaceReportMs,
      work: (signal) => marketplaces.meter(signal),
    },
    { name: 'grants of marketplaces', everyMs, work: (signal) => marketplaces.reseal(signal) },
    { name: 'sign-ups from marketplaces', everyMs, work: (signal) => marketplaces.sweep(signal) },
  ];
}

/** `a=b,c=d` */
function pairsOf(list: string): [string, string][] {
  return list.split(',').map((pair) => {
    const [name = '', value = ''] = pair.split('=');
    return [name, value];
  });
}

/** `queries/1000` and the dimension that bills them. */
function billedDimension([what, dimension]: readonly [string, string]): BilledDimension {
  const [use = '', per = '1'] = what.split('/');
  return { use: use as MeteredUse, per: Number(per), dimension };
}

/** What the ledger has of some hours. Models count as they are called, not as documents and queries use them. */
function usesOf(ledger: UsageLedger, meter: UsageMeter) {
  return async (organizationId: string, from: number, to: number): Promise<Uses> => {
    await meter.settle();
    const range = { startTime: from * (hourMs / 1_000), endTime: to * (hourMs / 1_000) - 1 } as const;
    const total = async (kind: UsageKind, what: string | null, counter: string) => {
      const rows = await ledger.windows({ organizationId, kind, ...range, window: 'daily', about: null });
      return rows
        .filter((row) => what === null || row.what === what)
        .reduce(
          (sum, { amounts }) =>
            sum + (namedCounters(kind, amounts) as Readonly<Record<string, number>>)[counter]!,
          0,
        );
    };
    return {
      documents: await total('documents', 'indexed', 'event_count'),
      pages: await total('documents', 'indexed', 'total_pages'),
      queries: await total('queries', null, 'event_count'),
      embed_tokens: await total('embed', 'true', 'total_request_tokens'),
      rerank_tokens: await total('rerank', 'true', 'total_reranker_tokens'),
    };
  };
}
