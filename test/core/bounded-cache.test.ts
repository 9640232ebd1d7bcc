import { BoundedCache } from '../../src/core/bounded-cache.ts';
import { IndexedSet } from '../../src/core/indexed-set.ts';
import t from '../support/tap.ts';

const cachedKeys = (cache: BoundedCache<unknown>) => [...cache.keys()].sort();

t.test('the total cost stays within the bound: the oldest unused value is evicted first', (t) => {
  const cache = new BoundedCache<string>(10);
  cache.set('a', 'A', 4);
  cache.set('b', 'B', 4);
  t.equal(cache.get('a'), 'A');
  cache.set('c', 'C', 4);
  t.same(cachedKeys(cache), ['a', 'c']);
  t.equal(cache.get('b'), undefined);
  t.same([cache.cost, cache.size], [8, 2]);
  cache.set('d', 'D', 4);
  t.same(cachedKeys(cache), ['a', 'd'], 'once');
  cache.set('e', 'E', 4);
  t.same(cachedKeys(cache), ['d', 'e'], 'a use delays the eviction only once');
  t.end();
});

t.test('a peek does not protect a value from eviction', (t) => {
  const cache = new BoundedCache<string>(8);
  cache.set('a', 'A', 4);
  cache.set('b', 'B', 4);
  t.equal(cache.peek('a'), 'A');
  t.equal(cache.peek('c'), undefined);
  cache.set('c', 'C', 4);
  t.same(cachedKeys(cache), ['b', 'c']);
  t.end();
});

t.test('a growing value evicts others, and itself above the bound', (t) => {
  const cache = new BoundedCache<string>(10);
  cache.set('a', 'A', 2);
  cache.set('b', 'B', 2);
  cache.addCost('b', 5);
  t.same([cachedKeys(cache), cache.cost], [['a', 'b'], 9]);
  cache.addCost('b', 4);
  t.same([cachedKeys(cache), cache.cost], [['a'], 2], 'outgrown');
  cache.addCost('b', 100);
  t.equal(cache.cost, 2, 'an evicted value does not grow');
  cache.set('c', 'C', 7);
  cache.addCost('c', 2);
  t.same([cachedKeys(cache), cache.cost], [['c'], 9], 'the older value is evicted');
  t.end();
});

t.test('a value above the bound is not cached and evicts no other', (t) => {
  const cache = new BoundedCache<string>(10);
  cache.set('a', 'A', 10);
  cache.set('a', 'larger', 11);
  t.same([cachedKeys(cache), cache.cost], [[], 0], 'the replaced value is evicted too');
  cache.set('b', 'B', 10);
  cache.set('c', 'C', 11);
  t.same(cachedKeys(cache), ['b']);
  t.end();
});

t.test('replacing and deleting refund the cost', (t) => {
  const cache = new BoundedCache<string>(10);
  cache.set('a', 'A', 6);
  cache.set('a', 'B', 3);
  t.same([cache.get('a'), cache.cost], ['B', 3]);
  cache.delete('a');
  cache.delete('a');
  t.same([cache.size, cache.cost], [0, 0]);
  t.end();
});

t.test('after any sequence of operations the cost is the sum of the cached values', (t) => {
  const cache = new BoundedCache<number>(50);
  const costs = new Map<string, number>();
  let state = 7;
  const below = (count: number) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    return state % count;
  };
  for (let step = 0; step < 5_000; step += 1) {
    const key = String(below(20));
    const cost = below(20);
    if (below(3) === 0) {
      if (cache.get(key) !== undefined) costs.set(key, costs.get(key)! + cost);
      cache.addCost(key, cost);
    } else {
      cache.set(key, step, cost);
      costs.set(key, cost);
    }
    const sum = cachedKeys(cache).reduce((total, each) => total + costs.get(each)!, 0);
    if (cache.cost !== sum || sum > 50) t.fail(`step ${step}: ${cache.cost} is cached, ${sum} counted`);
  }
  t.equal(cache.costMax, 50);
  t.end();
});

t.test('an indexed set lists the same values as a Set after any changes', (t) => {
  const items = Array.from({ length: 9 }, () => ({ index: -1 }));
  const indexedSet = new IndexedSet<(typeof items)[number]>();
  const set = new Set<(typeof items)[number]>();
  for (let step = 0; step < 2_000; step += 1) {
    const item = items[(step * step + (step >> 3)) % items.length]!;
    if (set.delete(item)) {
      indexedSet.delete(item);
    } else {
      set.add(item);
      indexedSet.add(item);
    }
    const same = indexedSet.size === set.size && [...indexedSet].every((each) => set.has(each));
    if (!same || new Set(indexedSet).size !== set.size) t.fail(`step ${step}`);
  }
  for (const item of indexedSet) {
    indexedSet.delete(item);
    indexedSet.delete(item);
  }
  t.equal(indexedSet.size, 0);
  const [first] = items;
  indexedSet.add(first!);
  t.throws(() => indexedSet.add(first!), { message: /an item is added only once/ });
  t.end();
});
