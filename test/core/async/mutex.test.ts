import { setTimeout as wait } from 'node:timers/promises';
import { KeyedMutex, Mutex } from '../../../src/core/async/mutex.ts';
import t from '../../support/tap.ts';

t.test('tasks with the same key never run concurrently and keep their order', async (t) => {
  const lock = new KeyedMutex();
  const order: string[] = [];
  await Promise.all(
    ['first', 'second', 'third'].map((name) =>
      lock.run('path', async () => {
        order.push(`${name} in`);
        await wait(1);
        order.push(`${name} out`);
      }),
    ),
  );
  t.same(order, ['first in', 'first out', 'second in', 'second out', 'third in', 'third out']);
});

t.test('a task does not start within the call, so that its promise can be registered first', async (t) => {
  const lock = new KeyedMutex();
  let started = false;
  const running = lock.run('a', async () => {
    started = true;
  });
  t.equal(started, false);
  await running;
  t.equal(started, true);
});

t.test('different keys do not wait for each other', async (t) => {
  const lock = new KeyedMutex();
  let release = () => {};
  const heldLock = lock.run('a', () => new Promise<void>((resolve) => (release = resolve)));
  t.equal(await lock.run('b', async () => 'free'), 'free');
  release();
  await heldLock;
});

t.test('a task can lock several keys, in one step', async (t) => {
  const lock = new KeyedMutex();
  const order: string[] = [];
  const run = (name: string, keys: string[]) =>
    lock.runAll(keys, async () => {
      order.push(`${name} in`);
      await wait(1);
      order.push(`${name} out`);
    });
  await Promise.all([run('ab', ['a', 'b']), run('ba', ['b', 'a']), run('b', ['b']), run('c', ['c'])]);
  t.same(
    order.filter((event) => !event.startsWith('c')),
    ['ab in', 'ab out', 'ba in', 'ba out', 'b in', 'b out'],
  );
  t.ok(order.indexOf('c in') < order.indexOf('ab out'), 'other keys do not wait');
  t.equal(lock.size, 0);
});

t.test('an error rejects only its own task, and the next task of the key runs', async (t) => {
  const lock = new KeyedMutex();
  const failing = lock.run('a', async () => {
    throw new Error('mine');
  });
  const next = lock.run('a', async () => 'fine');
  await t.rejects(failing, /mine/);
  t.equal(await next, 'fine');
});

t.test('unused keys use no memory', async (t) => {
  const lock = new KeyedMutex();
  await Promise.all(Array.from({ length: 100 }, (_, i) => lock.run(`${i}`, async () => i)));
  t.equal(lock.size, 0);
});

t.test('the wait ends when all tasks have ended, including failed ones', async (t) => {
  const lock = new KeyedMutex();
  const ended: string[] = [];
  const slow = lock.run('a', async () => {
    await wait(5);
    ended.push('slow');
  });
  const failing = lock.run('b', async () => {
    ended.push('failing');
    throw new Error('mine');
  });
  await Promise.all([lock.idle(), t.rejects(failing)]);
  t.same(ended, ['failing', 'slow']);
  await slow;
});

t.test('a mutex runs one task at a time, and a failed one does not stop the next', async (t) => {
  const mutex = new Mutex();
  const order: string[] = [];
  const failing = mutex.run(async () => {
    await wait(1);
    order.push('first');
    throw new Error('mine');
  });
  const next = mutex.run(async () => order.push('second'));
  await t.rejects(failing, /mine/);
  await next;
  t.same(order, ['first', 'second']);
});
