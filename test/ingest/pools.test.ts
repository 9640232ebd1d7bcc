import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { ChunkBatch, ChunkOutcome } from '../../src/chunking/chunk-task.ts';
import { Pool, type TaskPriority } from '../../src/ingest/pools.ts';
import t from '../support/tap.ts';

const task = (words: number): ChunkBatch => ({
  tasks: [
    {
      pages: ['salted herring '.repeat(words)],
      unordered: false,
      title: null,
      path: 'a.txt',
      language: null,
      model: 'zembed-1',
      cancelFlag: null,
    },
  ],
});

t.test('interactive tasks run first; equal priorities keep their order', async (t) => {
  const pool = new Pool({ name: 'chunk', threads: 1, queueTasksMax: 100 });
  t.teardown(() => pool.close());
  await pool.run<ChunkOutcome[]>(task(1));
  const ended: string[] = [];
  const run = async (name: string, priority: TaskPriority, words = 1) => {
    await pool.run<ChunkOutcome[]>(task(words), { priority });
    ended.push(name);
  };
  await Promise.all([
    run('first', 'slow', 50_000),
    run('slow', 'slow'),
    run('ingest a', 'ingest'),
    run('ingest b', 'ingest'),
    run('fast', 'fast'),
    run('query', 'query'),
  ]);
  t.same(ended, ['first', 'query', 'fast', 'ingest a', 'ingest b', 'slow']);
});

t.test('a full pool rejects tasks with a retry delay', async (t) => {
  const pool = new Pool({ name: 'chunk', threads: 1, queueTasksMax: 2 });
  t.teardown(() => pool.close());
  const running = Array.from({ length: 3 }, () => pool.run<ChunkOutcome[]>(task(1)));
  await t.rejects(pool.run(task(1)), { code: 'unavailable', options: { retryAfterMs: Number } });
  t.equal(pool.depth, 3);
  await Promise.all(running);
  t.equal(pool.depth, 0);
  await pool.run<ChunkOutcome[]>(task(1));
});

t.test('an idle worker that fails is replaced and reported', async (t) => {
  const created = once(process, 'worker') as Promise<[Worker]>;
  const errors: string[] = [];
  const onError = (error: Error) => void errors.push(error.message);
  const pool = new Pool({ name: 'chunk', threads: 1, queueTasksMax: 2, onError });
  t.teardown(() => pool.close());
  await pool.run(task(1));
  const [worker] = await created;
  worker.emit('error', new Error('no memory for an idle thread'));
  t.same(errors, ['no memory for an idle thread']);
  t.match(await pool.run<ChunkOutcome[]>(task(1)), [{ result: { pageStarts: [0] } }]);
});

t.test('threads start with the first task, and a closed pool starts none', async (t) => {
  let started = 0;
  const count = () => {
    started += 1;
  };
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  const pool = new Pool({ name: 'chunk', threads: 2, queueTasksMax: 2 });
  t.equal(started, 0);
  await pool.run(task(1));
  t.equal(started, 2);
  await pool.close();
  await pool.close();
  const unused = new Pool({ name: 'chunk', threads: 2, queueTasksMax: 2 });
  await unused.close();
  for (const closed of [pool, unused]) {
    await t.rejects(closed.run(task(1)), { code: 'unavailable', message: /shutting down/ });
    t.equal(closed.depth, 0);
  }
  t.equal(started, 2);
});
