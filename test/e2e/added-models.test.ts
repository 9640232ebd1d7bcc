import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runQuarry } from '../cli/quarry.ts';
import {
  buildGraph,
  embeddingWidth,
  floatTensor,
  tokenVectorsGraph,
  vectorComponent,
  vocabulary,
  weightedTokensGraph,
  writeModelFolder,
} from '../models/model-folder-fixtures.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';
import { createTenant } from './tenant.ts';

/** Models installed from files with the command line and used by a server. */

t.setTimeout(testFileMsMax);

function createDataFolder(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-added-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'data');
}

const weights = vocabulary.map((word) => (word === 'gull' ? 3 : -1));

/** Server with the added models `letters` and `judge` as defaults and under aliases, and three notes. */
async function startWithAddedModels() {
  const data = createDataFolder(t);
  const variables = { QUARRY_DATA: data };
  const letters = writeModelFolder(
    t,
    { 'model.onnx': null, 'onnx/model.onnx': tokenVectorsGraph() },
    'letters',
  );
  await runQuarry(['models', 'add', letters], { variables });
  await runQuarry(
    ['models', 'add', writeModelFolder(t, { 'model.onnx': weightedTokensGraph(weights) }, 'judge')],
    {
      variables,
    },
  );
  const server = await TestServer.start(t, {
    DATA: data,
    EMBEDDING_MODEL: 'letters',
    RERANKER: 'judge',
    MODEL_ALIASES: 'zerank-2=judge,zembed-1=letters',
  });
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  const notes = { 'a.txt': 'salt herring barrel', 'b.txt': 'tide gull', 'c.txt': 'yes no' };
  await api.addAll(
    'notes',
    Object.entries(notes).map(([path, text]) => ({ path, content: { type: 'text', text } })),
  );
  return { data, variables, letters, server, api };
}

const { data, variables, letters, server, api } = await startWithAddedModels();

/** Organization that uses models that were added while the server ran, and that are removed after its restart. */
const reloading = await createTenant(server);
const runModels = (...words: string[]) => runQuarry(['models', ...words], { variables });
const signsFolder = writeModelFolder(t, {}, 'signs');

