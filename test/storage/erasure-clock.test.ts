import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { ErasureClock } from '../../src/storage/erasure-clock.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 21);

/** Starts a server at this time of its machine's clock, on a persistent store. */
async function serverAt(store: MemoryStore, wall: number) {
  const clock = new FakeClock({ wall });
  return { clock, erasure: await ErasureClock.open({ store, clock, logger: silentLogger }) };
}

t.test('the erasure clock follows elapsed time, including several days offline', async (t) => {
  const store = new MemoryStore();
  const { clock, erasure } = await serverAt(store, start);
  t.equal(await erasure.now(), start);
  for (let i = 0; i < 48; i += 1) {
    await clock.advance(hour);
    t.equal(await erasure.now(), clock.now());
  }
  t.equal(await (await serverAt(store, start + 4 * day)).erasure.now(), start + 4 * day);
});

t.test(
  'a clock jump ahead is followed by three days an hour, and reset when the clock returns',
  async (t) => {
    const store = new MemoryStore();
    t.equal(await (await serverAt(store, start)).erasure.now(), start);
    const { clock, erasure } = await serverAt(store, start + 3_650 * day);
    t.equal(await erasure.now(), start + 3 * day);
    t.equal(await erasure.now(), start + 3 * day, 'regardless of the number of reads');
    await clock.advance(hour);
    t.equal(await erasure.now(), start + 6 * day);
    const back = await serverAt(store, start + 2 * hour);
    t.equal(await back.erasure.now(), start + 2 * hour);
    t.equal(await (await serverAt(store, start + 400 * day)).erasure.now(), start + 2 * hour + 3 * day);
  },
);

t.test('a jump before the first erasure is limited too', async (t) => {
  const store = new MemoryStore();
  await serverAt(store, start);
  const jumped = await serverAt(store, start + 4_000 * day);
  t.equal(await jumped.erasure.now(), start + 3 * day);
});

t.test('a jump of ten years deletes no audit entries within their retention', async (t) => {
  const store = new MemoryStore();
  const { clock, erasure } = await serverAt(store, start);
  const audit = new AuditLog({ store, clock, random: systemRandom });
  const fact = { organizationId: null, actor: 'a', address: null, action: 'x', target: null };
  await audit.record(fact);
  await erasure.now();
  const jumped = await serverAt(store, start + 3_650 * day);
  const { signal } = new AbortController();
  await audit.deleteOlderThan(365 * day, { now: await jumped.erasure.now(), signal });
  const range = { before: { at: Number.MAX_SAFE_INTEGER }, since: 0, limit: 10 };
  t.equal((await audit.list(null, range)).length, 1);
  await audit.deleteOlderThan(365 * day, { now: start + 366 * day, signal });
  t.equal((await audit.list(null, range)).length, 0, 'entries beyond their retention are deleted');
});
