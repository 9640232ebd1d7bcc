import {
  createOrganizationSemaphore,
  type OrganizationSemaphoreOptions,
} from '../../src/admission/organization-semaphore.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

/** Semaphore that records the order of acquisitions; `end` releases permits. */
function build(permits: number, waitingMax = 10_000, options: Partial<OrganizationSemaphoreOptions> = {}) {
  const semaphore = createOrganizationSemaphore({ permits, waitingMax, noun: 'queries', ...options });
  const started: string[] = [];
  const ask = (organizationId: string, signal?: AbortSignal): Promise<void> => {
    const turn = semaphore.acquire(organizationId, cancellationTokenWith(signal));
    const begin = () => void started.push(organizationId);
    if (turn !== null) return turn.then(begin);
    begin();
    return Promise.resolve();
  };
  const end = async (count = 1): Promise<void> => {
    for (let i = 0; i < count; i += 1) {
      semaphore.release();
      await Promise.resolve();
      await Promise.resolve();
    }
  };
  return { semaphore, started, ask, end };
}

t.test('with free permits every call runs at once', async (t) => {
  const { semaphore, started, ask, end } = build(3);
  for (const name of ['a', 'a', 'b']) void ask(name);
  t.same(started, ['a', 'a', 'b']);
  await end(3);
  t.equal(semaphore.running, 0);
});

t.test('in an overload fewer calls run at once, and afterwards as many as before', async (t) => {
  const overload = { isOverloaded: false, recordRequest: () => false, recordRejection() {} };
  const { semaphore, started, ask, end } = build(3, 10_000, { overload, permitsInOverload: 1 });
  for (let i = 0; i < 10; i += 1) void ask('a');
  t.equal(started.length, 3);
  overload.isOverloaded = true;
  await end(2);
  t.equal(started.length, 3, 'running calls end before others start');
  t.equal(semaphore.running, 1);
  await end(2);
  t.equal(started.length, 5, 'one after the other');
  overload.isOverloaded = false;
  await end();
  t.equal(started.length, 8, 'one release starts as many as may run');
  t.equal(semaphore.running, 3);
  await end(5);
  t.equal(started.length, 10);
  t.equal(semaphore.running, 0);
});

t.test('a thousand queries of one organization do not delay one query of another', async (t) => {
  const { semaphore, started, ask, end } = build(4);
  for (let i = 0; i < 1_000; i += 1) void ask('busy');
  void ask('guest');
  await end(2);
  t.same(started.slice(4), ['busy', 'guest'], 'the query is the second to start');
  for (let i = 0; i < 3; i += 1) void ask('guest');
  void ask('third');
  await end(6);
  const order = ['third', 'busy', 'guest', 'busy', 'guest', 'busy'];
  t.same(started.slice(6), order, 'the organization without a turn goes first, then they alternate');
  await end(995);
  t.equal(semaphore.waiting, 0);
  t.equal(started.length, 1_005, 'all calls start');
  await end(2);
  t.equal(semaphore.running, 0);
});

t.test('a canceled waiter acquires no permit and delays no other caller', async (t) => {
  const { semaphore, started, ask, end } = build(1);
  void ask('a');
  const controller = new AbortController();
  const leaving = ask('b', controller.signal);
  void ask('c');
  controller.abort(new Error('gone'));
  await t.rejects(leaving, { code: 'unavailable' });
  await end(1);
  t.same(started, ['a', 'c']);
  t.equal(semaphore.waiting, 0);
  t.throws(() => void semaphore.acquire('b', cancellationTokenWith(controller.signal)), {
    code: 'unavailable',
  });
});

t.test('the number of waiting calls per organization is bounded', async (t) => {
  const { ask, started, end } = build(1, 2);
  void ask('a');
  void ask('a');
  void ask('a');
  t.throws(() => void ask('a'), {
    code: 'rate_limited',
    options: { headers: { 'x-quarry-limit': 'waiting-queries' } },
  });
  void ask('b');
  await end(2);
  t.same(started, ['a', 'a', 'b']);
});
