import { ModelRunner } from '../../src/ingest/model-runner.ts';
import { Pool } from '../../src/ingest/pools.ts';
import { QueryEmbedder } from '../../src/ingest/query-embedder.ts';
import { openBuiltInEmbedder } from '../../src/models/registry.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { builtInModels, unusedReranker } from './built-in-models.ts';

/** Embedder whose vectors are the lengths of the texts; records the texts run inline and in the pool. */
function createEmbedder(fields: { bytesMax?: number; inlineUnitsMax?: number } = {}) {
  const runs = { inline: [] as string[][], pooled: [] as string[][] };
  const vectorsOf = (texts: readonly string[]) => Float32Array.from(texts, (text) => text.length);
  const embedder = new QueryEmbedder({
    inline: {
      embedSync: (texts) => {
        runs.inline.push([...texts]);
        if (texts.includes('broken')) throw new Error('the model is unavailable');
        return { vectors: vectorsOf(texts), tokens: 1 };
      },
    },
    embedInPool: async (texts, model) => {
      runs.pooled.push([...(model === 'small' ? [] : [model]), ...texts]);
      if (texts.includes('broken')) throw new Error('the service is unavailable');
      return { vectors: vectorsOf(texts), dimensions: 1 };
    },
    inlineModel: 'small',
    inlineUnitsMax: 10,
    bytesMax: 100_000,
    ...fields,
  });
  const embed = async (text: string, collectionId = 'mine', shared = false, model = 'small') =>
    (await embedder.embed({ model, collectionId, text, shared }))[0];
  return { runs, embedder, embed };
}

t.test('short queries run in this thread at once; long ones run in the pool', async (t) => {
  const { runs, embed } = createEmbedder();
  const texts = ['a', 'bb', 'x'.repeat(11), 'ccc'];
  t.same(await Promise.all(texts.map((text) => embed(text))), [1, 2, 11, 3]);
  t.same(runs, { inline: [['a'], ['bb'], ['ccc']], pooled: [['x'.repeat(11)]] });
});

t.test('long queries that can be batched share one pool task', async (t) => {
  const { runs, embed } = createEmbedder();
  const texts = ['x'.repeat(11), 'y'.repeat(12)];
  t.same(await Promise.all(texts.map((text) => embed(text, 'mine', true))), [11, 12]);
  t.same(runs, { inline: [], pooled: [texts] });
});

t.test('another model runs in the pool and has its own cached vectors', async (t) => {
  const { runs, embed } = createEmbedder();
  t.equal(await embed('a'), 1);
  t.equal(await embed('a', 'mine', false, 'large'), 1);
  t.same(
    await Promise.all([embed('bb', 'mine', true, 'large'), embed('ccc', 'mine', true, 'large')]),
    [2, 3],
  );
  t.same(runs, {
    inline: [['a']],
    pooled: [
      ['large', 'a'],
      ['large', 'bb', 'ccc'],
    ],
  });
});

t.test('a vector from the pool is cached for its collection only', async (t) => {
  const { runs, embed } = createEmbedder();
  const ask = (collection: string) => embed('question', collection, false, 'large');
  t.equal(await ask('mine'), 8);
  t.equal(await ask('mine'), 8);
  t.equal(runs.pooled.length, 1);
  t.equal(await ask('theirs'), 8);
  t.equal(runs.pooled.length, 2, 'the response time reveals nothing about other collections');
});

t.test('the vector cache stays within its memory limit, which may be 0', async (t) => {
  for (const bytesMax of [0, 2_000]) {
    const { embedder, embed } = createEmbedder({ bytesMax });
    for (let i = 0; i < 50; i += 1) {
      t.equal(await embed(`text ${i}`, 'mine', false, 'large'), `text ${i}`.length);
      t.ok(embedder.bytes <= bytesMax);
    }
    t.equal(embedder.bytes > 0, bytesMax > 0);
  }
});

t.test('a failure rejects all waiting callers and is not cached', async (t) => {
  const { runs, embed } = createEmbedder();
  for (let i = 0; i < 2; i += 1) {
    await t.rejects(embed('broken'), /the model is unavailable/);
    await t.rejects(embed('broken', 'mine', false, 'large'), /the service is unavailable/);
  }
  t.equal(runs.inline.length, 2);
  t.equal(runs.pooled.length, 2);
});

t.test('a query has the same vector bit for bit in any thread and any batch', async (t) => {
  const random = createTestRandom();
  const words = [
    'refund',
    'The',
    'straße',
    '東京',
    'naïve',
    '42',
    '🐟',
    'x-ray',
    'unbelievable',
    'zzqq',
    '\ud800',
  ];
  const texts = Array.from({ length: 200 }, () =>
    Array.from({ length: random.below(12) }, () => words[random.below(words.length)]).join(' '),
  );
  const pool = new Pool({ name: 'embed', threads: 1, queueTasksMax: 1_000 });
  t.teardown(() => pool.close());
  const models = new ModelRunner({ embed: pool, rerank: pool }, unusedReranker, builtInModels, () => {});
  const model = await openBuiltInEmbedder('zembed-1');
  t.teardown(() => model.close());
  const pooled = (all: readonly string[]) =>
    models.embed(all, 'query', { model: 'zembed-1', priority: 'query' });
  const embedder = new QueryEmbedder({
    inline: model,
    inlineModel: 'zembed-1',
    inlineUnitsMax: 1_000,
    embedInPool: pooled,
    bytesMax: 0,
  });
  const inline = await Promise.all(
    texts.map(async (text) =>
      embedder.embed({ model: 'zembed-1', collectionId: 'mine', text, shared: false }),
    ),
  );
  for (const [i, text] of texts.entries()) {
    const { vectors } = await pooled([text]);
    if (Buffer.compare(Buffer.from(vectors.buffer), Buffer.from(inline[i]!.buffer)) !== 0)
      t.fail(`the vectors of ${JSON.stringify(text)} differ (seed ${random.seed})`);
  }
  t.equal(inline.length, texts.length);
});
