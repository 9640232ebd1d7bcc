import { hashKey } from '../accounts/key-format.ts';
import { rateLimitAddress } from '../admission/address-key.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { EffectiveTiers } from '../billing/effective-tiers.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { Sealer } from '../core/sealer.ts';
import type { Egress } from '../egress/egress.ts';
import type { MaintenanceTask } from '../ingest/maintenance.ts';
import { Agreements } from '../marketplaces/agreements.ts';
import { hourMs } from '../marketplaces/aws-agreement.ts';
import { AwsMarketplace } from '../marketplaces/aws-marketplace.ts';
import {
  AwsMetering,
  type BilledDimension,
  type UsageCounts,
  type UsageUnit,
} from '../marketplaces/aws-metering.ts';
import type { AwsComponents, VercelComponents } from '../marketplaces/configured-marketplaces.ts';
import { Marketplaces } from '../marketplaces/marketplaces.ts';
import { SnsReceiver } from '../marketplaces/sns-receiver.ts';
import { VercelApi } from '../marketplaces/vercel-api.ts';
import { type IntegrationKeys, VercelVariables } from '../marketplaces/vercel-variables.ts';
import { BillingRecords } from '../storage/billing.ts';
import { isBilledByStripe } from '../storage/billing-account.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import type { Tier } from '../storage/organizations.ts';
import { namedCounters, UsageLedger } from '../usage/ledger.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { UsageKind } from '../usage/usage-events.ts';
import type { AccountComponents } from './account-components.ts';
import type { BillingComponents } from './billing.ts';
import { clock, random } from './runtime.ts';

/** Components of the marketplaces that are configured. */

interface MarketplaceDependencies {
  readonly data: DataDirectory;
  readonly components: AccountComponents;
  readonly meter: UsageMeter;
  readonly publicUrl: () => string;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly payments: Pick<BillingComponents, 'isUseCharged'>;
  readonly tiers: Pick<EffectiveTiers, 'apply'>;
}

export function buildMarketplaces(
  settings: Settings,
  dependencies: MarketplaceDependencies,
): { readonly marketplaces: Marketplaces; readonly maintenanceTasks: readonly MaintenanceTask[] } {
  const { data, components, logger } = dependencies;
  const { organizations, audit } = components;
  const agreements = new Agreements(data.store);
  const billing = new BillingRecords(data.store);
  const signUpLimiter = new SlidingWindowLimiter(
    'marketplace sign-ups',
    rateLimits.marketplaceSignUps,
    clock,
  );
  const messageLimiter = new SlidingWindowLimiter(
    'marketplace messages',
    rateLimits.marketplaceMessages,
    clock,
  );
  const sealer = new Sealer(deriveSecrets(data.secrets, 'marketplaces'), random);
  const marketplaces = new Marketplaces({
    store: data.store,
    agreements,
    clock,
    random,
    audit,
    logger,
    sealer,
    aws: settings.awsMarketplace ? createAwsMarketplace(settings, agreements, dependencies) : null,
    vercel: createVercelMarketplace(settings, dependencies, { agreements, sealer }),
    cardPayments: dependencies.payments.isUseCharged
      ? {
          isBilledByStripe: (organizationId) => isBilledByStripe(billing.getAccount(organizationId)),
          expectNotBilledByStripe: (organizationId) => billing.expectNotBilledByStripe(organizationId),
        }
      : null,
    checkSignUpRate: (address) => signUpLimiter.consume(rateLimitAddress(address)),
    checkMessageRate: (address) => messageLimiter.consume(rateLimitAddress(address)),
    tierOf: (organizationId) => organizations.find(organizationId)?.tier ?? null,
    applyTier: async (organizationId, by) => {
      await dependencies.tiers.apply(organizationId, by);
    },
  });
  return { marketplaces, maintenanceTasks: marketplaceMaintenanceTasks(marketplaces) };
}

function createAwsMarketplace(
  settings: Settings,
  agreements: Agreements,
  dependencies: MarketplaceDependencies,
): AwsComponents {
  const { data, components, meter, egress, logger } = dependencies;
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsTopicArns } = settings;
  const hasKey = accessKeyId !== null && secretAccessKey !== null;
  const awsMarket = new AwsMarketplace({
    egress,
    region: settings.awsRegion,
    endpoint: settings.awsEndpoint,
    credentials: hasKey ? { accessKeyId, secretAccessKey } : null,
    productCodes: settings.awsProductCodes === null ? null : new Set(settings.awsProductCodes.split(',')),
    tier: settings.awsTier,
    tiers: settings.awsTiers === null ? null : new Map(parsePairs(settings.awsTiers) as [string, Tier][]),
    clock,
  });
  const metering = new AwsMetering({
    store: data.store,
    agreements,
    client: awsMarket,
    audit: components.audit,
    clock,
    logger,
    chargedUntil: chargedUntilIn(data, dependencies.payments),
    dimensions:
      settings.awsDimensions === null ? [] : parsePairs(settings.awsDimensions).map(parseBilledDimension),
    readUsage: createUsageReader(new UsageLedger({ store: data.store, clock }), meter),
  });
  const topicArns = new Set(awsTopicArns?.split(','));
  const snsReceiver =
    awsTopicArns === null
      ? null
      : new SnsReceiver({ topicArns, origin: settings.awsSnsUrl, fetch: egress.fetch, clock, logger });
  return { client: awsMarket, metering, snsReceiver };
}

