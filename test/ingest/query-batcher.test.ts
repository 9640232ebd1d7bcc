import { flushAfter, flushOnImmediate, QueryBatcher } from '../../src/ingest/query-batcher.ts';
import t from '../support/tap.ts';

t.test('concurrent queries share a batch of at most 64, and each gets its own vector', async (t) => {
  const sizes: number[] = [];
  const batcher = new QueryBatcher(async (texts) => {
    sizes.push(texts.length);
    return { vectors: Float32Array.from(texts.flatMap((text) => [Number(text), -1])), dimensions: 2 };
  }, flushAfter(8));
  const vectors = await Promise.all(Array.from({ length: 150 }, (_, i) => batcher.embed(String(i))));
  t.same(
    vectors.map((vector) => vector[0]),
    vectors.map((_, i) => i),
  );
  t.same(sizes, [64, 64, 22]);
});

t.test('a failed run fails its own queries only', async (t) => {
  let calls = 0;
  const batcher = new QueryBatcher(async (texts) => {
    calls += 1;
    if (calls === 1) throw new Error('the model is unavailable');
    return { vectors: new Float32Array(texts.length), dimensions: 1 };
  }, flushOnImmediate);
  const failing = ['a', 'b'].map((text) => batcher.embed(text));
  for (const query of failing) await t.rejects(query, /the model is unavailable/);
  t.equal((await batcher.embed('c')).length, 1);
});

t.test(
  'queries of one event loop turn share a batch, and a single query waits only for the end of its turn',
  async (t) => {
    const runs: (readonly string[])[] = [];
    const batcher = new QueryBatcher(async (texts) => {
      runs.push(texts);
      return { vectors: new Float32Array(texts.length), dimensions: 1 };
    }, flushOnImmediate);
    await batcher.embed('alone');
    const together = [batcher.embed('a'), Promise.resolve().then(() => batcher.embed('b'))];
    await Promise.all(together);
    t.same(runs, [['alone'], ['a', 'b']]);
  },
);

t.test('queries wait while the maximum number of runs is in progress, and share the next runs', async (t) => {
  const runs: (readonly string[])[] = [];
  const endTurn: (() => void)[] = [];
  const batcher = new QueryBatcher(
    async (texts) => {
      runs.push(texts);
      await new Promise<void>((resolve) => endTurn.push(resolve));
      if (texts.includes('broken')) throw new Error('it contains no number');
      return { vectors: Float32Array.from(texts, (text) => text.length), dimensions: 1 };
    },
    flushOnImmediate,
    2,
  );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const pending: Promise<unknown>[] = [];
  for (const text of ['a', 'bb', 'ccc', 'broken', 'eeeee']) {
    pending.push(batcher.embed(text).then(([length]) => length, String));
    await turn();
  }
  t.same(runs, [['a'], ['bb']], 'a query with a free run starts at once');
  endTurn.shift()!();
  await turn();
  await turn();
  t.same(runs.slice(2), [['ccc', 'broken']], 'only its share, so that the next free run also has work');
  endTurn.shift()!();
  await turn();
  await turn();
  t.same(runs.slice(3), [['eeeee']]);
  while (endTurn.length > 0) {
    endTurn.shift()!();
    await turn();
    await turn();
  }
  t.same(
    await Promise.all(pending),
    [1, 2, 3, 'Error: it contains no number', 5],
    'an invalid query fails no other query',
  );
});

t.test('concurrent queries are divided among the allowed runs', async (t) => {
  const runs: (readonly string[])[] = [];
  const batcher = new QueryBatcher(
    async (texts) => {
      runs.push(texts);
      return { vectors: Float32Array.from(texts, Number), dimensions: 1 };
    },
    flushOnImmediate,
    3,
  );
  const vectors = await Promise.all(['1', '2', '3', '4', '5', '6', '7'].map((text) => batcher.embed(text)));
  t.same(runs, [['1', '2', '3'], ['4', '5', '6'], ['7']]);
  t.same(
    vectors.map(([component]) => component),
    [1, 2, 3, 4, 5, 6, 7],
  );
});
