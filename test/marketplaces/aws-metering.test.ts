import t, { type Test } from 'tap';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { highestMarketplaceTier } from '../../src/billing/effective-tiers.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { type Logger, silentLogger } from '../../src/core/logger.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { Agreements } from '../../src/marketplaces/agreements.ts';
import { type AwsAgreement, hourMs } from '../../src/marketplaces/aws-agreement.ts';
import { AwsMarketplace } from '../../src/marketplaces/aws-marketplace.ts';
import { AwsMetering, type UsageCounts } from '../../src/marketplaces/aws-metering.ts';
import { Marketplaces } from '../../src/marketplaces/marketplaces.ts';
import type { MarketplaceAgreement } from '../../src/storage/marketplaces.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { type AwsReply, awsKey, startAwsEmulator } from '../e2e/aws-emulator.ts';
import { localEgress } from '../local-egress.ts';

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

const start = Date.UTC(2026, 10, 21, 8);
const none: UsageCounts = { documents: 0, pages: 0, queries: 0, embed_tokens: 0, rerank_tokens: 0 };
const organizationOf = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
const licenseOf = (i: number) => `arn:aws:license-manager::1:license:l-${i}`;

async function build(t: Test, { many = 1, per = 1 } = {}) {
  /** End of the time for which the usage of an organization was charged by card. */
  const charged = new Map<string, number>();
  const warnings: object[] = [];
  const note = (fields: object) => void warnings.push(fields);
  const logger: Logger = { ...silentLogger, warn: note, child: () => logger };
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: start });
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
    t.notOk('ProductCode' in body, 'a product code beside a license bills twice');
    batches.push(records);
    const judged = records.map((record) => ({ UsageRecord: record, Status: awsBehavior.judge(record) }));
    for (const { UsageRecord: record, Status } of judged) {
      const name = `${record.LicenseArn} ${record.Timestamp} ${record.Dimension}`;
      if (Status === 'Success')
        t.equal(acceptedRecords.get(name) ?? record.Quantity, record.Quantity, 'the very same');
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
  /** Queries by organization and hour. */
  const queries = new Map<string, number>();
  const audit = new AuditLog({ store, clock, random: systemRandom });
  const open = () => {
    const agreements = new Agreements(store);
    const market = new AwsMarketplace({
      region: 'us-east-1',
      egress: localEgress,
      endpoint: aws.url,
      credentials: { accessKeyId: awsKey.id, secretAccessKey: awsKey.secret },
      productCodes: null,
      tier: 'teams',
      tiers: null,
      clock,
    });
    const metering = new AwsMetering({
      ...{ store, agreements, client: market, audit, clock, logger },
      chargedUntil: (organizationId) => charged.get(organizationId) ?? 0,
      dimensions: [{ unit: 'queries', unitsPerQuantity: per, dimension: 'queries' }],
      readUsage: async (organizationId, from, to) => {
        let sum = 0;
        for (let hour = from; hour < to; hour += 1) sum += queries.get(`${organizationId} ${hour}`) ?? 0;
        return { ...none, queries: sum };
      },
    });
    const granted = new Map<string, string | null>();
    const marketplaces = new Marketplaces({
      ...{ store, agreements, audit, clock, random: systemRandom, logger: silentLogger },
      sealer: new Sealer([new Uint8Array(32).fill(3)], systemRandom),
      aws: { client: market, metering, snsReceiver: null },
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
  };
  const first = Math.floor(start / hourMs);
  for (let i = 1; i <= many; i += 1) {
    const agreement: MarketplaceAgreement = {
      offer: {
        marketplace: 'aws',
        licenseArn: licenseOf(i),
        accountId: `${i}`,
        productCode: 'p',
        customerId: null,
      },
      ...{ organizationId: organizationOf(i), boundAt: start, endedAt: null },
      ...{ tier: 'teams', granted: 'teams', hour: first, carried: {} },
    };
    await open().agreements.update(agreement.offer, () => ({ after: agreement }));
  }
  const recordUsage = (i: number, hour: number, count: number) =>
    queries.set(`${organizationOf(i)} ${first + hour}`, count);
  const meter = (run = open()) => run.marketplaces.reportUsage(new AbortController().signal);
  return {
    store,
    clock,
    audit,
    aws,
    acceptedRecords,
    batches,
    awsBehavior,
    recordUsage,
    meter,
    open,
    first,
    charged,
    warnings,
  };
}

const name = (i: number, hour: number) => `${licenseOf(i)} ${start / 1_000 + hour * 3_600} queries`;

t.test('each complete hour is reported once, signed, for its license', async (t) => {
  const { clock, acceptedRecords, batches, aws, recordUsage, meter } = await build(t);
  recordUsage(1, 0, 40);
  await meter();
  t.same(batches, [], 'the hour is not over');
  await clock.advance(hourMs + 60_000);
  await meter();
  t.same(batches, [], 'its last usage may not be written yet');
  await clock.advance(120_000);
  await meter();
  t.same([...acceptedRecords], [[name(1, 0), 40]]);
  t.match(batches[0], [{ CustomerAWSAccountId: '1', LicenseArn: licenseOf(1), Dimension: 'queries' }]);
  recordUsage(1, 2, 7);
  await clock.advance(2 * hourMs);
  await meter();
  await meter();
  t.same([...acceptedRecords.values()], [40, 7], 'an hour without usage is not reported');
  t.equal(batches.length, 2);
  t.same(aws.invalidSignatures, []);
});

t.test('a request has at most 25 records, and unaccepted ones are resent', async (t) => {
  const { clock, acceptedRecords, batches, awsBehavior, recordUsage, meter } = await build(t, { many: 60 });
  for (let i = 1; i <= 60; i += 1) recordUsage(i, 0, i);
  await clock.advance(hourMs + 180_000);
  let again = 0;
  awsBehavior.judge = ({ LicenseArn }) =>
    LicenseArn.endsWith('7') && again++ < 6 ? 'unprocessed' : 'Success';
  await meter();
  t.same(
    batches.map((batch) => batch.length),
    [25, 25, 10],
  );
  t.equal(acceptedRecords.size, 54);
  await meter();
  t.equal(batches.at(-1)?.length, 6);
  t.equal(acceptedRecords.size, 60);
  t.equal(
    [...acceptedRecords.values()].reduce((sum, each) => sum + each, 0),
    (60 * 61) / 2,
  );
});

t.test('records that AWS leaves unprocessed block no others', async (t) => {
  const { clock, acceptedRecords, awsBehavior, recordUsage, meter } = await build(t, { many: 30 });
  for (let i = 1; i <= 30; i += 1) recordUsage(i, 0, i);
  await clock.advance(hourMs + 180_000);
  let judged = 0;
  awsBehavior.judge = () => (judged++ < 25 ? 'unprocessed' : 'Success');
  await meter();
  t.equal(acceptedRecords.size, 5);
});

t.test('a crash at any step neither doubles nor loses usage', async (t) => {
  const { store, clock, acceptedRecords, batches, awsBehavior, recordUsage, meter } = await build(t);
  recordUsage(1, 0, 40);
  await clock.advance(hourMs + 180_000);
  awsBehavior.cut = true;
  await meter();
  t.same([...acceptedRecords.values()], [40], 'AWS took it, and its answer was lost');
  awsBehavior.cut = false;
  recordUsage(1, 0, 45);
  await meter();
  t.equal(batches.at(-1)?.[0]?.Quantity, 40, 'a repeated report is identical');
  t.same([...acceptedRecords.values()], [40]);
  recordUsage(1, 1, 5);
  await clock.advance(hourMs);
  const write = store.write.bind(store);
  let writes = 0;
  store.write = (operations, ...rest) => {
    writes += 1;
    return writes === 2 ? Promise.reject(new Error('the process ends here')) : write(operations, ...rest);
  };
  await t.rejects(meter(), /ends here/);
  t.same([...acceptedRecords.values()], [40, 5]);
  store.write = write;
  await meter();
  t.same([...acceptedRecords.values()], [40, 5]);
  const sent = batches.length;
  await meter();
  t.equal(batches.length, sent, 'and then there is nothing left to tell');
});

t.test('after a long outage old hours are added to the oldest hour that AWS accepts', async (t) => {
  const { clock, acceptedRecords, recordUsage, meter } = await build(t);
  for (let hour = 0; hour < 30; hour += 1) recordUsage(1, hour, 1);
  await clock.advance(30 * hourMs + 180_000);
  await meter();
  t.equal(
    [...acceptedRecords.values()].reduce((sum, each) => sum + each, 0),
    30,
  );
  t.equal(acceptedRecords.get(name(1, 8)), 9, 'nine hours in one');
  t.equal(acceptedRecords.size, 22);
});

t.test(
  'in the first hours of a month, hours of the previous month are still reported; later they are added to the new month',
  async (t) => {
    const { clock, acceptedRecords, recordUsage, meter, first } = await build(t);
    const november = Date.UTC(2026, 11, 1) / hourMs - first;
    recordUsage(1, november - 2, 3);
    await clock.advance((november + 4) * hourMs + 180_000);
    await meter();
    t.same([...acceptedRecords], [[name(1, november - 2), 3]]);
    recordUsage(1, november + 10, 1);
    const january = Date.UTC(2027, 0, 1) / hourMs - first;
    recordUsage(1, january - 2, 3);
    recordUsage(1, january + 2, 1);
    await clock.advance((january - november + 2) * hourMs);
    await meter();
    t.equal(acceptedRecords.get(name(1, january)), 4, 'December and November have ended: this is January');
    t.equal(acceptedRecords.get(name(1, january + 2)), 1);
    t.equal(acceptedRecords.size, 3);
  },
);

t.test('rejected usage is logged and not resent; throttled usage is retried', async (t) => {
  const { clock, audit, acceptedRecords, batches, awsBehavior, recordUsage, meter, open } = await build(t, {
    many: 3,
  });
  for (const i of [1, 2, 3]) recordUsage(i, 0, 10);
  await clock.advance(hourMs + 180_000);
  for (const failure of ['ThrottlingException', 'DisabledApiException', 'UnrecognizedClientException']) {
    awsBehavior.fail = () => ({ error: failure });
    await meter();
  }
  t.equal(acceptedRecords.size, 0);
  awsBehavior.fail = () => null;
  awsBehavior.judge = ({ LicenseArn }) =>
    LicenseArn === licenseOf(1)
      ? 'DuplicateRecord'
      : LicenseArn === licenseOf(2)
        ? 'CustomerNotSubscribed'
        : 'Success';
  const run = open();
  await meter(run);
  t.same([...acceptedRecords], [[name(3, 0), 10]]);
  t.equal(run.granted.get(organizationOf(2)), null, 'an ended license grants no tier');
  t.notOk(run.granted.has(organizationOf(1)));
  const sent = batches.length;
  await meter();
  t.equal(batches.length, sent);
  const log = await audit.list(null, { before: { at: clock.now() + 1 }, since: 0, limit: 10 });
  t.same(
    log.map(({ action, target, details }) => [action, target, details.reason, details.quantity]).sort(),
    [
      ['marketplace.usage_refused', licenseOf(1), 'DuplicateRecord', 10],
      ['marketplace.usage_refused', licenseOf(2), 'CustomerNotSubscribed', 10],
    ],
  );
});

t.test('one invalid record does not block its batch', async (t) => {
  const { clock, acceptedRecords, awsBehavior, recordUsage, meter } = await build(t, { many: 3 });
  for (const i of [1, 2, 3]) recordUsage(i, 0, 10);
  await clock.advance(hourMs + 180_000);
  const bad = licenseOf(2);
  awsBehavior.fail = (records) =>
    records.some(({ LicenseArn }) => LicenseArn === bad) ? { error: 'InvalidLicenseException' } : null;
  await meter();
  t.same([...acceptedRecords.keys()].sort(), [name(1, 0), name(3, 0)]);
});

t.test('usage below one unit is carried over; usage too old for AWS is logged as lost', async (t) => {
  const { clock, audit, acceptedRecords, awsBehavior, recordUsage, meter } = await build(t, { per: 100 });
  recordUsage(1, 0, 250);
  recordUsage(1, 1, 60);
  recordUsage(1, 2, 30);
  await clock.advance(3 * hourMs + 180_000);
  await meter();
  t.same(
    [...acceptedRecords],
    [
      [name(1, 0), 2],
      [name(1, 1), 1],
    ],
  );
  recordUsage(1, 3, 500);
  awsBehavior.fail = () => ({ error: 'InternalServiceErrorException', status: 500 });
  await clock.advance(hourMs);
  await meter();
  await clock.advance(24 * hourMs);
  awsBehavior.fail = () => null;
  await meter();
  t.equal(acceptedRecords.size, 2, 'its acceptance is unknown, so it is not billed again');
  const [entry] = await audit.list(null, { before: { at: clock.now() + 1 }, since: 0, limit: 10 });
  t.match(entry, { action: 'marketplace.usage_refused', details: { reason: 'too old', quantity: 5 } });
});

t.test('the last hour is closed and reported when an organization is deleted', async (t) => {
  const { store, clock, acceptedRecords, recordUsage, open } = await build(t);
  await clock.advance(10 * 60_000);
  recordUsage(1, 0, 9);
  const run = open();
  await run.marketplaces.deleteOrganization(organizationOf(1));
  t.same([...acceptedRecords], [[name(1, 0), 9]]);
  let rows = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x90), lt: Uint8Array.of(0xa0) }))
    rows += key.length;
  t.equal(rows, 0);
});

