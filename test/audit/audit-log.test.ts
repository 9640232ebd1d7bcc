import { AuditLog } from '../../src/audit/audit-log.ts';
import { readAuditPage } from '../../src/audit/audit-page.ts';
import { DeniedAccessLog } from '../../src/audit/denied-access-log.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { AuditLogEntry } from '../../src/schemas/audit.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

const ours = '11111111-1111-4111-8111-111111111111';
const theirs = 'ffffffff-ffff-4fff-8fff-ffffffffffff';
const day = 86_400_000;

function build() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: Date.UTC(2026, 10, 21, 8) });
  const audit = new AuditLog({ store, clock, random: systemRandom });
  const record = (organizationId: string | null, action: string) =>
    audit.record({ organizationId, actor: 'somebody', address: '192.0.2.1', action, target: null });
  const all = async (organizationId: string | null, range = {}): Promise<AuditLogEntry[]> => {
    const found: AuditLogEntry[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof readAuditPage>> = await readAuditPage(audit, organizationId, {
        ...range,
        cursor,
        limit: 7,
      });
      found.push(...page.entries);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return found;
  };
  return { store, clock, audit, record, all };
}

t.test('pages have no gap, also with many entries of one millisecond', async (t) => {
  const { clock, record, all } = build();
  for (let group = 0; group < 4; group += 1) {
    for (let i = 0; i < 10; i += 1) await record(ours, `${group}.${i}`);
    await record(theirs, 'elsewhere');
    await record(null, 'without an organization');
    await clock.advance(1);
  }
  const found = await all(ours);
  t.equal(found.length, 40);
  t.equal(new Set(found.map(({ action }) => action)).size, 40);
  const times = found.map(({ at }) => at);
  t.same(times, times.toSorted().reverse());
  t.equal((await all(theirs)).length, 4);
  t.equal((await all(null)).length, 4);
  const [since, before] = [2, 3].map((ms) => new Date(Date.UTC(2026, 10, 21, 8) + ms).toISOString());
  t.same(new Set((await all(ours, { since, before })).map(({ action }) => action[0])), new Set(['2']));
});

t.test('entries beyond their retention are deleted for all organizations, and no others', async (t) => {
  const { clock, audit, record, all } = build();
  for (const whose of [ours, theirs, null]) await record(whose, 'old');
  for (let i = 0; i < limits.auditPageMax + 5; i += 1) await record(ours, 'old');
  await clock.advance(30 * day);
  for (const whose of [ours, theirs, null]) await record(whose, 'new');
  const { signal } = new AbortController();
  await audit.deleteOlderThan(40 * day, { now: clock.now(), signal });
  t.equal((await all(theirs)).length, 2);
  await audit.deleteOlderThan(10 * day, { now: clock.now(), signal });
  for (const whose of [ours, theirs, null]) t.match(await all(whose), [{ action: 'new' }]);
  await audit.deleteOlderThan(Number.MAX_SAFE_INTEGER, { now: clock.now(), signal });
  t.equal((await all(null)).length, 1, 'a time before all entries deletes nothing');
});

t.test('the entries of an organization are deleted with it', async (t) => {
  const { audit, record, all } = build();
  for (const whose of [ours, theirs, null]) await record(whose, 'x');
  await audit.deleteAll(ours);
  t.same([(await all(ours)).length, (await all(theirs)).length, (await all(null)).length], [0, 1, 1]);
});

t.test('an invalid cursor or time is a 400', async (t) => {
  const { audit } = build();
  for (const cursor of ['', 'x', '1', '1.x', `-1.${ours}`, `${'9'.repeat(20)}.${ours}`, `1.${ours}x`])
    await t.rejects(readAuditPage(audit, ours, { cursor }), { code: 'bad_request' }, cursor);
  for (const range of [{ before: '2016-12-31T23:59:60Z' }, { since: '2016-12-31T23:59:60Z' }])
    await t.rejects(readAuditPage(audit, ours, range), { code: 'bad_request' });
  t.same((await readAuditPage(audit, ours, { since: '1912-06-23T00:00:00Z' })).entries, []);
});

t.test('denied requests are recorded once a minute, so they cannot fill the disk', async (t) => {
  const { audit, clock, all } = build();
  const deniedAccessLog = new DeniedAccessLog({ audit, clock, logger: silentLogger });
  const denyAccess = (organizationId: string | null, address: string, target = 'add-document') =>
    deniedAccessLog.record({ organizationId, actor: null, address, action: 'access.denied', target });
  for (let i = 0; i < 100; i += 1) denyAccess(ours, '192.0.2.1');
  await deniedAccessLog.close();
  t.equal((await all(ours)).length, 1);
  denyAccess(ours, '192.0.2.1', 'delete-document');
  denyAccess(ours, '192.0.2.2');
  await deniedAccessLog.close();
  t.equal((await all(ours)).length, 3, 'another operation or address is a separate entry');
  await clock.advance(60_000);
  denyAccess(ours, '192.0.2.1');
  await deniedAccessLog.close();
  t.equal((await all(ours)).length, 4, 'recorded again in the next minute');
  for (let i = 0; i < 3 * limits.deniedAuditEntriesPerMinuteMax; i += 1)
    denyAccess(null, `10.0.${i >> 8}.${i & 255}`);
  denyAccess(theirs, '192.0.2.1');
  await deniedAccessLog.close();
  t.equal((await all(null)).length, limits.deniedAuditEntriesPerMinuteMax);
  t.equal((await all(theirs)).length, 1, 'a flood at one organization hides nothing of another');
});

t.test('requests are denied even when the store accepts no writes', async (t) => {
  const { store, audit, clock } = build();
  const deniedAccessLog = new DeniedAccessLog({ audit, clock, logger: silentLogger });
  await store.close();
  deniedAccessLog.record({
    organizationId: ours,
    actor: null,
    address: null,
    action: 'access.denied',
    target: null,
  });
  await deniedAccessLog.close();
  t.pass('no error reaches a caller');
});
