import { WaitLimiter } from '../../src/admission/wait-limiter.ts';
import t from '../support/tap.ts';

t.test('an organization whose requests all wait leaves capacity for those of others', async (t) => {
  const waits = new WaitLimiter(16);
  for (let i = 0; i < 16; i += 1) t.ok(waits.tryAcquire('crowd'));
  t.notOk(waits.tryAcquire('crowd'));
  t.ok(waits.tryAcquire('guest'));
  waits.release('guest');
  for (let i = 0; i < 16; i += 1) waits.release('crowd');
  t.ok(waits.tryAcquire('crowd'), 'ended requests are no longer counted');
});
