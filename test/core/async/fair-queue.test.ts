import { FairQueue } from '../../../src/core/async/fair-queue.ts';
import t from '../../support/tap.ts';

interface Item {
  readonly name: string;
}

/** Queue of items such as `a1`, whose key is the letter. */
function build() {
  const queue = new FairQueue<Item>();
  const add = (...names: string[]) => {
    for (const name of names) queue.add(name[0]!, { name });
  };
  const take = (count = 1) => Array.from({ length: count }, () => queue.take()?.name ?? null);
  return { queue, add, take };
}

t.test('keys alternate, and each key keeps the order of arrival', async (t) => {
  const { queue, add, take } = build();
  add('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  t.same(take(6), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  t.equal(queue.size, 0);
  t.same(take(), [null]);
});

t.test('a key without a backlog goes before those that have one', async (t) => {
  const { add, take } = build();
  add('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'b4');
  t.same(take(3), ['a1', 'b1', 'a2']);
  add('s1');
  t.same(take(3), ['s1', 'b2', 'a3']);
  add('s2');
  t.same(take(3), ['s2', 'b3', 'a4'], 'its earlier turn was in the previous round');
});

t.test('keys that return at once do not starve a backlog', async (t) => {
  const { add, take } = build();
  add('z1', 'z2', 'z3', 'z4');
  const sparse = ['a', 'b', 'c', 'd'];
  add(...sparse);
  const order: string[] = [];
  for (let i = 0; i < 15; i += 1) {
    const [name] = take();
    order.push(name![0]!);
    if (sparse.includes(name!)) add(name!);
  }
  t.same(order.join(''), 'zabcdzabcdzabcd', 'the backlog keeps its turn in each round');
});

t.test('a key whose items are deleted leaves no state', async (t) => {
  const { queue, add, take } = build();
  add('a1', 'a2');
  const item = { name: 'b1' };
  queue.add('b', item);
  t.equal(queue.sizeOf('b'), 1);
  t.equal(queue.delete('b', item), true);
  t.equal(queue.delete('b', item), false);
  t.equal(queue.sizeOf('b'), 0);
  t.equal(queue.size, 2);
  t.same(take(3), ['a1', 'a2', null]);
});
