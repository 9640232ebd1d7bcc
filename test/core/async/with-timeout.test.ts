import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { withTimeout } from '../../../src/core/async/with-timeout.ts';
import t from '../../support/tap.ts';
import { testFileMsMax } from '../../timeouts.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason));
  });

t.test('the timeout fires also after a garbage collection', { timeout: testFileMsMax }, async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const ended = withTimeout({ signal: new AbortController().signal, msMax: 300 }, untilAborted);
  for (let i = 0; i < 5; i += 1) {
    await sleep(20);
    collect();
  }
  t.match(await ended, { message: /300 ms/ });
});

t.test('the outer signal aborts before and during the work, and its reason is kept', async (t) => {
  const outer = new AbortController();
  const ended = withTimeout({ signal: outer.signal, msMax: 60_000 }, untilAborted);
  outer.abort('enough');
  t.equal(await ended, 'enough');
  const late = { signal: outer.signal, msMax: 60_000 };
  t.equal(await withTimeout(late, async (signal) => signal.reason), 'enough');
});

t.test('results and errors of the work are passed on, and no timer remains', async (t) => {
  let inner: AbortSignal | undefined;
  const request = { signal: new AbortController().signal, msMax: 20 };
  const answer = withTimeout(request, async (signal) => {
    inner = signal;
    return 7;
  });
  t.equal(await answer, 7);
  await t.rejects(
    withTimeout(request, async () => {
      throw new Error('broken');
    }),
    /broken/,
  );
  await sleep(50);
  t.notOk(inner?.aborted);
});
