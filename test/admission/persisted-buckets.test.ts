import { PersistedBuckets } from '../../src/admission/persisted-buckets.ts';
import { type LimitCharge, RateLimiter } from '../../src/admission/rate-limiter.ts';
import { createLogger } from '../../src/core/logger.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { Store } from '../../src/storage/store.ts';
import t from '../support/tap.ts';
import { FakeClock } from './fake-clock.ts';

const organizationId = 'aaaaaaaa-1111-4111-8111-111111111111';
const due = (cost: number): LimitCharge[] => [{ limit: 'queries', allowance: 400, cost }];

/** Start of the server on a store; its monotonic clock restarts, the wall clock continues. */
function start(store: Store, wall: number) {
  const clock = new FakeClock({ wall, elapsed: 7_000 });
  const persistedBuckets = new PersistedBuckets({ store, clock, logger: createLogger('silent') });
  const limiter = new RateLimiter(clock, persistedBuckets);
  persistedBuckets.start((organization, limit) => limiter.balance(organization, limit));
  t.teardown(() => persistedBuckets.close());
  const fits = (cost: number): boolean => typeof limiter.reserve(organizationId, due(cost)) === 'function';
  return { clock, persistedBuckets, limiter, fits };
}

const begin = Date.UTC(2026, 10, 21);

t.test('a restart refills buckets for the elapsed time only', async (t) => {
  const awayMs = [
    [0, 100],
    [14_000, 100],
    [15_000, 200],
    [45_000, 400],
    [86_400_000, 400],
    [-3_600_000, 100],
  ] as const;
  for (const [away, left] of awayMs) {
    const store = new MemoryStore();
    const before = start(store, begin);
    t.ok(before.fits(300));
    await before.persistedBuckets.write();
    const { fits } = start(store, begin + away);
    t.notOk(fits(left + 1), `${left} is left after ${away} ms`);
    t.ok(fits(left));
    t.notOk(fits(1));
  }
});

t.test('a clock that moves back while the server is stopped fills no bucket', async (t) => {
  const store = new MemoryStore();
  const first = start(store, begin);
  t.ok(first.fits(400));
  await first.persistedBuckets.write();
  for (let i = 1; i < 5; i += 1) {
    const next = start(store, begin - i * 60_000);
    t.notOk(next.fits(1));
    await next.persistedBuckets.close();
  }
  const later = start(store, begin + 15_000);
  t.ok(later.fits(100), 'elapsed time counts from the last written state');
});

t.test('an amount that is refunded before the write is not charged after the start', async (t) => {
  const store = new MemoryStore();
  const { limiter, persistedBuckets } = start(store, begin);
  const giveBack = limiter.reserve(organizationId, due(300));
  t.type(giveBack, 'function');
  if (typeof giveBack === 'function') giveBack();
  await persistedBuckets.write();
  t.ok(start(store, begin).fits(400));
});

t.test('repeated writes of buckets use one record, which is deleted with the organization', async (t) => {
  const store = new MemoryStore();
  const { persistedBuckets, limiter, fits } = start(store, begin);
  for (let i = 0; i < 10; i += 1) {
    fits(1);
    await persistedBuckets.write();
  }
  const operations = await persistedBuckets.deleteAllOperations(organizationId);
  t.equal(operations.length, 1);
  limiter.delete(organizationId);
  await store.write(operations);
  t.ok(start(store, begin).fits(400));
});

t.test('failed writes of the store lose no pending values', async (t) => {
  const store = new MemoryStore();
  let isBroken = true;
  const failingStore: Store = new Proxy(store, {
    get: (target, name) =>
      name === 'write' && isBroken
        ? () => Promise.reject(new Error('full'))
        : (Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)),
  });
  const { persistedBuckets, fits } = start(failingStore, begin);
  t.ok(fits(400));
  await t.rejects(persistedBuckets.write(), { message: 'full' });
  isBroken = false;
  await persistedBuckets.write();
  t.notOk(start(store, begin).fits(1));
});
