import t from 'tap';
import { Deadline } from '../../src/http/deadline.ts';
import { sleep } from './raw-client.ts';

t.test('a call whose time is up rejects with 503 and aborts its work with the same reason', async (t) => {
  const deadline = new Deadline();
  deadline.start(10);
  await t.rejects(deadline.passed, { name: 'AppError', code: 'unavailable' });
  t.match(deadline.signal.reason, { code: 'unavailable' });
});

t.test('a later start replaces an earlier one', async (t) => {
  const deadline = new Deadline();
  deadline.start(60_000);
  deadline.start(10);
  await t.rejects(deadline.passed, { message: /longer than 0.01 seconds/ });
});

t.test('an answered call is never aborted by the clock, even when its body ends later', async (t) => {
  const deadline = new Deadline();
  deadline.start(10);
  deadline.met();
  deadline.start(10);
  await sleep(50);
  t.equal(deadline.signal.aborted, false);
  deadline.gone();
  t.equal(deadline.signal.aborted, true, 'but by its client');
  await t.rejects(deadline.passed, { name: 'ClientGone' });
});
