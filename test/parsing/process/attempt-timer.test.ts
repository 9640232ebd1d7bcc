import { AttemptTimer, type AttemptTimerOptions } from '../../../src/parsing/process/attempt-timer.ts';
import t, { type Test } from '../../support/tap.ts';

const limits = { idleMsMax: 20_000, totalMsMax: 600_000 };

/** A timer whose clock the test moves. */
function createTimer(t: Test, options: Partial<AttemptTimerOptions> = {}) {
  const clock = { ms: 0 };
  const timer = new AttemptTimer({
    ...limits,
    onExpired: (limit) => t.fail(`expired: ${limit}`),
    now: () => clock.ms,
    ...options,
  });
  t.teardown(() => timer.stop());
  return { timer, clock };
}

/** Resolves to the limit that expires first, on the real clock. */
function expiredLimit(options: Partial<AttemptTimerOptions>): Promise<string> {
  return new Promise((resolve) => void new AttemptTimer({ ...limits, onExpired: resolve, ...options }));
}

t.test('the time between calls is counted in full', async (t) => {
  const { timer, clock } = createTimer(t);
  for (let step = 0; step < 100; step++) {
    clock.ms += 1_000;
    timer.restartIdle();
  }
  t.equal(timer.totalMs, 100_000);
});

t.test('a jump of the clock counts as a few seconds', async (t) => {
  const { timer, clock } = createTimer(t);
  clock.ms += 3_600_000;
  timer.restartIdle();
  t.equal(timer.totalMs, 5_000);
  clock.ms += 3_600_000;
  timer.stop();
  t.equal(timer.totalMs, 10_000);
});

t.test('a jump of the clock expires no limit', async (t) => {
  let jumped = 0;
  const timer = new AttemptTimer({
    ...limits,
    onExpired: (limit) => t.fail(`expired: ${limit}`),
    now: () => performance.now() + jumped,
  });
  jumped = 3_600_000;
  await new Promise((resolve) => setTimeout(resolve, 1_100)); // past the end of the first step
  timer.stop();
  t.ok(timer.totalMs < limits.idleMsMax);
});

t.test('the limit that is reached first expires', async (t) => {
  t.equal(await expiredLimit({ totalMsMax: 5 }), 'total');
  t.equal(await expiredLimit({ idleMsMax: 5 }), 'idle');
});

t.test('a paused idle time does not expire', async (t) => {
  const limit = await new Promise((resolve) => {
    const timer = new AttemptTimer({ idleMsMax: 5, totalMsMax: 50, onExpired: resolve });
    timer.pauseIdle();
  });
  t.equal(limit, 'total');
});
