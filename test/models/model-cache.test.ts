import { ModelCache } from '../../src/models/model-cache.ts';
import t from '../support/tap.ts';

/** Cache of fake models that records opening and closing; `missingModels` simulates removed models. */
function createCache({ failures = 0 } = {}) {
  const [closedModels, missingModels] = [[] as string[], new Set<string>()];
  let left = failures;
  const open = new ModelCache({
    open: async (id: string) => {
      closedModels.push(`open ${id}`);
      if (left-- > 0) throw new Error(`${id} is broken`);
      return { id, close: async () => void closedModels.push(`close ${id}`) };
    },
    keyOf: String,
    isRemoved: async (id) => missingModels.has(id),
  });
  return { open, closedModels, missingModels };
}

t.test('a model is opened once, also by callers at the same time', async (t) => {
  const { open, closedModels } = createCache();
  const same = async (model: { id: string }) => model;
  const [first, second, other] = await Promise.all([
    open.use('a', same),
    open.use('a', same),
    open.use('b', same),
  ]);
  t.equal(first, second);
  t.not(first, other);
  t.equal(await open.use('a', same), first);
  t.same(closedModels, ['open a', 'open b']);
});

t.test('a failure rejects all waiting callers, and the next one retries', async (t) => {
  const { open } = createCache({ failures: 1 });
  const idOf = async ({ id }: { id: string }) => id;
  const results = await Promise.allSettled([open.use('a', idOf), open.use('a', idOf)]);
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.equal(await open.use('a', idOf), 'a');
});

t.test('a removed model is closed when unused, and opened again when it returns', async (t) => {
  const { open, closedModels, missingModels } = createCache();
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const using = open.use('a', () => finished);
  await open.use('b', async () => {});
  missingModels.add('a');
  await open.closeRemoved();
  t.same(closedModels, ['open a', 'open b'], 'it is in use');
  finish();
  await using;
  await Promise.all([open.closeRemoved(), open.closeRemoved()]);
  t.same(closedModels, ['open a', 'open b', 'close a']);
  missingModels.clear();
  await open.use('a', async () => {});
  await open.closeRemoved();
  t.same(closedModels, ['open a', 'open b', 'close a', 'open a']);
});
