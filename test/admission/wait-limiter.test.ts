import { WaitLimiter } from '../../src/admission/wait-limiter.ts';
import t from '../support/tap.ts';

t.test('an organization whose requests all wait leaves capacity for those of others', async (t) => {
  const waits = new WaitLimiter(16);
  for (let i = 0; i < 16; i += 1) t.ok(waits.tryAcquire('busy'));
  t.notOk(waits.tryAcquire('busy'));
  t.ok(waits.tryAcquire('guest'));
  waits.release('guest');
  for (let i = 0; i < 16; i += 1) waits.release('busy');
  t.ok(waits.tryAcquire('busy'), 'ended requests are no longer counted');
});
