import { createOrganizationSemaphore } from '../../src/admission/organization-semaphore.ts';
import { OverloadDetector } from '../../src/admission/overload-detector.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

const serviceMs = 5;
const waitingMax = 256;

/** Simulated server that answers one query every 5 ms and records waits and rejections by organization. */
function build() {
  const time = new FakeClock();
  const overload = new OverloadDetector(time);
  const semaphore = createOrganizationSemaphore({ permits: 1, waitingMax, noun: 'queries', overload });
  const waits = new Map<string, number[]>();
  const rejections = new Map<string, { readonly at: number; readonly waited: number }[]>();
  const listOf = <Value>(lists: Map<string, Value[]>, key: string): Value[] => {
    const list = lists.get(key) ?? [];
    lists.set(key, list);
    return list;
  };
  /** Returns true if the query was answered. */
  const ask = async (key: string): Promise<boolean> => {
    const at = time.monotonic();
    try {
      await semaphore.acquire(key, cancellationTokenWith());
    } catch {
      const now = time.monotonic();
      listOf(rejections, key).push({ at: now, waited: now - at });
      return false;
    }
    listOf(waits, key).push(time.monotonic() - at);
    await new Promise<void>((resolve) => void time.after(serviceMs, resolve));
    semaphore.release();
    return true;
  };
  /** Calls `step` every 5 ms. */
  const run = async (ms: number, step: (round: number) => void = () => {}) => {
    for (let round = 0; round < ms / serviceMs; round += 1) {
      step(round);
      await time.advance(serviceMs);
    }
  };
  const answered = (key: string) => listOf(waits, key);
  const rejected = (key: string) => listOf(rejections, key);
  return { overload, ask, run, answered, rejected };
}

t.test('a client that waits for its replies is served on 200 connections', async (t) => {
  const { ask, run, answered, rejected } = build();
  let isOver = false;
  for (let i = 0; i < 200; i += 1) {
    void (async () => {
      while (!isOver) await ask('client');
    })();
  }
  await run(5_000);
  isOver = true;
  await run(1_500);
  t.ok(answered('client').length >= 1_000);
  t.same(rejected('client'), []);
});

t.test('a single burst above the queue size loses no queue slot', async (t) => {
  const { overload, ask, run, answered, rejected } = build();
  for (let i = 0; i < waitingMax + 50; i += 1) void ask('client');
  await run(3_000);
  t.equal(answered('client').length, waitingMax + 1);
  t.equal(rejected('client').length, 49, 'only queries beyond the queue were rejected');
  await run(500, () => void ask('client'));
  t.equal(rejected('client').length, 49);
  t.equal(overload.size, 0, 'no state remains');
});

t.test(
  'under sustained overload queries start at once or are rejected at once, in equal shares',
  async (t) => {
    const { ask, run, answered, rejected } = build();
    // 18 queries arrive in the service time of one.
    const flood = (round: number) => {
      for (let i = 0; i < 12; i += 1) void ask('large');
      for (let i = 0; i < 6; i += 1) void ask('small');
      if (round % 20 === 0) void ask('sparse');
    };
    await run(5_000, flood);
    const before = [answered('large').length, answered('small').length, rejected('large').length] as const;
    await run(10_000, flood);
    const [large, small] = [answered('large').slice(before[0]), answered('small').slice(before[1])];
    t.ok(Math.max(...large, ...small) <= serviceMs, 'started queries hardly waited');
    t.ok(Math.max(...answered('sparse')) <= 3 * serviceMs);
    const recent = rejected('large').slice(before[2]);
    t.ok(recent.length > 10_000);
    t.ok(Math.max(...recent.map(({ waited }) => waited)) <= 2 * serviceMs);
    t.ok(Math.abs(large.length - small.length) <= 2, `${large.length} and ${small.length}`);
    t.ok(large.length + small.length >= 1_890, 'the server is never idle');
    t.same(rejected('sparse'), [], 'an organization within its share is never rejected');
  },
);

t.test('an overload ends when requests arrive no faster than they are processed', async (t) => {
  const { overload, ask, run, answered, rejected } = build();
  await run(4_000, () => {
    for (let i = 0; i < 5; i += 1) void ask('client');
  });
  t.equal(overload.isOverloaded, true);
  await run(1_500, (round) => round % 2 === 0 && void ask('client'));
  t.equal(overload.isOverloaded, false);
  t.equal(overload.size, 0);
  const [before, rejectedBefore] = [answered('client').length, rejected('client').length];
  for (let i = 0; i < 200; i += 1) void ask('client');
  await run(1_500);
  await flushPromises();
  t.equal(answered('client').length, before + 200, 'a burst is accepted again');
  t.equal(rejected('client').length, rejectedBefore);
});