t.test('of several licenses of one organization, the one bound first reports its usage', async (t) => {
  const { clock, acceptedRecords, recordUsage, meter, open, first, warnings } = await build(t);
  const { agreements, marketplaces } = open();
  // Earlier versions permitted a second license.
  const known = agreements.records.findAgreement('aws', licenseOf(1)) as AwsAgreement;
  const offer = { ...known.offer, licenseArn: licenseOf(2) };
  await agreements.update(offer, () => ({ after: { ...known, offer, boundAt: start + 1 } }));
  await marketplaces.start();
  t.match(warnings, [{ organizationId: organizationOf(1), licenseArn: licenseOf(2), byCard: false }]);
  recordUsage(1, 0, 40);
  recordUsage(1, 1, 7);
  await clock.advance(hourMs + 180_000);
  await meter();
  await clock.advance(hourMs);
  // The first license ends in the third hour.
  recordUsage(1, 2, 5);
  await meter();
  await open().agreements.update(known.offer, (latest) => ({
    after: { ...latest!, endedAt: clock.now(), hour: first + 3 },
  }));
  recordUsage(1, 3, 11);
  await clock.advance(2 * hourMs);
  await meter();
  t.same(
    [...acceptedRecords],
    [
      [name(1, 0), 40],
      [name(1, 1), 7],
      [name(2, 3), 11],
    ],
    'each hour once, from the next one on by the license that is left',
  );
});

t.test('usage charged by a subscription on this server is not reported to AWS', async (t) => {
  const { clock, acceptedRecords, recordUsage, meter, open, charged, warnings } = await build(t);
  charged.set(organizationOf(1), Number.POSITIVE_INFINITY);
  await open().marketplaces.start();
  t.match(warnings, [{ organizationId: organizationOf(1), licenseArn: licenseOf(1), byCard: true }]);
  for (let hour = 0; hour < 4; hour += 1) recordUsage(1, hour, hour + 1);
  await clock.advance(hourMs + 180_000);
  await meter();
  charged.set(organizationOf(1), start + 2 * hourMs + 1);
  await clock.advance(3 * hourMs);
  await meter();
  t.same([...acceptedRecords], [[name(1, 3), 4]], 'from the first whole hour after it');
});
