import { fuseByMeanScore } from '../../src/search/mean-score-fusion.ts';
import t from '../support/tap.ts';

type Item = readonly [key: string, score: number];
const fuse = (...lists: (readonly Item[])[]) =>
  fuseByMeanScore(
    lists.map((items) => items.map(([key, score]) => ({ key, score }))),
    ({ key }) => key,
  ).map(({ key, score }) => `${key} ${score.toFixed(2)}`);

t.test('the score is the mean over all queries, and 0 for those that do not find an item', async (t) => {
  t.same(
    fuse(
      [
        ['a', 1],
        ['b', 0.8],
      ],
      [
        ['c', 0.9],
        ['b', 0.6],
      ],
    ),
    ['b 0.70', 'a 0.50', 'c 0.45'],
  );
  t.same(fuse([['a', 0.4]]), ['a 0.40']);
  t.same(fuse([], [['a', 0.4]]), ['a 0.20']);
  t.same(fuse([], []), []);
});

t.test('a tie keeps the order of the lists, and the best of equal items is returned', async (t) => {
  t.same(fuse([['a', 1]], [['b', 1]]), ['a 0.50', 'b 0.50']);
  const lists = [[{ key: 'b', score: 0.5, text: 'first' }], [{ key: 'b', score: 0.75, text: 'second' }]];
  t.match(
    fuseByMeanScore(lists, ({ key }) => key),
    [{ key: 'b', text: 'second', score: 0.625 }],
  );
});
