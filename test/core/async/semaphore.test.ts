import { Semaphore } from '../../../src/core/async/semaphore.ts';
import t from '../../support/tap.ts';

/** Lets all promises settle that can settle now. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test('no more tasks run than there are permits, in the order of arrival', async (t) => {
  const semaphore = new Semaphore({ permits: 2 });
  const started: number[] = [];
  for (let i = 0; i < 5; i += 1) void semaphore.acquire().then(() => started.push(i));
  await settle();
  t.same(started, [0, 1]);
  semaphore.release();
  await settle();
  t.same(started, [0, 1, 2]);
  semaphore.release();
  semaphore.release();
  await settle();
  t.same(started, [0, 1, 2, 3, 4]);
});

t.test('high priority goes first and has a reserved permit', async (t) => {
  const semaphore = new Semaphore({ permits: 2, reservedPermits: 1 });
  const started: string[] = [];
  const ask = (name: string, priority: 'high' | 'normal') =>
    void semaphore.acquire({ priority }).then(() => started.push(name));
  ask('document 1', 'normal');
  ask('document 2', 'normal');
  ask('query 1', 'high');
  ask('query 2', 'high');
  await settle();
  t.same(started, ['document 1', 'query 1']);
  semaphore.release();
  await settle();
  t.same(started.slice(2), ['query 2']);
  semaphore.release();
  semaphore.release();
  await settle();
  t.same(started.slice(3), ['document 2']);
});

t.test('a caller that aborts while waiting is rejected and acquires no permit', async (t) => {
  const semaphore = new Semaphore({ permits: 1 });
  await semaphore.acquire();
  const controller = new AbortController();
  const aborted = semaphore.run(async () => 'never', controller.signal);
  const next = semaphore.run(async () => 'next');
  controller.abort(new Error('gave up'));
  await t.rejects(aborted, /gave up/);
  await t.rejects(semaphore.acquire({ signal: controller.signal }), /gave up/);
  semaphore.release();
  t.equal(await next, 'next');
});

t.test('a failed task releases its permit', async (t) => {
  const semaphore = new Semaphore({ permits: 1 });
  const failing = semaphore.run(async () => {
    throw new Error('mine');
  });
  await t.rejects(failing, /mine/);
  t.equal(await semaphore.run(async () => 'next'), 'next');
});
