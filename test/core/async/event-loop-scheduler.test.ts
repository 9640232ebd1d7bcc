import { EventLoopScheduler } from '../../../src/core/async/event-loop-scheduler.ts';
import { limits } from '../../../src/core/limits.ts';
import t from '../../support/tap.ts';

/** Scheduler with a clock that advances only by `work`, in shares of a slice. */
function schedulerWithClock() {
  let now = 0;
  const scheduler = new EventLoopScheduler({ monotonic: () => now });
  const work = (share: number) => {
    now += share * limits.requestSliceMsMax;
  };
  return { scheduler, work };
}

const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve));

t.test('work continues at once while the turn has time left', async (t) => {
  const { scheduler, work } = schedulerWithClock();
  const [first, second] = [scheduler.createYield('a'), scheduler.createYield('b')];
  t.equal(first(), null);
  work(0.9);
  t.equal(second(), null);
  work(0.2);
  t.not(first(), null);
  await nextEventLoopTurn();
  await nextEventLoopTurn();
  t.equal(first(), null, 'an idle event loop delays no call');
});

t.test('256 concurrent calls release the event loop after each turn', async (t) => {
  const { scheduler, work } = schedulerWithClock();
  const ended: number[] = [];
  const calls = Array.from({ length: 256 }, async (_, i) => {
    const yieldToEventLoop = scheduler.createYield('a');
    for (let unit = 0; unit < 4; unit += 1) {
      const turn = yieldToEventLoop();
      if (turn !== null) await turn;
      work(0.25);
    }
    ended.push(i);
  });
  let turns = 0;
  while (ended.length < calls.length) {
    await nextEventLoopTurn();
    turns += 1;
  }
  t.same(
    ended,
    [...ended].sort((a, b) => a - b),
    'the oldest call ends first',
  );
  // Four units fill a turn; a blocked event loop would take one turn in total.
  t.ok(turns >= 256 - 1, `${turns} turns`);
});

t.test('one call of another organization waits for one unit of each, not for hundreds', async (t) => {
  const { scheduler, work } = schedulerWithClock();
  const order: string[] = [];
  const call = async (organization: string) => {
    const turn = scheduler.createYield(organization)();
    if (turn !== null) await turn;
    order.push(organization);
    work(1);
  };
  await Promise.all([...Array.from({ length: 100 }, () => call('busy')), call('quiet')]);
  t.equal(order.length, 101);
  t.ok(order.indexOf('quiet') <= 3, `place ${order.indexOf('quiet')}`);
});
