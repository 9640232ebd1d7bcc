import { blend, fuse } from '../../src/search/fuse.ts';
import t from '../support/tap.ts';

const rounded = (values: Float32Array) => Array.from(values, (value) => Math.round(value * 1e4) / 1e4);

t.test('a chunk with the best lexical and vector score has the fused score 1', async (t) => {
  t.same(rounded(fuse(Float32Array.of(8, 4), Float32Array.of(0.4, 0))), [1, 0.3125]);
});

t.test('without a matching word only the vector score counts', async (t) => {
  t.same(rounded(fuse(Float32Array.of(0, 0), Float32Array.of(0.9, 0.45))), [0.375, 0.1875]);
});

t.test('without vectors only the lexical score counts', async (t) => {
  t.same(rounded(fuse(Float32Array.of(3, 6), null)), [0.3125, 0.625]);
});

t.test('a negative similarity ranks no lower than zero similarity', async (t) => {
  t.same(rounded(fuse(Float32Array.of(0), Float32Array.of(-1))), [0]);
});

t.test('only the ratio of the weights matters', async (t) => {
  const scores = (lexical: number, vector: number) =>
    rounded(fuse(Float32Array.of(8, 4), Float32Array.of(0.2, 0.4), { lexical, vector }));
  t.same(scores(1, 0), [1, 0.5]);
  t.same(scores(0, 1), [0.5, 1]);
  t.same(scores(3, 1), [0.875, 0.625]);
  t.same(scores(1e308, 1e308), scores(1, 1));
  t.same(scores(5e-324, 5e-324), scores(1, 1));
  t.same(rounded(fuse(Float32Array.of(3, 6), null, { lexical: 2, vector: 0 })), [0.5, 1]);
});

t.test('a reranker moves a chunk up, but the first-stage score still counts', async (t) => {
  const scores = blend(Float32Array.of(0.1, 0.9, 0.1), Float32Array.of(0.5, 0.4, 0.1), 1);
  t.ok(scores[1]! > scores[0]!, 'the best reranked chunk is first');
  t.ok(scores[0]! > scores[2]!, 'equal rerank scores keep the order of the first stage');
  t.ok(scores.every((score) => score > 0 && score < 1));
});

t.test('a higher reranker weight has more influence on the order', async (t) => {
  const first = Float32Array.of(0.9, 0.5, 0.1);
  const reranked = Float32Array.of(0.3, 0.5, 0.7);
  const [light, heavy] = [blend(reranked, first, 0.5), blend(reranked, first, 2)];
  t.ok(light[0]! > light[2]!, 'with a low weight the best chunk of the first stage stays first');
  t.ok(heavy[2]! > heavy[0]!, 'with a high weight the best chunk of the reranker is first');
});

t.test('a single candidate and no candidate are not divided by zero', async (t) => {
  t.same(rounded(blend(Float32Array.of(0.7), Float32Array.of(0.2), 1)), [0.5]);
  t.same(rounded(blend(new Float32Array(0), new Float32Array(0), 1)), []);
  t.same(rounded(fuse(new Float32Array(0), null)), []);
});
