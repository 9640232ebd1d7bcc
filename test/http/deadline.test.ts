import { Deadline } from '../../src/http/deadline.ts';
import t from '../support/tap.ts';
import { sleep } from './raw-client.ts';

const forever = new Promise<never>(() => {});

t.test('a call that times out rejects with 503 and aborts its work with the same reason', async (t) => {
  const deadline = new Deadline();
  deadline.start(10);
  const { signal } = deadline;
  await t.rejects(deadline.race(forever), { name: 'AppError', code: 'unavailable' });
  t.match(signal.reason, { code: 'unavailable' });
  t.equal(signal.reason, deadline.reason);
});

t.test('a later start replaces an earlier one', async (t) => {
  const deadline = new Deadline();
  deadline.start(60_000);
  deadline.start(10);
  await t.rejects(deadline.race(forever), { message: /timed out after 0.01 seconds/ });
});

t.test('an answered call never times out, even when its body ends later', async (t) => {
  const deadline = new Deadline();
  deadline.start(10);
  deadline.complete();
  deadline.start(10);
  await sleep(50);
  t.equal(deadline.signal.aborted, false);
  deadline.disconnect();
  t.equal(deadline.signal.aborted, true, 'its client can still abort it');
  await t.rejects(deadline.race(forever), { name: 'ClientDisconnectedError' });
});

t.test('the signal of an ended call is aborted', async (t) => {
  const deadline = new Deadline();
  t.equal(deadline.reason, null);
  deadline.disconnect();
  t.match(deadline.reason, { name: 'ClientDisconnectedError' });
  t.equal(deadline.signal.aborted, true);
  t.equal(deadline.signal.reason, deadline.reason);
});

t.test('a call resolves to the result of work that ends in time', async (t) => {
  const deadline = new Deadline();
  t.equal(await deadline.race(Promise.resolve(7)), 7);
  await t.rejects(new Deadline().race(Promise.reject(new Error('no'))), { message: 'no' });
});
