import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey } from './server.ts';
import { joinSmallServer } from './small-server.ts';

/** Embedding and reranking over HTTP in three API dialects, and their limits. */

t.setTimeout(testFileMsMax);
const { server, api } = await joinSmallServer();
const administration = new CheckedApiClient(server, adminKey);
const minuteMs = 60_000;

const embed = (body: object, through: CheckedApiClient = api) =>
  through.call('models/embed', { model: 'zembed-1', input_type: 'document', ...body });

function numbers(embedding: number[] | string): Float32Array {
  if (typeof embedding !== 'string') return Float32Array.from(embedding);
  const bytes = Buffer.from(embedding, 'base64');
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0);
}

await t.test(
  'vectors have the requested dimensions and unit length, and both encodings are equal',
  async (t) => {
    const input = ['How long do refunds take?', 'Refunds are paid within 14 days.', 'Bananas are yellow.'];
    const full = (await embed({ input })).results.map(({ embedding }) => numbers(embedding));
    for (const dimensions of [2560, 1280, 640, 320, 160, 80, 40]) {
      const { results, usage } = await embed({ input, dimensions });
      t.equal(
        usage.total_bytes,
        input.reduce((sum, text) => sum + 150 + Buffer.byteLength(text), 0),
      );
      t.ok(usage.total_tokens > 0);
      const packed = (await embed({ input, dimensions, encoding_format: 'base64' })).results;
      for (const [i, { embedding }] of results.entries()) {
        const vector = numbers(embedding);
        t.equal(vector.length, dimensions);
        t.ok(Math.abs(dot(vector, vector) - 1) < 1e-4, 'unit length');
        t.same(numbers(packed[i]!.embedding), vector);
        const prefix = full[i]!.subarray(0, dimensions);
        const cosine = dot(vector, prefix) / Math.sqrt(dot(prefix, prefix));
        t.ok(cosine > 0.9999, 'a shortened vector is a prefix of the full one');
      }
    }
    const [question, answer, other] = await Promise.all([
      embed({ input: input[0], input_type: 'query' }),
      embed({ input: input[1] }),
      embed({ input: input[2] }),
    ]).then((replies) => replies.map(({ results }) => numbers(results[0]!.embedding)));
    t.ok(
      dot(question!, answer!) > dot(question!, other!),
      'an answer is more similar than an unrelated text',
    );
    t.notSame(question, full[0], 'the same text as query and as document differs');
    t.same(
      (await embed({ input })).results,
      (await embed({ input })).results,
      'a repeated call returns the same',
    );
    t.same(
      (await embed({ input: input[1] })).results[0]?.embedding,
      (await embed({ input: [input[0], input[1]] })).results[1]?.embedding,
      'a text has the same vector alone and in a batch',
    );
  },
);

await t.test('empty texts and empty lists are valid', async (t) => {
  t.same(await embed({ input: [] }), { results: [], usage: { total_bytes: 0, total_tokens: 0 } });
  t.equal((await embed({ input: '' })).usage.total_bytes, 150);
  t.equal((await embed({ input: ['', 'x', ''] })).results.length, 3);
  const rerank = (documents: string[], query = '') =>
    api.call('models/rerank', { model: 'zerank-1', query, documents });
  t.match(await rerank([]), { results: [], total_bytes: 0 });
  t.equal((await rerank(['', 'x'])).results.length, 2);
});

await t.test('a reranker orders by relevance, and a score does not depend on the other texts', async (t) => {
  const query = 'How long do refunds take?';
  const documents = ['Our office is in Oslo.', 'Refunds are paid within 14 days.', '', 'Bananas are yellow.'];
  for (const model of ['zerank-2', 'zerank-1', 'zerank-1-small']) {
    const all = await api.call('models/rerank', { model, query, documents });
    t.equal(all.results[0]?.index, 1, model);
    t.same(all.results.map(({ index }) => index).sort(), [0, 1, 2, 3]);
    const scores = all.results.map(({ relevance_score }) => relevance_score);
    t.same(
      scores,
      [...scores].sort((a, b) => b - a),
    );
    t.ok(scores.every((score) => score >= 0 && score <= 1));
    const bytes = documents.reduce((sum, text) => sum + 150 + query.length + text.length, 0);
    t.equal(all.total_bytes, bytes);
    t.equal(all.actual_latency_mode, 'fast');
    t.ok(all.inference_latency <= all.e2e_latency);
    for (const { index, relevance_score } of all.results) {
      const alone = await api.call('models/rerank', { model, query, documents: [documents[index]] });
      t.ok(
        Math.abs(alone.results[0]!.relevance_score - relevance_score) < 1e-5,
        'the score depends on the text only',
      );
    }
    const two = await api.call('models/rerank', { model, query, documents, top_n: 2 });
    t.same(two.results, all.results.slice(0, 2));
    t.equal((await api.call('models/rerank', { model, query, documents, top_n: 99 })).results.length, 4);
  }
});