t.test('the command line adds, lists, tests and removes models, as text and as JSON', async (t) => {
  const data = createDataFolder(t);
  const variables = { QUARRY_DATA: data };
  const run = (...commandLineArguments: string[]) =>
    runQuarry(['models', ...commandLineArguments], { variables });
  t.match(await run('list'), { code: 0, err: /No custom models/ });
  const folder = writeModelFolder(t, {}, 'letters');
  t.match(await run('add', folder), {
    code: 0,
    out: /Added the embedding model letters: 6 dimensions, pooling mean, 32 tokens/,
  });
  t.match(await run('add', folder), { code: 1, err: /A model named letters already exists/ });
  t.match(await run('add', writeModelFolder(t, { 'model.onnx': 'no graph' })), {
    code: 2,
    err: /model\.onnx cannot be loaded/,
  });
  t.match(await run('add', join(data, 'nowhere')), { code: 1, err: /config\.json is missing/ });
  t.match(await run('add', folder, '--name', 'cut', '--dimensions', 'x'), {
    code: 2,
    err: /--dimensions is "x"/,
  });
  const rerankerFolder = await run(
    'add',
    writeModelFolder(t, { 'model.onnx': weightedTokensGraph(weights) }),
    '--name',
    'judge',
    '--json',
  );
  t.match(JSON.parse(rerankerFolder.out), { id: 'judge', kind: 'reranker', head: 'one-logit' });
  t.match((await run('list')).out, /letters +embedding +6 +mean +32 [^\n]+/);
  t.match(JSON.parse((await run('list', '--json')).out), { models: [{ id: 'judge' }, { id: 'letters' }] });
  const tried = await run('test', 'letters', '--query', 'gull', 'gull', 'salt herring');
  t.match(tried, {
    code: 0,
    out: /^ +score +text\n1\.0000 +gull\n0\.\d{4} +salt herring\n\d+ tokens in [\d.]+ ms/m,
  });
  t.match(await run('test', 'judge', '--json'), { code: 0, out: /"scores":\[/ });
  t.match(await run('remove', 'letters'), { code: 2, err: /--yes/ });
  t.match(await run('remove', 'letters', '--yes'), { code: 0, out: /Removed letters/ });
  t.match(await run('remove', 'letters', '--yes'), {
    code: 1,
    err: /No custom model is named "letters"\. Custom models: judge/,
  });
});

t.test('a server embeds and reranks with added models, also under aliases', async (t) => {
  for (const precise of [false, true]) {
    const body = {
      collection_name: 'notes',
      query: 'salt tide',
      k: 3,
      explain: true,
      precise_responses: precise,
    };
    const found = (await api.call('queries/top-snippets', body)) as {
      results: { path: string; explain?: { vector: { similarity: number | null }; rerank: number } }[];
    };
    t.match(found.results[0], { path: 'b.txt' }, 'the reranker places gulls first');
    t.ok(found.results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
  }
  for (const [model, length] of [
    ['letters', embeddingWidth],
    ['zembed-1', 2_560],
  ] as const) {
    const { data: vectors } = await api.call('embeddings', { model, input: ['gull', 'x'.repeat(5_000)] });
    t.same(
      vectors.map(({ embedding }) => embedding.length),
      [length, length],
    );
  }
  const ranked = await api.call('models/rerank', {
    model: 'judge',
    query: 'q',
    documents: ['salt', 'gull', ''],
  });
  t.equal(ranked.results[0]?.index, 1);
  const listed = await api.call('models/get-model-list');
  t.match(listed, { default_embedding_model: 'letters', default_reranker: 'judge' });
  t.equal(listed.models, undefined);
  const detailed = await api.call('models/get-model-list', { include_details: true });
  const details = Object.fromEntries((detailed.models ?? []).map((model) => [model.id, model]));
  t.match(details.letters, {
    kind: 'embedding',
    source: 'added',
    dimensions: embeddingWidth,
    is_default: true,
    is_available: true,
  });
  t.ok(details.letters?.collection_names.includes('notes'));
  t.ok((details.letters?.latency?.calls ?? 0) > 0);
  t.match(details.judge, { kind: 'reranker', source: 'added', dimensions: null, is_default: true });
  t.ok((details.judge?.latency?.p50_ms ?? 0) > 0);
  t.match(details['zerank-2'], { kind: 'reranker', source: 'built-in', collection_names: [] });
  t.ok(['letters', 'zembed-1'].every((name) => listed.embedding_models.includes(name)));
  t.ok(['judge', 'zerank-2'].every((name) => listed.rerankers.includes(name)));
  t.match(await (await fetch(`${server.url}/readyz`)).json(), {
    components: { models: { detail: 'new collections use letters; custom models: letters, judge' } },
  });
});

t.test('a running server reloads added models, and those in use are not removed', async (t) => {
  const { api } = reloading;
  const create = (embedding_model: string) =>
    api.request('collections/add-collection', { collection_name: 'notes', embedding_model });
  t.equal((await create('signs')).status, 404);
  t.match(await runModels('add', signsFolder), { code: 0, out: /A running server reloads its models/ });
  const arbiter = writeModelFolder(t, { 'model.onnx': weightedTokensGraph(weights) }, 'arbiter');
  t.match(await runModels('add', arbiter), { code: 0 });
  await waitUntil(
    'the model is known',
    async () => (await api.request('embeddings', { model: 'signs', input: 'gull' })).status === 200,
  );
  t.equal((await create('signs')).status, 201);
  await api.add('notes', 'a.txt', 'salt herring');
  await api.add('notes', 'b.txt', 'gull');
  const ask = { collection_name: 'notes', query: 'gull', k: 2, reranker: 'arbiter', explain: true };
  await waitUntil(
    'the reranker is known',
    async () => (await api.request('queries/top-snippets', ask)).status === 200,
  );
  t.match(await api.call('queries/top-snippets', ask), {
    results: [{ path: 'b.txt', explain: { vector: { similarity: Number }, rerank: Number } }, {}],
  });
  t.match(await runModels('remove', 'arbiter', '--yes'), { code: 0 });
  await waitUntil(
    'the reranker is removed',
    async () => (await api.request('queries/top-snippets', ask)).status === 404,
  );
  await waitUntil(
    'the use of the model is recorded',
    async () => (await runModels('remove', 'signs', '--yes')).code === 1,
  );
  t.match(await runModels('remove', 'signs', '--yes'), {
    code: 1,
    err: /is in use: one collection uses its vectors\. .*change-model.*--force/,
  });
});

t.test('queries of a collection whose model is removed or damaged get a warning', async (t) => {
  await runQuarry(['models', 'remove', 'letters', '--yes', '--force'], { variables });
  await server.restart({ EMBEDDING_MODEL: '', MODEL_ALIASES: '' });
  const without = { collection_name: 'notes', query: 'salt', k: 1, reranker: null };
  const reply = (await api.call('queries/top-snippets', without)) as {
    results: object[];
    warnings?: string[];
  };
  t.match(reply, {
    results: [{ path: 'a.txt' }],
    warnings: [/from lexical search only.*letters.*not configured on this server/],
  });
  await runQuarry(['models', 'add', letters], { variables });
  await waitUntil('the same files have the same version', async () => {
    const again = (await api.call('queries/top-snippets', without)) as { warnings?: string[] };
    return again.warnings === undefined;
  });
  rmSync(join(data, 'models', 'judge', 'model.onnx'));
  const judged = (await api.call('queries/top-snippets', { ...without, reranker: 'judge' })) as {
    warnings?: string[];
  };
  t.match(judged.warnings, [/not reranked, because the model "judge" is unavailable: the model run failed/]);
  // The log line arrives independently of the reply.
  const logged = /"model":"judge","error":\{"name":"Error","message":"[^"]*model\.onnx cannot be loaded/;
  await waitUntil('the log event', () => logged.test(server.log));
});

t.test('a model that was used before a restart is removed, replaced and added again', async (t) => {
  const { api } = reloading;
  t.match(await runModels('remove', 'signs', '--yes', '--force'), { code: 0 });
  const without = { collection_name: 'notes', query: 'gull', k: 2, reranker: null };
  const warned = async () =>
    ((await api.call('queries/top-snippets', without)) as { warnings?: string[] }).warnings !== undefined;
  await waitUntil('the results come from lexical search only', warned);
  t.match(await runModels('add', signsFolder, '--dimensions', '4'), { code: 0 });
  await waitUntil('vectors of another version are complete', async () => !(await warned()));
  await api.call('collections/delete-collection', { collection_name: 'notes' });
  await waitUntil(
    'the model can be removed',
    async () => (await runModels('remove', 'signs', '--yes')).code === 0,
  );
});

t.test('a text on which a model fails gets an error, and other texts of the batch succeed', async (t) => {
  const table = vocabulary.flatMap((word, id) =>
    Array.from({ length: embeddingWidth }, (_, i) =>
      word === 'barrel' ? Number.NaN : vectorComponent(id, i),
    ),
  );
  const graph = buildGraph({
    constants: [floatTensor('table', [vocabulary.length, embeddingWidth], table)],
    nodes: [{ operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['last_hidden_state'] }],
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', embeddingWidth] }],
  });
  await runModels('add', writeModelFolder(t, { 'model.onnx': graph }, 'brittle'));
  const { api } = await createTenant(server);
  const notes = { collection_name: 'notes', embedding_model: 'brittle' };
  await waitUntil(
    'the model is known',
    async () => (await api.request('collections/add-collection', notes)).status === 201,
  );
  for (const text of ['salt', 'gull', 'tide'])
    t.match(await api.add('notes', text, text), { index_status: 'indexed' });
  t.match(await api.add('notes', 'barrel', 'barrel'), {
    index_status: 'indexing_failed',
    error: /^The model "brittle" failed: output "last_hidden_state" has a vector that cannot be normalized/,
  });
  const failed = await api.request('embeddings', { model: 'brittle', input: ['gull', 'barrel'] });
  t.equal(failed.status, 503);
  t.match(failed.body, { detail: /^The model "brittle" failed: output "last_hidden_state"/ });
  const queries = Array.from({ length: 40 }, (_, i) => (i % 5 === 0 ? `barrel ${i}` : `gull ${i}`));
  const replies = await Promise.all(
    queries.map((query) =>
      api.call('queries/top-snippets', { collection_name: 'notes', query, k: 3, reranker: null }),
    ),
  );
  replies.forEach((reply, i) => {
    const { warnings } = reply as { warnings?: string[] };
    t.equal(warnings !== undefined, queries[i]!.startsWith('barrel'), queries[i]!);
  });
});
