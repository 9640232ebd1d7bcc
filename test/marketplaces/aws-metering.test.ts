import { type AwsAgreement, hourMs } from '../../src/marketplaces/aws-agreement.ts';
import t from '../support/tap.ts';
import { buildMetering, licenseOf, organizationOf, recordName, start } from './metering-components.ts';

/** Metering of usage in AWS: hours, records and licenses. */

t.test('each complete hour is reported once, signed, for its license', async (t) => {
  const { clock, acceptedRecords, batches, aws, recordUsage, meter } = await buildMetering(t);
  recordUsage(1, 0, 40);
  await meter();
  t.same(batches, [], 'an incomplete hour is not reported');
  await clock.advance(hourMs + 60_000);
  await meter();
  t.same(batches, [], 'an hour is reported only when its usage is written');
  await clock.advance(120_000);
  await meter();
  t.same([...acceptedRecords], [[recordName(1, 0), 40]]);
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
  const { clock, acceptedRecords, batches, awsBehavior, recordUsage, meter } = await buildMetering(t, {
    many: 60,
  });
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

t.test(
  'in the first hours of a month, hours of the previous month are still reported; later they are added to the new month',
  async (t) => {
    const { clock, acceptedRecords, recordUsage, meter, first } = await buildMetering(t);
    const november = Date.UTC(2026, 11, 1) / hourMs - first;
    recordUsage(1, november - 2, 3);
    await clock.advance((november + 4) * hourMs + 180_000);
    await meter();
    t.same([...acceptedRecords], [[recordName(1, november - 2), 3]]);
    recordUsage(1, november + 10, 1);
    const january = Date.UTC(2027, 0, 1) / hourMs - first;
    recordUsage(1, january - 2, 3);
    recordUsage(1, january + 2, 1);
    await clock.advance((january - november + 2) * hourMs);
    await meter();
    t.equal(
      acceptedRecords.get(recordName(1, january)),
      4,
      'hours of ended months are added to the first hour of January',
    );
    t.equal(acceptedRecords.get(recordName(1, january + 2)), 1);
    t.equal(acceptedRecords.size, 3);
  },
);

t.test('the last hour is closed and reported when an organization is deleted', async (t) => {
  const { store, clock, acceptedRecords, recordUsage, open } = await buildMetering(t);
  await clock.advance(10 * 60_000);
  recordUsage(1, 0, 9);
  const run = open();
  await run.marketplaces.deleteOrganization(organizationOf(1));
  t.same([...acceptedRecords], [[recordName(1, 0), 9]]);
  let rows = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x90), lt: Uint8Array.of(0xa0) }))
    rows += key.length;
  t.equal(rows, 0);
});

t.test('of several licenses of one organization, the one bound first reports its usage', async (t) => {
  const { clock, acceptedRecords, recordUsage, meter, open, first, warnings } = await buildMetering(t);
  const { agreements, marketplaces } = open();
  // Earlier versions permitted a second license.
  const known = agreements.records.findAgreement('aws', licenseOf(1)) as AwsAgreement;
  const offer = { ...known.offer, licenseArn: licenseOf(2) };
  await agreements.update(offer, () => ({ after: { ...known, offer, boundAt: start + 1 } }));
  await marketplaces.start();
  t.match(warnings, [{ organizationId: organizationOf(1), licenseArn: licenseOf(2), bySubscription: false }]);
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
      [recordName(1, 0), 40],
      [recordName(1, 1), 7],
      [recordName(2, 3), 11],
    ],
    'each hour is reported once, after the end of the first license by the second',
  );
});

t.test('usage charged by a subscription on this server is not reported to AWS', async (t) => {
  const { clock, acceptedRecords, recordUsage, meter, open, charged, warnings } = await buildMetering(t);
  charged.set(organizationOf(1), Number.POSITIVE_INFINITY);
  await open().marketplaces.start();
  t.match(warnings, [{ organizationId: organizationOf(1), licenseArn: licenseOf(1), bySubscription: true }]);
  for (let hour = 0; hour < 4; hour += 1) recordUsage(1, hour, hour + 1);
  await clock.advance(hourMs + 180_000);
  await meter();
  charged.set(organizationOf(1), start + 2 * hourMs + 1);
  await clock.advance(3 * hourMs);
  await meter();
  t.same(
    [...acceptedRecords],
    [[recordName(1, 3), 4]],
    'the first complete hour after the subscription is reported',
  );
});
