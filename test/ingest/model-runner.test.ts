import { AppError } from '../../src/core/app-error.ts';
import { type BuiltInReranker, type ModelDirectory, ModelRunner } from '../../src/ingest/model-runner.ts';
import type { RunOptions } from '../../src/ingest/pools.ts';
import type { InstalledModel, LocalReranker } from '../../src/models/local-model.ts';
import type { EmbedTask, RerankTask } from '../../src/models/registry.ts';
import t from '../support/tap.ts';
import { builtInModels } from './built-in-models.ts';

const taskUnitsMax = 64_000;

const addedReranker: InstalledModel<LocalReranker> = {
  model: {
    format: 1,
    id: 'added',
    version: '1',
    graph: 'model.onnx',
    output: 'logits',
    tokensMax: 512,
    source: 'test',
    kind: 'reranker',
    head: 'one-logit',
    question: null,
  },
  folder: '/models/added',
  inferenceOptions: { threads: 1, batchTokens: 16_000, executionProviders: ['cpu'] },
};

/** Models that reply with the length of each text. */
function setup() {
  const tasks: {
    readonly units: number;
    readonly texts: number;
    readonly priority: RunOptions['priority'];
  }[] = [];
  const builtInPriorities: string[] = [];
  const answer = (texts: readonly string[], options: RunOptions | undefined) => {
    const units = texts.reduce((sum, text) => sum + text.length, 0);
    tasks.push({ units, texts: texts.length, priority: options?.priority });
    return { tokens: texts.length, inferenceMs: 1 };
  };
  const embed = {
    run: async <Result>(task: object, options?: RunOptions) => {
      const { texts } = task as EmbedTask;
      const vectors = Float32Array.from(texts.flatMap((text) => [text.length, 1]));
      return { ...answer(texts, options), vectors, dimensions: 2 } as Result;
    },
  };
  const rerank = {
    run: async <Result>(task: object, options?: RunOptions) => {
      const { documents } = task as RerankTask;
      const scores = Float32Array.from(documents, (text) => text.length);
      return { ...answer(documents, options), scores } as Result;
    },
  };
  const builtIn: BuiltInReranker = {
    scoreAt: async (priority, _query, documents) => {
      builtInPriorities.push(priority);
      return {
        scores: Float32Array.from(documents, (text) => text.length),
        queryTokens: 1,
        documentTokens: documents.length,
        ms: 1,
      };
    },
  };
  const directory: ModelDirectory = {
    ...builtInModels,
    getReranker: (id) => ({ id, version: '1', backend: id === 'added' ? addedReranker : 'built-in' }),
  };
  const runner = new ModelRunner({ embed, rerank }, builtIn, directory, () => {});
  return { runner, tasks, builtInPriorities };
}

const sizes = [0, 10, 63_990, 1, 200_000, 5, 40_000, 40_000, 3];
const texts = sizes.map((size) => 'x'.repeat(size));

t.test(
  'a long list is split for interactive work in between, and returned complete and in order',
  async (t) => {
    const { runner, tasks } = setup();
    const embedded = await runner.embed(texts, 'document', { model: 'letters', priority: 'ingest' });
    t.same(
      [...embedded.vectors].filter((_, i) => i % 2 === 0),
      sizes,
    );
    t.match(embedded, { dimensions: 2, tokens: sizes.length, inferenceMs: tasks.length });
    for (const { units, texts: count, priority } of tasks) {
      t.ok(units <= taskUnitsMax || count === 1, `${count} texts of ${units} characters`);
      t.equal(priority, 'ingest');
    }
    const embedTasks = tasks.length;
    const ranked = await runner.rerank('added', 'query', texts, { priority: 'query' });
    t.same([...ranked.scores], sizes);
    t.ok(tasks.length > embedTasks + 1);
  },
);

t.test('a built-in reranker gets all documents in one call', async (t) => {
  const { runner, tasks, builtInPriorities } = setup();
  const ranked = await runner.rerank('zerank-2', 'query', texts, { priority: 'fast' });
  t.same([...ranked.scores], sizes);
  t.equal(ranked.tokens, sizes.length + 5, 'the query counts once per 64,000 characters');
  await runner.rerank('zerank-2', 'query', texts, { priority: 'slow' });
  t.same(builtInPriorities, ['urgent', 'background']);
  t.same(await runner.measureRelevance('query', ['ab', 'abc']), Float32Array.of(2, 3));
  t.same(tasks, []);
});

t.test('a failed query names the model, other callers get the cause', async (t) => {
  const failure = new Error('the graph is broken');
  const pool = { run: () => Promise.reject(failure) };
  const reported: unknown[] = [];
  const failing = { scoreAt: () => Promise.reject(failure) };
  const runner = new ModelRunner({ embed: pool, rerank: pool }, failing, builtInModels, (model, error) => {
    reported.push([model, error]);
  });
  const away = { name: 'AppError', model: 'mine', reason: 'the model run failed' };
  await t.rejects(runner.embed(['a'], 'query', { model: 'mine', priority: 'query' }), away);
  await t.rejects(runner.rerank('mine', 'a', ['b'], { priority: 'query' }), away);
  t.same(reported, [
    ['mine', failure],
    ['mine', failure],
  ]);
  await t.rejects(runner.embed(['a'], 'document', { model: 'mine', priority: 'ingest' }), failure);
  const busy = new AppError('unavailable', 'The server is busy.');
  const full = { run: () => Promise.reject(busy) };
  const crowded = new ModelRunner({ embed: full, rerank: full }, { scoreAt: full.run }, builtInModels, () =>
    t.fail('not an error of a model'),
  );
  await t.rejects(crowded.rerank('mine', 'a', ['b'], { priority: 'query' }), busy);
  t.equal(await crowded.measureRelevance('a', ['b']), null);
  await t.rejects(runner.measureRelevance('a', ['b']), failure);
});

t.test('an empty list runs no model', async (t) => {
  const { runner, tasks } = setup();
  const nothing = await runner.embed([], 'query', { model: 'letters', priority: 'query' });
  t.match(nothing, { dimensions: 0, tokens: 0 });
  t.equal(nothing.vectors.length, 0);
  t.same(tasks, []);
});