await t.test('rerank without a model uses the default, and old model names are accepted', async (t) => {
  const body = { query: 'How long do refunds take?', documents: ['Oslo.', 'Refunds take 14 days.'] };
  const { results } = await api.call('models/rerank', { model: 'zerank-2', ...body });
  for (const model of [
    undefined,
    null,
    'zerank-1-large',
    'zerank-1-small',
    'zerank-2-small',
    'zerank-2-nano',
  ])
    t.same((await api.call('models/rerank', { model, ...body })).results, results, String(model));
  const unknown = await api.request('models/rerank', { model: 'zerank-9', ...body });
  t.match(unknown, { status: 404, body: { detail: /zerank-2, zerank-1, zerank-1-small\.$/ } });
});

await t.test('replies name the model and warn that it is not the model of the hosted service', async (t) => {
  const texts = ['Refunds take 14 days.'];
  const asQuery = { query: 'refunds', documents: texts };
  const calls = [
    ['models/embed', { model: 'zembed-1', input_type: 'query', input: texts }, 'zembed-1'],
    ['models/rerank', { model: 'zerank-2-nano', ...asQuery }, 'zerank-2', 'zerank-2-nano'],
    ['models/rerank', asQuery, 'zerank-2'],
    ['embeddings', { model: 'zembed-1', input: texts }, 'zembed-1'],
    ['rerank', { model: 'zerank-1', ...asQuery }, 'zerank-1'],
  ] as const;
  for (const [path, body, served, name = served] of calls) {
    const { status, headers } = await api.request(path, body);
    t.equal(status, 200, path);
    t.equal(headers.get('x-quarry-model'), `${served}@built-in-1`, path);
    t.equal(
      headers.get('x-quarry-warnings'),
      `${name} is a built-in model of Quarry, not the model of the hosted service with this name`,
    );
  }
  const { headers } = await api.request('models/embed', { model: 'x', input_type: 'query', input: texts });
  t.same([headers.get('x-quarry-model'), headers.get('x-quarry-warnings')], [null, null], 'an error');
});

await t.test('OpenAI and Cohere clients get the same results in their own formats', async (t) => {
  const input = ['Refunds are paid within 14 days.', 'Oslo'];
  const ours = await embed({ input });
  const theirs = await api.call('embeddings', { model: 'zembed-1', input });
  t.same(
    theirs.data.map(({ embedding }) => embedding),
    ours.results.map(({ embedding }) => embedding),
  );
  t.match(theirs, { object: 'list', model: 'zembed-1', data: [{ index: 0 }, { index: 1 }] });
  t.equal(theirs.usage.total_tokens, ours.usage.total_tokens);
  const packed = await api.call('embeddings', {
    model: 'zembed-1',
    input: input[0],
    encoding_format: 'base64',
    dimensions: 80,
  });
  t.equal(numbers(packed.data[0]!.embedding).length, 80);
  const ranked = await api.call('models/rerank', { model: 'zerank-2', query: 'refunds', documents: input });
  const cohere = await api.call('rerank', {
    model: 'zerank-2',
    query: 'refunds',
    documents: [input[0], { text: input[1] }],
    return_documents: true,
  });
  t.same(
    cohere.results.map(({ index, relevance_score }) => ({ index, relevance_score })),
    ranked.results,
  );
  t.same(cohere.results[0]?.document, { text: input[0] });
  const bare = await api.call('rerank', { model: 'zerank-2', query: 'refunds', documents: input, top_n: 1 });
  t.equal(bare.results.length, 1);
  t.equal(bare.results[0]?.document, undefined);
});

await t.test('more than 5,000,000 charged bytes are rejected, regardless of the limits', async (t) => {
  const half = 'x'.repeat(2_499_851);
  const body = { model: 'zembed-1', input_type: 'document', input: [half, half] };
  const reply = await api.request('models/embed', body);
  t.equal(reply.status, 413);
  t.match(reply.body, { detail: /5,?000,?002.*5,?000,?000/ });
  const documents = Array(2_000).fill('y'.repeat(1_000));
  const rerank = { model: 'zerank-2', query: 'z'.repeat(1_400), documents };
  t.equal(await api.status('models/rerank', rerank), 413, 'the query counts once for each document');
});

/** Client with a key of a new organization that has the given overrides. */
async function organization(id: string, overrides: object): Promise<CheckedApiClient> {
  const organization_id = `00000000-0000-4000-8000-${id.padStart(12, '0')}`;
  await administration.call('admin/create-organization', { organization_id });
  await administration.call('admin/update-organization', { organization_id, ...overrides });
  const { api_key } = await administration.call('admin/add-api-key', {
    organization_id,
    name: 'limited',
    permission: 'all',
  });
  return new CheckedApiClient(server, api_key);
}

const costing = (bytes: number) => 'x'.repeat(bytes - 150);

