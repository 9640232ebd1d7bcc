import t, { type Test } from 'tap';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemChance } from '../../src/base/ids.ts';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import { Sealing } from '../../src/base/sealing.ts';
import { boughtTier } from '../../src/billing/effective-tier.ts';
import { Agreements } from '../../src/marketplaces/agreements.ts';
import { type AwsAgreement, hourMs } from '../../src/marketplaces/aws-agreement.ts';
import { AwsMarket } from '../../src/marketplaces/aws-market.ts';
import { Marketplaces } from '../../src/marketplaces/marketplaces.ts';
import { Metering, type Uses } from '../../src/marketplaces/metering.ts';
import type { Agreement } from '../../src/store/marketplaces.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { FakeTime } from '../admission/fake-time.ts';
import { localEgress } from '../any-egress.ts';
import { type AwsAnswer, awsKey, awsLookAlike } from '../e2e/aws-look-alike.ts';

/** Use of hours, reported with the real SDK to a look-alike of AWS, by a clock that the test moves. */

interface SentRecord {
  readonly LicenseArn: string;
  readonly Timestamp: number;
  readonly Dimension: string;
  readonly Quantity: number;
  readonly CustomerAWSAccountId: string;
}
type Judge = (record: SentRecord) => 'Success' | 'DuplicateRecord' | 'CustomerNotSubscribed' | 'unprocessed';

const start = Date.UTC(2026, 10, 21, 8);
const none: Uses = { documents: 0, pages: 0, queries: 0, embed_tokens: 0, rerank_tokens: 0 };
const organizationOf = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
const licenseOf = (i: number) => `arn:aws:license-manager::1:license:l-${i}`;

