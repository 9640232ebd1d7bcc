import { interleave } from '../../bench/harness/rounds.ts';
import { ratioOf, spreadOf } from '../../bench/harness/statistics.ts';
import t from '../support/tap.ts';

t.test('a spread is the median with minimum and maximum, regardless of the order', async (t) => {
  t.same(spreadOf([3, 1, 2]), { median: 2, least: 1, most: 3 });
  t.same(spreadOf([4, 1, 3, 2]), { median: 2.5, least: 1, most: 4 });
  t.same(spreadOf([7]), { median: 7, least: 7, most: 7 });
  t.equal(spreadOf([1, null, 3]), null, 'a missing round makes the ratio unknown');
});

t.test('a ratio compares measurements of the same round', async (t) => {
  // The machine was half as fast in the second round, which does not affect the ratio.
  t.same(ratioOf([200, 100, 200], [100, 50, 100]), { median: 2, least: 2, most: 2 });
  t.equal(ratioOf([1, null], [1, 1]), null);
  t.equal(ratioOf([1, 1], [1, 0]), null);
});

t.test('each round measures every configuration once, in an order derived from the seed', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const turns = interleave(names, 20, 1);
  const orders = Array.from({ length: 20 }, (_, round) =>
    turns.filter((turn) => turn.round === round).map((turn) => turn.configuration),
  );
  for (const order of orders) t.same(order.toSorted(), names);
  t.same(
    turns.map((turn) => turn.round),
    turns.map((turn) => turn.round).toSorted((a, b) => a - b),
    'a round ends before the next begins',
  );
  t.ok(new Set(orders.map((order) => order.join(''))).size > 10, 'the orders differ');
  t.same(interleave(names, 20, 1), turns);
  t.notSame(interleave(names, 20, 2), turns);
});
