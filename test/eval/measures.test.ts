import { estimateGain, estimateMean, ndcg, recall, reciprocalRank } from '../../src/eval/measures.ts';
import t from '../support/tap.ts';

const grades = new Map([
  ['a', 2],
  ['b', 1],
]);
const late = Array.from({ length: 10 }, (_, i) => `other${i}`);

t.test('nDCG is 1 for the best order, less for a worse one and 0 when nothing is found', async (t) => {
  t.equal(ndcg(['a', 'b', 'c'], grades, 10), 1);
  t.equal(ndcg(['c', 'd'], grades, 10), 0);
  const swapped = (1 + 2 / Math.log2(3)) / (2 + 1 / Math.log2(3));
  t.ok(Math.abs(ndcg(['b', 'a'], grades, 10) - swapped) < 1e-12);
  t.equal(ndcg([...late, 'a'], grades, 10), 0, 'results after the tenth do not count');
});

t.test('recall counts relevant results, the reciprocal rank uses the first of them', async (t) => {
  t.equal(recall(['c', 'b', 'd'], grades, 3), 0.5);
  t.equal(recall(['c', 'd', 'b'], grades, 2), 0);
  t.equal(reciprocalRank(['c', 'b', 'a'], grades, 10), 0.5);
  t.equal(reciprocalRank([...late, 'a'], grades, 10), 0);
});

t.test(
  'the confidence interval shrinks with the square root of the questions, and pairing reduces variance',
  async (t) => {
    const few = Array.from({ length: 100 }, (_, i) => i % 2);
    const many = Array.from({ length: 10_000 }, (_, i) => i % 2);
    t.equal(estimateMean(few).mean, 0.5);
    t.ok(Math.abs((estimateMean(few).margin ?? 0) - 0.098) < 0.001);
    t.ok(Math.abs((estimateMean(few).margin ?? 0) / (estimateMean(many).margin ?? 1) - 10) < 0.1);
    t.same(estimateMean([0.25]), { mean: 0.25, margin: null });
    const better = few.map((value) => value + 0.125);
    t.same(estimateGain(better, few), { mean: 0.125, margin: 0 });
  },
);
