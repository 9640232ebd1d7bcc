import { deleteJob, JobQueue, putJob } from '../../src/storage/jobs.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import t from '../support/tap.ts';
import { job } from './records.ts';

t.test('after a restart every unfinished job is offered again, oldest first', async (t) => {
  const store = new MemoryStore();
  await store.write([300, 2, 1, 2 ** 40].map((version) => putJob(job({ version }))));
  await store.write([deleteJob(2), putJob(job({ version: 300, step: 'index', attempts: 2 }))]);
  const queue = await JobQueue.open(store);
  t.equal(queue.waiting, 3);
  t.equal(queue.claim(0)?.version, 1);
  t.match(queue.claim(0), { version: 300, step: 'index', attempts: 2 });
  t.equal(queue.claim(0)?.version, 2 ** 40);
  t.equal(queue.claim(0), null);
  t.equal(queue.claimed, 3);
  t.equal((await JobQueue.open(store, ({ version }) => version === 1)).waiting, 1, 'only the requested jobs');
});

t.test('organizations take turns, regardless of their queue lengths', async (t) => {
  const queue = new JobQueue();
  for (let version = 1; version <= 1000; version += 1) queue.offer(job({ version, organizationId: 'many' }));
  queue.offer(job({ version: 2000, organizationId: 'few' }));
  queue.offer(job({ version: 1999, organizationId: 'few' }));
  const order = Array.from({ length: 5 }, () => queue.claim(0)?.version);
  t.same(order, [1, 1999, 2, 2000, 3]);
  t.equal(queue.waiting, 997);
});

t.test('a turn lasts for several jobs or a time limit while others wait', async (t) => {
  const queue = new JobQueue({ jobsMax: 3, msMax: 100 });
  for (let version = 1; version <= 8; version += 1) queue.offer(job({ version, organizationId: 'many' }));
  for (const version of [21, 22]) queue.offer(job({ version, organizationId: 'few' }));
  const claims = (now: number, count: number) =>
    Array.from({ length: count }, () => queue.claim(now)?.version);
  t.same(claims(0, 5), [1, 2, 3, 21, 22], 'three jobs');
  t.same(claims(10, 1), [4]);
  queue.offer(job({ version: 23, organizationId: 'few' }));
  t.same(claims(60, 1), [5]);
  t.same(claims(170, 2), [6, 23], 'its turn has ended');
  t.same(claims(180, 3), [7, 8, undefined]);
});

t.test('a delayed job does not run early and delays no other', async (t) => {
  const queue = new JobQueue();
  queue.offer(job({ version: 1, notBefore: 500 }));
  queue.offer(job({ version: 2, notBefore: 100 }));
  queue.offer(job({ version: 3 }));
  t.equal(queue.nextDue(), 100);
  t.same([queue.claim(99)?.version, queue.claim(99)], [3, null]);
  t.equal(queue.claim(100)?.version, 2);
  t.equal(queue.claim(1000)?.version, 1);
  t.equal(queue.nextDue(), null);
});

t.test('a claimed job is not offered again until it is released or completed', async (t) => {
  const queue = new JobQueue();
  queue.offer(job({ version: 1 }));
  queue.offer(job({ version: 2 }));
  const claimed = queue.claim(0);
  t.equal(claimed?.version, 1);
  queue.offer({ ...job({ version: 1 }), step: 'chunk' });
  t.equal(queue.claimed, 0);
  t.match(queue.claim(0), { version: 1, step: 'chunk' }, 'an older version continues first');
  queue.complete(1);
  t.throws(() => queue.complete(1), { name: 'AssertionError' });
  t.equal(queue.claim(0)?.version, 2);
});

t.test('released jobs are due at once, in turns', async (t) => {
  const queue = new JobQueue();
  for (let version = 1; version <= 4; version += 1)
    queue.offer(job({ version, organizationId: version < 3 ? 'one' : 'two', notBefore: 1_000 + version }));
  queue.offer(job({ version: 5, attempts: 1, notBefore: 1_000 }));
  t.equal(queue.claim(500), null);
  queue.makeDue(({ attempts }) => attempts === 0);
  t.same(
    Array.from({ length: 5 }, () => queue.claim(500)?.version),
    [1, 3, 2, 4, undefined],
  );
  t.equal(queue.waiting, 1);
  t.equal(queue.claim(1_000)?.version, 5);
});
