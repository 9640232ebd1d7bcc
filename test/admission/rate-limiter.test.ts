import {
  type ExceededLimit,
  type ModelCallCharge,
  type ModelKind,
  RateLimiter,
  type SlowCallReservation,
} from '../../src/admission/rate-limiter.ts';
import type { ModelLimits } from '../../src/admission/tiers.ts';
import t from '../support/tap.ts';
import { FakeClock } from './fake-clock.ts';

const small: ModelLimits = { bytesPerMinuteFast: 400, bytesPerMinuteSlow: 4_000, rerankRequestsPerMinute: 8 };
const unlimited: ModelLimits = {
  bytesPerMinuteFast: null,
  bytesPerMinuteSlow: null,
  rerankRequestsPerMinute: null,
};

function charge(chargedBytes: number, more: Partial<ModelCallCharge> = {}): ModelCallCharge {
  return { organizationId: 'one', kind: 'embed', chargedBytes, limits: small, ...more };
}

function isRejection(answer: SlowCallReservation | ExceededLimit): answer is ExceededLimit {
  return 'limit' in answer;
}

t.test('a bucket holds the allowance of one minute at most', async (t) => {
  const time = new FakeClock();
  const limiter = new RateLimiter(time);
  await time.advance(600_000);
  t.equal(limiter.consumeFast(charge(400)), null);
  t.match(limiter.consumeFast(charge(1)), {
    limit: 'embed-bytes-fast',
    allowancePerMinute: 400,
    waitMs: 15_000,
  });
});

t.test('a quarter of the allowance per minute is refilled every 15 seconds', async (t) => {
  const time = new FakeClock();
  const limiter = new RateLimiter(time);
  limiter.consumeFast(charge(400));
  await time.advance(14_999);
  t.match(limiter.consumeFast(charge(1)), { waitMs: 1 });
  await time.advance(1);
  t.equal(limiter.consumeFast(charge(100)), null);
  t.match(limiter.consumeFast(charge(1)), { waitMs: 15_000 });
  await time.advance(45_000);
  t.match(limiter.consumeFast(charge(301)), { waitMs: 15_000 });
  t.equal(limiter.consumeFast(charge(300)), null);
});

t.test('all buckets refill at the same times, regardless of their first use', async (t) => {
  const time = new FakeClock({ elapsed: 14_000 });
  const limiter = new RateLimiter(time);
  limiter.consumeFast(charge(400));
  t.match(limiter.consumeFast(charge(100)), { waitMs: 1_000 });
  await time.advance(1_000);
  t.equal(limiter.consumeFast(charge(100)), null);
});

t.test('the reported wait equals the required wait', async (t) => {
  for (const bytes of [1, 99, 100, 101, 200, 201, 399, 400]) {
    const time = new FakeClock({ elapsed: 7_000 });
    const limiter = new RateLimiter(time);
    limiter.consumeFast(charge(400));
    const rejection = limiter.consumeFast(charge(bytes));
    t.equal(rejection?.waitMs, Math.ceil(bytes / 100) * 15_000 - 7_000, `${bytes} bytes`);
    await time.advance((rejection?.waitMs ?? 0) - 1);
    t.not(limiter.consumeFast(charge(bytes)), null, `${bytes} bytes do not fit one refill earlier`);
    await time.advance(1);
    t.equal(limiter.consumeFast(charge(bytes)), null, `${bytes} bytes fit then`);
  }
});

t.test('a call larger than a full bucket never fits, fast or slow', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  t.equal(limiter.consumeFast(charge(401))?.waitMs, Number.POSITIVE_INFINITY);
  t.match(limiter.reserveSlow(charge(4_001), 40_000), {
    limit: 'embed-bytes-slow',
    waitMs: Number.POSITIVE_INFINITY,
  });
});

t.test('a rejected call is not charged', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  t.not(limiter.consumeFast(charge(401)), null);
  t.equal(limiter.consumeFast(charge(400)), null);
});

t.test('embedding, reranking, fast, slow and each organization have separate buckets', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  for (const organizationId of ['one', 'two']) {
    for (const kind of ['embed', 'rerank'] satisfies ModelKind[]) {
      t.equal(
        limiter.consumeFast(charge(400, { organizationId, kind })),
        null,
        `${organizationId} ${kind} fast`,
      );
      const slow = limiter.reserveSlow(charge(4_000, { organizationId, kind }), 0);
      t.match(slow, { waitMs: 0 }, `${organizationId} ${kind} slow`);
      t.not(limiter.consumeFast(charge(1, { organizationId, kind })), null);
    }
  }
});

t.test('only rerank counts requests, and a fast call needs both of its buckets', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  for (let i = 0; i < 20; i += 1) t.equal(limiter.consumeFast(charge(1)), null);
  const rerank = (bytes: number) => limiter.consumeFast(charge(bytes, { kind: 'rerank' }));
  for (let i = 0; i < 7; i += 1) t.equal(rerank(1), null);
  t.match(rerank(394), { limit: 'rerank-bytes-fast' });
  t.equal(rerank(1), null, 'the rejected call used no request');
  t.match(rerank(1), { limit: 'rerank-requests', allowancePerMinute: 8, waitMs: 15_000 });
  t.match(limiter.reserveSlow(charge(1, { kind: 'rerank' }), 0), { waitMs: 0 }, 'slow counts bytes only');
});