async function build(t: Test, { many = 1, per = 1 } = {}) {
  /** Until when the use of an organization was charged by card. */
  const charged = new Map<string, number>();
  const warnings: object[] = [];
  const note = (fields: object) => void warnings.push(fields);
  const logger: Logger = { ...silentLogger, warn: note, child: () => logger };
  const store = new MemoryStore();
  const clock = new FakeTime({ wall: start });
  /** What was taken, once: by license, hour and dimension. */
  const taken = new Map<string, number>();
  const batches: SentRecord[][] = [];
  const says: { judge: Judge; fail: (records: SentRecord[]) => AwsAnswer | null; cut: boolean } = {
    judge: () => 'Success',
    fail: () => null,
    cut: false,
  };
  const aws = await awsLookAlike(t, ({ body }) => {
    const records = body.UsageRecords as SentRecord[];
    const failure = says.fail(records);
    if (failure !== null) return failure;
    t.notOk('ProductCode' in body, 'a product code beside a license bills twice');
    batches.push(records);
    const judged = records.map((record) => ({ UsageRecord: record, Status: says.judge(record) }));
    for (const { UsageRecord: record, Status } of judged) {
      const name = `${record.LicenseArn} ${record.Timestamp} ${record.Dimension}`;
      if (Status === 'Success') t.equal(taken.get(name) ?? record.Quantity, record.Quantity, 'the very same');
      if (Status === 'Success') taken.set(name, record.Quantity);
    }
    return {
      body: {
        Results: judged.filter(({ Status }) => Status !== 'unprocessed'),
        UnprocessedRecords: judged
          .filter(({ Status }) => Status === 'unprocessed')
          .map(({ UsageRecord }) => UsageRecord),
      },
      ...(says.cut ? { cut: true } : {}),
    };
  });
  /** Queries by organisation and hour. */
  const queries = new Map<string, number>();
  const audit = new AuditLog({ store, clock, chance: systemChance });
  const open = () => {
    const agreements = new Agreements(store);
    const market = new AwsMarket({
      region: 'us-east-1',
      egress: localEgress,
      endpoint: aws.url,
      credentials: { accessKeyId: awsKey.id, secretAccessKey: awsKey.secret },
      productCodes: null,
      tier: 'teams',
      tiers: null,
      clock,
    });
    const metering = new Metering({
      ...{ store, agreements, market, audit, clock, logger },
      chargedUntil: (organizationId) => charged.get(organizationId) ?? 0,
      dimensions: [{ use: 'queries', per, dimension: 'queries' }],
      usesOf: async (organizationId, from, to) => {
        let sum = 0;
        for (let hour = from; hour < to; hour += 1) sum += queries.get(`${organizationId} ${hour}`) ?? 0;
        return { ...none, queries: sum };
      },
    });
    const granted = new Map<string, string | null>();
    const marketplaces = new Marketplaces({
      ...{ store, agreements, audit, clock, chance: systemChance, logger: silentLogger },
      sealing: new Sealing([new Uint8Array(32).fill(3)], systemChance),
      aws: { market, metering, inbox: null },
      cards: null,
      vercel: null,
      applyTier: async (organizationId) => {
        granted.set(organizationId, boughtTier(await agreements.ofOrganisation(organizationId)));
      },
      tierOf: () => null,
      admit: () => {},
      admitMessage: () => {},
    });
    return { agreements, marketplaces, granted };
  };
  const first = Math.floor(start / hourMs);
  for (let i = 1; i <= many; i += 1) {
    const agreement: Agreement = {
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
    await open().agreements.change(agreement.offer, () => ({ after: agreement }));
  }
  const use = (i: number, hour: number, count: number) =>
    queries.set(`${organizationOf(i)} ${first + hour}`, count);
  const meter = (run = open()) => run.marketplaces.meter(new AbortController().signal);
  return { store, clock, audit, aws, taken, batches, says, use, meter, open, first, charged, warnings };
}

const name = (i: number, hour: number) => `${licenseOf(i)} ${start / 1_000 + hour * 3_600} queries`;

t.test('each complete hour is reported once, signed, for its license', async (t) => {
  const { clock, taken, batches, aws, use, meter } = await build(t);
  use(1, 0, 40);
  await meter();
  t.same(batches, [], 'the hour is not over');
  await clock.advance(hourMs + 60_000);
  await meter();
  t.same(batches, [], 'its last use may still be on its way');
  await clock.advance(120_000);
  await meter();
  t.same([...taken], [[name(1, 0), 40]]);
  t.match(batches[0], [{ CustomerAWSAccountId: '1', LicenseArn: licenseOf(1), Dimension: 'queries' }]);
  use(1, 2, 7);
  await clock.advance(2 * hourMs);
  await meter();
  await meter();
  t.same([...taken.values()], [40, 7], 'an hour without use is not reported');
  t.equal(batches.length, 2);
  t.same(aws.forged, []);
});

t.test('25 go in one request, and what was not taken is sent again', async (t) => {
  const { clock, taken, batches, says, use, meter } = await build(t, { many: 60 });
  for (let i = 1; i <= 60; i += 1) use(i, 0, i);
  await clock.advance(hourMs + 180_000);
  let again = 0;
  says.judge = ({ LicenseArn }) => (LicenseArn.endsWith('7') && again++ < 6 ? 'unprocessed' : 'Success');
  await meter();
  t.same(
    batches.map((batch) => batch.length),
    [25, 25, 10],
  );
  t.equal(taken.size, 54);
  await meter();
  t.equal(batches.at(-1)?.length, 6);
  t.equal(taken.size, 60);
  t.equal(
    [...taken.values()].reduce((sum, each) => sum + each, 0),
    (60 * 61) / 2,
  );
});

t.test('what AWS leaves out for now keeps nobody else from being told', async (t) => {
  const { clock, taken, says, use, meter } = await build(t, { many: 30 });
  for (let i = 1; i <= 30; i += 1) use(i, 0, i);
  await clock.advance(hourMs + 180_000);
  let judged = 0;
  says.judge = () => (judged++ < 25 ? 'unprocessed' : 'Success');
  await meter();
  t.equal(taken.size, 5);
});

t.test('a crash at any step bills nothing twice and forgets nothing', async (t) => {
  const { store, clock, taken, batches, says, use, meter } = await build(t);
  use(1, 0, 40);
  await clock.advance(hourMs + 180_000);
  says.cut = true;
  await meter();
  t.same([...taken.values()], [40], 'AWS took it, and its answer was lost');
  says.cut = false;
  use(1, 0, 45);
  await meter();
  t.equal(batches.at(-1)?.[0]?.Quantity, 40, 'what is told again is the very same');
  t.same([...taken.values()], [40]);
  use(1, 1, 5);
  await clock.advance(hourMs);
  const write = store.write.bind(store);
  let writes = 0;
  store.write = (operations, ...rest) => {
    writes += 1;
    return writes === 2 ? Promise.reject(new Error('the process ends here')) : write(operations, ...rest);
  };
  await t.rejects(meter(), /ends here/);
  t.same([...taken.values()], [40, 5]);
  store.write = write;
  await meter();
  t.same([...taken.values()], [40, 5]);
  const sent = batches.length;
  await meter();
  t.equal(batches.length, sent, 'and then there is nothing left to tell');
});

t.test('after a long silence old hours are billed with the oldest that AWS takes', async (t) => {
  const { clock, taken, use, meter } = await build(t);
  for (let hour = 0; hour < 30; hour += 1) use(1, hour, 1);
  await clock.advance(30 * hourMs + 180_000);
  await meter();
  t.equal(
    [...taken.values()].reduce((sum, each) => sum + each, 0),
    30,
  );
  t.equal(taken.get(name(1, 8)), 9, 'nine hours in one');
  t.equal(taken.size, 22);
});

t.test(
  'in the first hours of a month the last of the one before are told, later they count for it',
  async (t) => {
    const { clock, taken, use, meter, first } = await build(t);
    const november = Date.UTC(2026, 11, 1) / hourMs - first;
    use(1, november - 2, 3);
    await clock.advance((november + 4) * hourMs + 180_000);
    await meter();
    t.same([...taken], [[name(1, november - 2), 3]]);
    use(1, november + 10, 1);
    const january = Date.UTC(2027, 0, 1) / hourMs - first;
    use(1, january - 2, 3);
    use(1, january + 2, 1);
    await clock.advance((january - november + 2) * hourMs);
    await meter();
    t.equal(taken.get(name(1, january)), 4, 'December and November have ended: this is January');
    t.equal(taken.get(name(1, january + 2)), 1);
    t.equal(taken.size, 3);
  },
);

t.test('what AWS refuses is told and not sent for ever; what it cannot take now waits', async (t) => {
  const { clock, audit, taken, batches, says, use, meter, open } = await build(t, { many: 3 });
  for (const i of [1, 2, 3]) use(i, 0, 10);
  await clock.advance(hourMs + 180_000);
  for (const failure of ['ThrottlingException', 'DisabledApiException', 'UnrecognizedClientException']) {
    says.fail = () => ({ error: failure });
    await meter();
  }
  t.equal(taken.size, 0);
  says.fail = () => null;
  says.judge = ({ LicenseArn }) =>
    LicenseArn === licenseOf(1)
      ? 'DuplicateRecord'
      : LicenseArn === licenseOf(2)
        ? 'CustomerNotSubscribed'
        : 'Success';
  const run = open();
  await meter(run);
  t.same([...taken], [[name(3, 0), 10]]);
  t.equal(run.granted.get(organizationOf(2)), null, 'who does not pay any more has nothing any more');
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

t.test('one bad record does not keep its batch', async (t) => {
  const { clock, taken, says, use, meter } = await build(t, { many: 3 });
  for (const i of [1, 2, 3]) use(i, 0, 10);
  await clock.advance(hourMs + 180_000);
  const bad = licenseOf(2);
  says.fail = (records) =>
    records.some(({ LicenseArn }) => LicenseArn === bad) ? { error: 'InvalidLicenseException' } : null;
  await meter();
  t.same([...taken.keys()].sort(), [name(1, 0), name(3, 0)]);
});

t.test('too little for a unit is carried over; what is older than AWS takes is told as lost', async (t) => {
  const { clock, audit, taken, says, use, meter } = await build(t, { per: 100 });
  use(1, 0, 250);
  use(1, 1, 60);
  use(1, 2, 30);
  await clock.advance(3 * hourMs + 180_000);
  await meter();
  t.same(
    [...taken],
    [
      [name(1, 0), 2],
      [name(1, 1), 1],
    ],
  );
  use(1, 3, 500);
  says.fail = () => ({ error: 'InternalServiceErrorException', status: 500 });
  await clock.advance(hourMs);
  await meter();
  await clock.advance(24 * hourMs);
  says.fail = () => null;
  await meter();
  t.equal(taken.size, 2, 'whether it was taken nobody knows, so it is not billed again');
  const [entry] = await audit.list(null, { before: { at: clock.now() + 1 }, since: 0, limit: 10 });
  t.match(entry, { action: 'marketplace.usage_refused', details: { reason: 'too old', quantity: 5 } });
});

t.test('the last hour is fixed when an organisation goes, and reported', async (t) => {
  const { store, clock, taken, use, open } = await build(t);
  await clock.advance(10 * 60_000);
  use(1, 0, 9);
  const run = open();
  await run.marketplaces.forget(organizationOf(1));
  t.same([...taken], [[name(1, 0), 9]]);
  let rows = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x90), lt: Uint8Array.of(0xa0) }))
    rows += key.length;
  t.equal(rows, 0);
});

