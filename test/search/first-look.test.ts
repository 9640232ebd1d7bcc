import t from 'tap';
import { FirstLook } from '../../src/search/first-look.ts';

t.test('first looks end where they do not suffice, and come back when they do again', async (t) => {
  const look = new FirstLook();
  const looks = (searches: number, suffices: boolean): number => {
    let count = 0;
    for (let i = 0; i < searches; i += 1) {
      if (!look.isWorthwhile()) continue;
      count += 1;
      look.learn(suffices);
    }
    return count;
  };
  t.equal(looks(1_000, true), 1_000, 'always while they suffice');
  t.ok(looks(1_000, false) < 100, 'hardly ever once they do not');
  looks(5_000, true);
  t.equal(looks(100, true), 100, 'always again');
});
