import { fuseByReciprocalRank } from '../../src/search/reciprocal-rank-fusion.ts';
import t from '../support/tap.ts';

const item = (key: string, score = 0.5) => ({ key, score });
const fuse = (...lists: string[]) =>
  fuseByReciprocalRank(
    lists.map((keys) => [...keys].map((key) => item(key))),
    ({ key }) => key,
  );
const keys = (items: readonly { readonly key: string }[]) => items.map(({ key }) => key).join('');

t.test('items of several lists rank above those of one list with the same rank', async (t) => {
  t.equal(keys(fuse('abc', 'dbe')), 'badce');
  t.equal(keys(fuse('ab', 'ba')), 'ab', 'a tie keeps the order of the lists');
  t.equal(keys(fuse('abc')), 'abc');
  t.equal(keys(fuse('', 'ab')), 'ab');
  t.same(fuse('', ''), []);
});

t.test('the score is a share of the highest possible one', async (t) => {
  const [first, second] = fuse('ab', 'ac');
  t.equal(first!.score, 1);
  t.equal(second!.score.toFixed(6), (61 / 62 / 2).toFixed(6));
  for (const { score } of fuse('abcdef', 'fedcba', 'xyz')) t.ok(score > 0 && score <= 1);
});

t.test('of equal items, the one with the best rank is returned', async (t) => {
  const lists = [[item('a', 0.9), item('b', 0.8)], [{ ...item('b', 0.7), text: 'first' }]];
  t.match(
    fuseByReciprocalRank(lists, ({ key }) => key),
    [{ key: 'b', text: 'first' }, { key: 'a' }],
  );
});
