import { AuditLog } from '../../src/audit/audit-log.ts';
import { highestMarketplaceTier } from '../../src/billing/effective-tiers.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { type Logger, silentLogger } from '../../src/core/logger.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { Agreements } from '../../src/marketplaces/agreements.ts';
import { hourMs } from '../../src/marketplaces/aws-agreement.ts';
import { AwsMarketplace } from '../../src/marketplaces/aws-marketplace.ts';
import { AwsMetering, type UsageCounts } from '../../src/marketplaces/aws-metering.ts';
import { Marketplaces } from '../../src/marketplaces/marketplaces.ts';
import type { MarketplaceAgreement } from '../../src/storage/marketplaces.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { type AwsReply, awsKey, startAwsEmulator } from '../e2e/aws-emulator.ts';
import { localEgress } from '../local-egress.ts';
import type { Test } from '../support/tap.ts';

/** Hourly usage, reported with the real SDK to the AWS emulator, with a fake clock. */

interface SentRecord {
  readonly LicenseArn: string;
  readonly Timestamp: number;
  readonly Dimension: string;
  readonly Quantity: number;
  readonly CustomerAWSAccountId: string;
}

type RecordVerdict = (
  record: SentRecord,
) => 'Success' | 'DuplicateRecord' | 'CustomerNotSubscribed' | 'unprocessed';

export const start = Date.UTC(2026, 10, 21, 8);

const none: UsageCounts = { documents: 0, pages: 0, queries: 0, embed_tokens: 0, rerank_tokens: 0 };

export const organizationOf = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

export const licenseOf = (i: number) => `arn:aws:license-manager::1:license:l-${i}`;

/** AWS emulator that records accepted usage; a test sets its behavior. */
async function startMeteringEmulator(t: Test) {
  /** Accepted quantities, by license, hour and dimension. */
  const acceptedRecords = new Map<string, number>();
  const batches: SentRecord[][] = [];
  const awsBehavior: {
    judge: RecordVerdict;
    fail: (records: SentRecord[]) => AwsReply | null;
    cut: boolean;
  } = {
    judge: () => 'Success',
    fail: () => null,
    cut: false,
  };
  const aws = await startAwsEmulator(t, ({ body }) => {
    const records = body.UsageRecords as SentRecord[];
    const failure = awsBehavior.fail(records);
    if (failure !== null) return failure;
    t.notOk('ProductCode' in body, 'a product code beside a license would bill twice');
    batches.push(records);
    const judged = records.map((record) => ({ UsageRecord: record, Status: awsBehavior.judge(record) }));
    for (const { UsageRecord: record, Status } of judged) {
      const name = `${record.LicenseArn} ${record.Timestamp} ${record.Dimension}`;
      if (Status === 'Success')
        t.equal(
          acceptedRecords.get(name) ?? record.Quantity,
          record.Quantity,
          'a repeated record has the same quantity',
        );
      if (Status === 'Success') acceptedRecords.set(name, record.Quantity);
    }
    return {
      body: {
        Results: judged.filter(({ Status }) => Status !== 'unprocessed'),
        UnprocessedRecords: judged
          .filter(({ Status }) => Status === 'unprocessed')
          .map(({ UsageRecord }) => UsageRecord),
      },
      ...(awsBehavior.cut ? { cut: true } : {}),
    };
  });
  return { aws, acceptedRecords, batches, awsBehavior };
}

/** Agreement of the organization with the same number. */
function agreementOf(i: number, hour: number): MarketplaceAgreement {
  return {
    offer: {
      marketplace: 'aws',
      licenseArn: licenseOf(i),
      accountId: `${i}`,
      productCode: 'p',
      customerId: null,
    },
    organizationId: organizationOf(i),
    boundAt: start,
    endedAt: null,
    tier: 'teams',
    granted: 'teams',
    hour,
    carried: {},
  };
}

interface MarketplaceParts {
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  readonly audit: AuditLog;
  readonly logger: Logger;
  readonly endpoint: string;
  readonly unitsPerQuantity: number;
  readonly chargedUntil: (organizationId: string) => number;
  readonly readUsage: (organizationId: string, from: number, to: number) => Promise<UsageCounts>;
}

/** Marketplaces as at a start of the server on this store. */
function openMarketplaces({ store, clock, audit, logger, ...parts }: MarketplaceParts) {
  const agreements = new Agreements(store);
  const client = new AwsMarketplace({
    region: 'us-east-1',
    egress: localEgress,
    endpoint: parts.endpoint,
    credentials: { accessKeyId: awsKey.id, secretAccessKey: awsKey.secret },
    productCodes: null,
    tier: 'teams',
    tiers: null,
    clock,
  });
  const metering = new AwsMetering({
    store,
    agreements,
    client,
    audit,
    clock,
    logger,
    chargedUntil: parts.chargedUntil,
    dimensions: [{ unit: 'queries', unitsPerQuantity: parts.unitsPerQuantity, dimension: 'queries' }],
    readUsage: parts.readUsage,
  });
  const granted = new Map<string, string | null>();
  const marketplaces = new Marketplaces({
    store,
    agreements,
    audit,
    clock,
    random: systemRandom,
    logger: silentLogger,
    sealer: new Sealer([new Uint8Array(32).fill(3)], systemRandom),
    aws: { client, metering, snsReceiver: null },
    cardPayments: null,
    vercel: null,
    applyTier: async (organizationId) => {
      granted.set(
        organizationId,
        highestMarketplaceTier(await agreements.listByOrganization(organizationId)),
      );
    },
    tierOf: () => null,
    checkSignUpRate: () => {},
    checkMessageRate: () => {},
  });
  return { agreements, marketplaces, granted };
}

/** A store with one agreement per organization, and the emulated AWS. */
export async function buildMetering(t: Test, { many = 1, per = 1 } = {}) {
  /** End of the time for which the usage of an organization was charged by card. */
  const charged = new Map<string, number>();
  const warnings: object[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields: object) => void warnings.push(fields),
    child: () => logger,
  };
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: start });
  const emulator = await startMeteringEmulator(t);
  const audit = new AuditLog({ store, clock, random: systemRandom });
  /** Queries by organization and hour. */
  const queries = new Map<string, number>();
  const open = () =>
    openMarketplaces({
      store,
      clock,
      audit,
      logger,
      endpoint: emulator.aws.url,
      unitsPerQuantity: per,
      chargedUntil: (organizationId) => charged.get(organizationId) ?? 0,
      readUsage: async (organizationId, from, to) => {
        let sum = 0;
        for (let hour = from; hour < to; hour += 1) sum += queries.get(`${organizationId} ${hour}`) ?? 0;
        return { ...none, queries: sum };
      },
    });
  const first = Math.floor(start / hourMs);
  for (let i = 1; i <= many; i += 1) {
    const agreement = agreementOf(i, first);
    await open().agreements.update(agreement.offer, () => ({ after: agreement }));
  }
  const recordUsage = (i: number, hour: number, count: number) =>
    queries.set(`${organizationOf(i)} ${first + hour}`, count);
  const meter = (run = open()) => run.marketplaces.maintenance.reportUsage(new AbortController().signal);
  return { ...emulator, store, clock, audit, recordUsage, meter, open, first, charged, warnings };
}

export const recordName = (i: number, hour: number) =>
  `${licenseOf(i)} ${start / 1_000 + hour * 3_600} queries`;