t.test('of several licenses of one organization the one that was bound first reports its use', async (t) => {
  const { clock, taken, use, meter, open, first, warnings } = await build(t);
  const { agreements, marketplaces } = open();
  // Earlier builds let a second one be bound.
  const known = agreements.records.agreement('aws', licenseOf(1)) as AwsAgreement;
  const offer = { ...known.offer, licenseArn: licenseOf(2) };
  await agreements.change(offer, () => ({ after: { ...known, offer, boundAt: start + 1 } }));
  await marketplaces.start();
  t.match(warnings, [{ organizationId: organizationOf(1), licenseArn: licenseOf(2), byCard: false }]);
  use(1, 0, 40);
  use(1, 1, 7);
  await clock.advance(hourMs + 180_000);
  await meter();
  await clock.advance(hourMs);
  // The first one ends in the third hour.
  use(1, 2, 5);
  await meter();
  await open().agreements.change(known.offer, (latest) => ({
    after: { ...latest!, endedAt: clock.now(), hour: first + 3 },
  }));
  use(1, 3, 11);
  await clock.advance(2 * hourMs);
  await meter();
  t.same(
    [...taken],
    [
      [name(1, 0), 40],
      [name(1, 1), 7],
      [name(2, 3), 11],
    ],
    'each hour once, from the next one on by the license that is left',
  );
});

t.test('use that a subscription here charges is not reported to AWS', async (t) => {
  const { clock, taken, use, meter, open, charged, warnings } = await build(t);
  charged.set(organizationOf(1), Number.POSITIVE_INFINITY);
  await open().marketplaces.start();
  t.match(warnings, [{ organizationId: organizationOf(1), licenseArn: licenseOf(1), byCard: true }]);
  for (let hour = 0; hour < 4; hour += 1) use(1, hour, hour + 1);
  await clock.advance(hourMs + 180_000);
  await meter();
  charged.set(organizationOf(1), start + 2 * hourMs + 1);
  await clock.advance(3 * hourMs);
  await meter();
  t.same([...taken], [[name(1, 3), 4]], 'from the first whole hour after it');
});
