import t from 'tap';
import { openOnce } from '../../src/models/open-once.ts';

t.test('a model is opened once, also by callers at the same time', async (t) => {
  const asked: string[] = [];
  const open = openOnce(async (id: string) => {
    asked.push(id);
    return { id };
  }, String);
  const [first, second, other] = await Promise.all([open('a'), open('a'), open('b')]);
  t.equal(first, second);
  t.not(first, other);
  t.equal(await open('a'), first);
  t.same(asked, ['a', 'b']);
});

t.test('a failure reaches every caller who waited, and the next one tries again', async (t) => {
  let failures = 1;
  const open = openOnce(async (id: string) => {
    if (failures-- > 0) throw new Error(`${id} is broken`);
    return id;
  }, String);
  const results = await Promise.allSettled([open('a'), open('a')]);
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.equal(await open('a'), 'a');
});
