import { ConcurrencyLimiter } from '../../src/admission/concurrency-limiter.ts';
import { AppError } from '../../src/core/app-error.ts';
import t from '../support/tap.ts';

/** Limiter with running requests; `ask` starts one more for an organization. */
function build(most: number) {
  const limiter = new ConcurrencyLimiter(most);
  let acquired = 0;
  const ask = (organizationId: string): boolean => {
    if (limiter.isFull(acquired)) return false;
    try {
      limiter.acquire(organizationId, acquired);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unavailable') throw error;
      return false;
    }
    acquired += 1;
    return true;
  };
  const end = (organizationId: string): void => {
    limiter.release(organizationId);
    acquired -= 1;
  };
  return { ask, end, taken: () => acquired };
}

t.test('one organization alone can use all permits, and no more', async (t) => {
  const { ask, end } = build(16);
  for (let i = 0; i < 16; i += 1) t.ok(ask('one'));
  t.notOk(ask('one'));
  end('one');
  t.ok(ask('one'));
});

t.test('when one organization uses its share, permits remain for the others', async (t) => {
  const { ask, taken: acquired } = build(80);
  while (ask('busy'));
  t.equal(acquired(), 80);
  t.ok(ask('guest') && ask('guest') && ask('another'));
  t.notOk(ask('busy'));
  for (let i = 0; i < 1_000; i += 1) ask(`guest ${i % 20}`);
  t.ok(acquired() <= 80 + 10 + 23, 'the reserve is bounded too');
});

t.test('released permits are no longer counted', async (t) => {
  const { ask, end, taken: acquired } = build(4);
  for (let i = 0; i < 100; i += 1) {
    t.ok(ask(`${i}`));
    end(`${i}`);
  }
  t.equal(acquired(), 0);
  for (let i = 0; i < 4; i += 1) t.ok(ask('one'));
  t.notOk(ask('one'));
});