await t.test('a call above the fast limit runs slow, or is rejected with the waiting time', async (t) => {
  const limited = await organization('1', { override_bpm_fast: 1_000, override_bpm_slow: 4_000 });
  const ask = (bytes: number, latency?: string) =>
    limited.request('models/rerank', {
      model: 'zerank-2',
      query: '',
      documents: [costing(bytes)],
      ...(latency === undefined ? {} : { latency }),
    });
  const modes: unknown[] = [];
  for (const _ of [1, 2, 3]) {
    modes.push(((await ask(600)).body as { actual_latency_mode: string }).actual_latency_mode);
  }
  t.same(modes, ['fast', 'slow', 'slow'], 'fast up to the limit, then slow');
  const fast = await ask(600, 'fast');
  t.equal(fast.status, 429);
  t.match(fast.body, { detail: /fast/ });
  t.ok(Number(fast.headers.get('retry-after')) <= minuteMs / 1_000);
  t.ok(Number(fast.headers.get('retry-after-ms')) <= minuteMs);
  const small = await ask(300, 'fast');
  t.match(small.body, { actual_latency_mode: 'fast' }, 'a call that still fits runs fast');
  const slow = await ask(600, 'slow');
  t.match(slow.body, { actual_latency_mode: 'slow' });
  const never = await ask(4_500);
  t.equal(never.status, 429, 'a call above the whole limit never fits');
  const other = await embed({ input: costing(900), latency: 'fast' }, limited);
  t.equal(other.usage.total_bytes, 900, 'embedding has a separate limit');
  t.equal(
    (
      await api.request('models/embed', {
        model: 'zembed-1',
        input_type: 'query',
        input: costing(900_000),
        latency: 'fast',
      })
    ).status,
    200,
    'the first organization has no limits',
  );
});

await t.test(
  'a rejected call names the limit and is not charged; a raised limit applies at once',
  async (t) => {
    const limited = await organization('2', { override_bpm_fast: 1_000, override_bpm_slow: 1_000 });
    const ask = () =>
      limited.request('models/embed', {
        model: 'zembed-1',
        input_type: 'query',
        input: costing(900),
        latency: 'fast',
      });
    t.equal((await ask()).status, 200);
    for (let i = 0; i < 3; i++) {
      const refused = await ask();
      t.equal(refused.status, 429);
      t.match(refused.body, { detail: /1,000|bytes/ });
    }
    const queries = await limited.request('collections/add-collection', { collection_name: 'c' });
    t.equal(queries.status, 201);
    await limited.add('c', 'd', costing(5_000));
    t.same(await limited.find('c', 'x'), ['d'], 'documents and queries do not count against it');
    const organization_id = '00000000-0000-4000-8000-000000000002';
    await administration.call('admin/update-organization', { organization_id, override_bpm_fast: 50_000 });
    t.equal((await ask()).status, 200);
    const largest = { organization_id, override_max_bytes_per_request: 500 };
    await administration.call('admin/update-organization', largest);
    t.equal((await ask()).status, 413, 'the size of one call has an override too');
  },
);

await t.test('rerank requests are counted, embed requests are not', async (t) => {
  const limited = await organization('3', { subscription_tier: 'free' });
  const ask = (latency?: string) =>
    limited.request('models/rerank', { model: 'zerank-2', query: '', documents: ['x'], latency });
  // A new 15-second window that starts meanwhile admits ten more.
  const replies = await Promise.all(Array.from({ length: 55 }, () => ask('fast')));
  const served = replies.filter(({ status }) => status === 200).length;
  t.ok(served >= 40 && served < 55, `${served} of 55 were served`);
  let refused = await ask('fast');
  for (let more = 0; more < 10 && refused.status === 200; more += 1) refused = await ask('fast');
  t.equal(refused.status, 429);
  t.match(refused.body, { detail: /requests per minute/ });
  t.match((await ask()).body, { actual_latency_mode: 'slow' }, 'without a latency the call runs slow');
  for (let i = 0; i < 50; i++) await embed({ input: 'x', latency: 'fast' }, limited);
});

await t.test('usage is reported by time window and in total', async (t) => {
  const now = Math.floor(Date.now() / 1_000);
  const span = { start_time: now - 3_600, end_time: now + 3_600, aggregation_window: 'hourly' };
  const probe = async () => ({
    embed: (await api.call('usage/models/embed', span)).filter(({ explicit_call }) => explicit_call),
    rerank: (await api.call('usage/models/reranker', span)).filter(({ explicit_call }) => explicit_call),
    models: await api.call('usage/models/counters'),
    counters: await api.call('usage/counters'),
    documents: await api.call('usage/documents', span),
    queries: await api.call('usage/queries', span),
  });
  const used = await probe();
  const calls = used.embed.reduce((sum, { event_count }) => sum + event_count, 0);
  t.ok(calls > 20, `${calls} calls of embed`);
  t.equal(used.models.all_time.embed.count >= calls, true);
  t.ok(used.rerank.length > 0);
  t.same(used.documents, [], 'this organization has no documents');
  t.same(used.counters.all_time.queries.count, 0);
});