t.test('slow calls are reserved in order of arrival and rejected if they would wait too long', async (t) => {
  const time = new FakeClock();
  const limiter = new RateLimiter(time);
  const reserve = (bytes: number) => limiter.reserveSlow(charge(bytes), 40_000);
  t.match(reserve(4_000), { waitMs: 0 });
  t.match(reserve(600), { waitMs: 15_000 });
  t.match(reserve(600), { waitMs: 30_000 });
  t.match(reserve(800), { waitMs: 30_000 });
  t.match(reserve(1), { limit: 'embed-bytes-slow', waitMs: 45_000 });
  await time.advance(5_000);
  t.match(reserve(1), { waitMs: 40_000 }, 'a wait of forty seconds is accepted');
});

t.test('the refund of a slow call that never ran can be used once', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  const reserve = (bytes: number, waitMsMax = 40_000) => limiter.reserveSlow(charge(bytes), waitMsMax);
  const release = (answer: SlowCallReservation | ExceededLimit) => {
    if (!isRejection(answer)) answer.release();
    else t.fail('the call was reserved');
  };
  const started = reserve(4_000);
  const waiting = reserve(1_000);
  t.match(waiting, { waitMs: 15_000 });
  release(waiting);
  release(waiting);
  t.match(reserve(1_000), { waitMs: 15_000 }, 'the place of the released call is free once');
  t.match(reserve(1), { waitMs: 30_000 });
  release(started);
  t.match(reserve(4_000), { limit: 'embed-bytes-slow' }, 'waiting calls are still served first');
  t.match(reserve(1_999), { waitMs: 30_000 });
});

t.test('a call without bytes is within every limit', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  limiter.consumeFast(charge(400));
  limiter.reserveSlow(charge(4_000), 0);
  limiter.reserveSlow(charge(900), 40_000);
  t.equal(limiter.consumeFast(charge(0)), null);
  t.match(limiter.reserveSlow(charge(0), 0), { waitMs: 0 });
});

t.test('without a limit every call fits', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  for (let i = 0; i < 100; i += 1) {
    t.equal(limiter.consumeFast(charge(5_000_000, { limits: unlimited, kind: 'rerank' })), null);
    t.match(limiter.reserveSlow(charge(5_000_000, { limits: unlimited }), 0), { waitMs: 0 });
  }
  t.equal(limiter.size, 0, 'no bucket is created');
});

t.test('a changed allowance keeps the remaining share, so repeated changes gain nothing', async (t) => {
  const limiter = new RateLimiter(new FakeClock());
  const large = { ...small, bytesPerMinuteFast: 4_000 };
  limiter.consumeFast(charge(300));
  t.not(limiter.consumeFast(charge(1_001, { limits: large })), null);
  t.equal(limiter.consumeFast(charge(600, { limits: large })), null);
  t.not(limiter.consumeFast(charge(41)), null);
  t.equal(limiter.consumeFast(charge(40)), null);
});

t.test('full buckets are evicted when there are many, charged ones are not', async (t) => {
  const time = new FakeClock();
  const limiter = new RateLimiter(time, undefined, 10);
  for (let i = 0; i < 9; i += 1) limiter.consumeFast(charge(1, { organizationId: `idle ${i}` }));
  limiter.consumeFast(charge(400, { organizationId: 'busy' }));
  await time.advance(15_000);
  limiter.consumeFast(charge(1, { organizationId: 'new' }));
  t.equal(limiter.size, 2);
  t.not(limiter.consumeFast(charge(101, { organizationId: 'busy' })), null);
});

/** Seeded generator (mulberry32), so that a failure can be reproduced. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

t.test('no period admits more than a full bucket and its refills', async (t) => {
  const seed = Number(process.env.QUARRY_TEST_SEED ?? Date.now() % 2 ** 31);
  t.comment(`seed ${seed} (repeat with QUARRY_TEST_SEED=${seed})`);
  const next = random(seed);
  for (let round = 0; round < 40; round += 1) {
    const time = new FakeClock({ elapsed: Math.floor(next() * 60_000) });
    const limiter = new RateLimiter(time);
    const started: { at: number; bytes: number; mode: 'fast' | 'slow' }[] = [];
    for (let i = 0; i < 150; i += 1) {
      await time.advance(Math.floor(next() ** 3 * 20_000));
      const bytes = Math.ceil(next() ** 2 * 450);
      const at = time.monotonic();
      if (next() < 0.5) {
        const rejection = limiter.consumeFast(charge(bytes));
        if (rejection === null) started.push({ at, bytes, mode: 'fast' });
        else if (bytes <= 400) t.ok(rejection.waitMs > 0 && rejection.waitMs <= 60_000);
        else t.equal(rejection.waitMs, Number.POSITIVE_INFINITY);
      } else {
        const slow = limiter.reserveSlow(charge(bytes * 9), 40_000);
        if (!isRejection(slow)) {
          t.ok(slow.waitMs <= 40_000);
          started.push({ at: at + slow.waitMs, bytes: bytes * 9, mode: 'slow' });
        }
      }
    }
    for (const mode of ['fast', 'slow'] as const) {
      const allowance = mode === 'fast' ? 400 : 4_000;
      const calls = started.filter((call) => call.mode === mode).sort((a, b) => a.at - b.at);
      t.ok(withinAllowance(calls, allowance), `round ${round}: ${calls.length} ${mode} calls`);
    }
  }
});

/** Invariant for every pair of calls: bytes started in between <= one bucket + the refills in between. */
function withinAllowance(calls: readonly { at: number; bytes: number }[], allowance: number): boolean {
  return calls.every((first, i) => {
    let bytes = 0;
    return calls.slice(i).every((last) => {
      bytes += last.bytes;
      const refills = Math.floor(last.at / 15_000) - Math.floor(first.at / 15_000);
      return bytes <= allowance + (refills * allowance) / 4 + 1e-6;
    });
  });
}
