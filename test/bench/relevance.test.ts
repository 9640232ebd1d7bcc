import t from 'tap';
import { gainOf } from '../../bench/cases/relevance.ts';

const grades = new Map([
  ['a', 2],
  ['b', 1],
]);

t.test('nDCG is 1 for the best order, less for a worse one and 0 when nothing is found', async (t) => {
  t.equal(gainOf(['a', 'b', 'c'], grades), 1);
  t.equal(gainOf(['c', 'd'], grades), 0);
  const swapped = (1 + 2 / Math.log2(3)) / (2 + 1 / Math.log2(3));
  t.ok(Math.abs(gainOf(['b', 'a'], grades) - swapped) < 1e-12);
  const late = Array.from({ length: 10 }, (_, i) => `other${i}`);
  t.equal(gainOf([...late, 'a'], grades), 0, 'what comes after the tenth does not count');
});
