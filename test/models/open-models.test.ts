import t from 'tap';
import { OpenModels } from '../../src/models/open-models.ts';

/** Models that are names, of which some are gone, and what was done with them. */
function models({ failures = 0 } = {}) {
  const [done, gone] = [[] as string[], new Set<string>()];
  let left = failures;
  const open = new OpenModels({
    open: async (id: string) => {
      done.push(`open ${id}`);
      if (left-- > 0) throw new Error(`${id} is broken`);
      return { id, close: async () => void done.push(`close ${id}`) };
    },
    keyOf: String,
    isGone: async (id) => gone.has(id),
  });
  return { open, done, gone };
}

t.test('a model is opened once, also by callers at the same time', async (t) => {
  const { open, done } = models();
  const same = async (model: { id: string }) => model;
  const [first, second, other] = await Promise.all([
    open.use('a', same),
    open.use('a', same),
    open.use('b', same),
  ]);
  t.equal(first, second);
  t.not(first, other);
  t.equal(await open.use('a', same), first);
  t.same(done, ['open a', 'open b']);
});

t.test('a failure reaches every caller who waited, and the next one tries again', async (t) => {
  const { open } = models({ failures: 1 });
  const idOf = async ({ id }: { id: string }) => id;
  const results = await Promise.allSettled([open.use('a', idOf), open.use('a', idOf)]);
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.equal(await open.use('a', idOf), 'a');
});

t.test('a model that is gone is closed when nobody uses it, and opened anew when it is back', async (t) => {
  const { open, done, gone } = models();
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const using = open.use('a', () => finished);
  await open.use('b', async () => {});
  gone.add('a');
  await open.closeGone();
  t.same(done, ['open a', 'open b'], 'it is in use');
  finish();
  await using;
  await Promise.all([open.closeGone(), open.closeGone()]);
  t.same(done, ['open a', 'open b', 'close a']);
  gone.clear();
  await open.use('a', async () => {});
  await open.closeGone();
  t.same(done, ['open a', 'open b', 'close a', 'open a']);
});