/**
 * Returns a function from the ID of an organization to the time until which Stripe charges its usage, in milliseconds since
 * the epoch; Infinity while a subscription runs.
 */
function chargedUntilIn(
  { store }: Pick<DataDirectory, 'store'>,
  { isUseCharged }: MarketplaceDependencies['payments'],
): (organizationId: string) => number {
  const billing = new BillingRecords(store);
  return (organizationId) => {
    const account = billing.getAccount(organizationId);
    return isUseCharged && isBilledByStripe(account) ? Number.POSITIVE_INFINITY : (account.servedUntil ?? 0);
  };
}

function createVercelMarketplace(
  settings: Settings,
  { publicUrl, components, egress, logger }: MarketplaceDependencies,
  { agreements, sealer }: { readonly agreements: Agreements; readonly sealer: Sealer },
): VercelComponents | null {
  const { vercelClientId: clientId, vercelClientSecret: clientSecret, vercelTier } = settings;
  if (clientId === null || clientSecret === null) return null;
  const api = new VercelApi({
    clientId,
    clientSecret,
    fetch: egress.fetch,
    apiUrl: settings.vercelApiUrl,
    nextHosts: new Set(settings.vercelNextHosts.split(',')),
    redirectUri: () => `${publicUrl()}/api/marketplaces/vercel`,
  });
  const variables = new VercelVariables({
    api,
    agreements,
    sealer,
    logger,
    keys: createIntegrationKeys(components),
    baseUrl: () => `${publicUrl()}/v1`,
  });
  return { api, variables, tier: vercelTier === 'none' ? null : vercelTier };
}

/** Keys of integrations: `createdBy` holds the integration instead of a user. */
function createIntegrationKeys({ keys }: Pick<AccountComponents, 'keys'>): IntegrationKeys {
  const by = { actor: 'system', address: null } as const;
  const revokeKeys = async (organizationId: string, holder: string) => {
    for (const { keyId, createdBy } of await keys.list(organizationId))
      if (createdBy === holder) await keys.revoke({ organizationId, keyId }, by);
  };
  return {
    revoke: revokeKeys,
    issue: async (organizationId, holder) => {
      await revokeKeys(organizationId, holder);
      const input = { organizationId, name: 'Vercel', permission: 'all', createdBy: holder } as const;
      return (await keys.issue(input, by)).secret;
    },
    isValid: (secret) => keys.findByDigest(hashKey(secret)) !== undefined,
  };
}

function marketplaceMaintenanceTasks({ maintenance, signUps }: Marketplaces): MaintenanceTask[] {
  const everyMs = limits.accountSweepMs;
  return [
    {
      name: 'marketplace agreements',
      intervalMs: everyMs,
      run: (signal) => maintenance.refreshEntitlements(signal),
    },
    {
      name: 'Vercel variables',
      intervalMs: limits.marketplaceRetryMs,
      run: (signal) => maintenance.setPendingVariables(signal),
    },
    {
      name: 'marketplace usage',
      intervalMs: limits.marketplaceReportMs,
      run: (signal) => maintenance.reportUsage(signal),
    },
    { name: 'marketplace sign-ups', intervalMs: everyMs, run: (signal) => signUps.sweep(signal) },
  ];
}

/** Parses `a=b,c=d`. */
function parsePairs(list: string): [string, string][] {
  return list.split(',').map((pair) => {
    const [name = '', value = ''] = pair.split('=');
    return [name, value];
  });
}

/** Parses `queries/1000`, the unit that `dimension` bills. */
function parseBilledDimension([metric, dimension]: readonly [string, string]): BilledDimension {
  const [use = '', per = '1'] = metric.split('/');
  return { unit: use as UsageUnit, unitsPerQuantity: Number(per), dimension };
}

/** Reads the usage of some hours from the ledger. Model usage counts calls of the model operations only. */
function createUsageReader(ledger: UsageLedger, meter: UsageMeter) {
  return async (organizationId: string, from: number, to: number): Promise<UsageCounts> => {
    await meter.tryFlush();
    const range = { startTime: from * (hourMs / 1_000), endTime: to * (hourMs / 1_000) - 1 } as const;
    const total = async (kind: UsageKind, category: string | null, counter: string) => {
      const rows = await ledger.windows({
        organizationId,
        kind,
        ...range,
        window: 'daily',
        subjectIds: null,
      });
      return rows
        .filter((row) => category === null || row.category === category)
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
