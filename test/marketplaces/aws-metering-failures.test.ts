import { hourMs } from '../../src/marketplaces/aws-agreement.ts';
import t from '../support/tap.ts';
import { buildMetering, licenseOf, organizationOf, recordName } from './metering-components.ts';

/** Metering of usage in AWS that is rejected, throttled, interrupted or late. */

t.test('records that AWS leaves unprocessed block no others', async (t) => {
  const { clock, acceptedRecords, awsBehavior, recordUsage, meter } = await buildMetering(t, { many: 30 });
  for (let i = 1; i <= 30; i += 1) recordUsage(i, 0, i);
  await clock.advance(hourMs + 180_000);
  let judged = 0;
  awsBehavior.judge = () => (judged++ < 25 ? 'unprocessed' : 'Success');
  await meter();
  t.equal(acceptedRecords.size, 5);
});

t.test('a crash at any step neither doubles nor loses usage', async (t) => {
  const { store, clock, acceptedRecords, batches, awsBehavior, recordUsage, meter } = await buildMetering(t);
  recordUsage(1, 0, 40);
  await clock.advance(hourMs + 180_000);
  awsBehavior.cut = true;
  await meter();
  t.same([...acceptedRecords.values()], [40], 'AWS accepted the records, and the reply is lost');
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
  t.equal(batches.length, sent, 'acknowledged usage is not reported again');
});

t.test('after a long outage old hours are added to the oldest hour that AWS accepts', async (t) => {
  const { clock, acceptedRecords, recordUsage, meter } = await buildMetering(t);
  for (let hour = 0; hour < 30; hour += 1) recordUsage(1, hour, 1);
  await clock.advance(30 * hourMs + 180_000);
  await meter();
  t.equal(
    [...acceptedRecords.values()].reduce((sum, each) => sum + each, 0),
    30,
  );
  t.equal(acceptedRecords.get(recordName(1, 8)), 9, 'nine hours are reported as one');
  t.equal(acceptedRecords.size, 22);
});

t.test('rejected usage is logged and not resent; throttled usage is retried', async (t) => {
  const { clock, audit, acceptedRecords, batches, awsBehavior, recordUsage, meter, open } =
    await buildMetering(t, {
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
  t.same([...acceptedRecords], [[recordName(3, 0), 10]]);
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
  const { clock, acceptedRecords, awsBehavior, recordUsage, meter } = await buildMetering(t, { many: 3 });
  for (const i of [1, 2, 3]) recordUsage(i, 0, 10);
  await clock.advance(hourMs + 180_000);
  const bad = licenseOf(2);
  awsBehavior.fail = (records) =>
    records.some(({ LicenseArn }) => LicenseArn === bad) ? { error: 'InvalidLicenseException' } : null;
  await meter();
  t.same([...acceptedRecords.keys()].sort(), [recordName(1, 0), recordName(3, 0)]);
});

t.test('usage below one unit is carried over; usage too old for AWS is logged as lost', async (t) => {
  const { clock, audit, acceptedRecords, awsBehavior, recordUsage, meter } = await buildMetering(t, {
    per: 100,
  });
  recordUsage(1, 0, 250);
  recordUsage(1, 1, 60);
  recordUsage(1, 2, 30);
  await clock.advance(3 * hourMs + 180_000);
  await meter();
  t.same(
    [...acceptedRecords],
    [
      [recordName(1, 0), 2],
      [recordName(1, 1), 1],
    ],
  );
  recordUsage(1, 3, 500);
  awsBehavior.fail = () => ({ error: 'InternalServiceErrorException', status: 500 });
  await clock.advance(hourMs);
  await meter();
  await clock.advance(24 * hourMs);
  awsBehavior.fail = () => null;
  await meter();
  t.equal(acceptedRecords.size, 2, 'usage with an unknown outcome is not reported again');
  const [entry] = await audit.list(null, { before: { at: clock.now() + 1 }, since: 0, limit: 10 });
  t.match(entry, { action: 'marketplace.usage_refused', details: { reason: 'too old', quantity: 5 } });
});
