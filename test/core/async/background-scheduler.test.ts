import { BackgroundScheduler } from '../../../src/core/async/background-scheduler.ts';
import { limits } from '../../../src/core/limits.ts';
import t from '../../support/tap.ts';

/** Scheduler with a clock that advances only by `work`. */
function schedulerWithClock() {
  let now = 0;
  const scheduler = new BackgroundScheduler({ monotonic: () => now });
  const work = (share: number) => {
    now += share * limits.backgroundSliceMsMax;
  };
  return { scheduler, work };
}

const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve));

t.test('work continues in order of arrival, up to the time slice per turn', async (t) => {
  const { scheduler, work } = schedulerWithClock();
  const done: number[] = [];
  const all = [0.5, 0.6, 0.2, 3, 0.1].map(async (share, i) => {
    await scheduler.yield();
    // Work that continues after an already resolved promise also counts toward the slice.
    await Promise.resolve();
    work(share);
    done.push(i);
  });
  const after: number[] = [];
  while (done.length < all.length) {
    await nextEventLoopTurn();
    after.push(done.length);
  }
  t.same(done, [0, 1, 2, 3, 4]);
  t.same([...new Set(after)], [2, 4, 5], 'a long task delays others once');
});

t.test('a new task waits behind running ones, and a pause ends no slice', async (t) => {
  const { scheduler } = schedulerWithClock();
  const done: string[] = [];
  const lane = async (name: string) => {
    for (let i = 0; i < 3; i += 1) {
      await scheduler.yield();
      done.push(name);
    }
  };
  await Promise.all([lane('a'), lane('b')]);
  t.equal(done.join(''), 'ababab');
  await nextEventLoopTurn();
  await lane('c');
  t.equal(done.join(''), 'abababccc');
});

t.test('a long task pauses when its share of the turn is used', async (t) => {
  const { scheduler, work } = schedulerWithClock();
  const yieldToEventLoop = scheduler.slice();
  t.equal(yieldToEventLoop(), null);
  work(0.9);
  t.equal(yieldToEventLoop(), null);
  work(0.2);
  const pause = yieldToEventLoop();
  t.type(pause, Promise);
  await pause;
  t.equal(yieldToEventLoop(), null, 'a new time slice');
});
