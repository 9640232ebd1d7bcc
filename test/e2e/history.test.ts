import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { queryOperations } from './library-fixture.ts';
import { TestServer } from './server.ts';
import { createClient, createTenant } from './tenant.ts';

/** Queries of earlier moments, on a server whose clock is moved. */

t.setTimeout(testFileMsMax);
const dayMs = 86_400_000;
let offsetMs = 0;
const server = await TestServer.start(t, {}, { clockOffsetMs: () => offsetMs });
const { api, organization_id } = await createTenant(server);
const collection_name = 'contracts';
const now = () => new Date(Date.now() + offsetMs).toISOString();

interface RecordedAnswers {
  readonly at: string;
  readonly moment: string;
  readonly answers: unknown;
}
const moments: RecordedAnswers[] = [];

async function moveClock(days: number): Promise<void> {
  offsetMs += days * dayMs;
  await server.syncClock();
}

const add = (path: string, text: string, author: string) =>
  api.add(collection_name, path, text, { metadata: { author }, overwrite: true });

async function setAuthor(path: string, author: string): Promise<void> {
  await api.call('documents/update-document', { collection_name, path, metadata: { author } });
  await waitUntil('the metadata is indexed', async () => {
    const { index_status: status } = await api.info(collection_name, path);
    return status === 'indexed';
  });
}

const remove = (path: string, fields: object = {}) =>
  api.status('documents/delete-document', { collection_name, path, ...fields });

type Row = Readonly<Record<string, unknown>>;

/** Reply with the fields of histories, which the published shapes do not have. */
interface ExplainedReply {
  readonly results: readonly { readonly path: string; readonly explain?: { readonly version?: unknown } }[];
  readonly explain: { readonly moment?: string | null; readonly past?: unknown };
}

async function explain(operation: string, fields: object, client = api): Promise<ExplainedReply> {
  const { status, body } = await client.request(operation, { k: 10, explain: true, ...fields });
  t.equal(status, 200, JSON.stringify(body));
  return body as ExplainedReply;
}

/** Results of every kind of query, without their order, scores and URLs. */
async function readAnswers(as_of: unknown = null, client = api): Promise<unknown> {
  const answers: unknown[] = [];
  const common = { collection_name, k: 100, as_of };
  const requests = [
    ['queries/top-documents', { query: null, include_metadata: true }],
    ['queries/top-documents', { query: 'granite contract', include_metadata: true, facets: ['author'] }],
    ['queries/top-documents', { query: null, filter: { author: 'Ada' }, sort: [{ field: 'author' }] }],
    ['queries/top-pages', { query: 'granite contract', include_content: true }],
    ['queries/top-snippets', { query: 'granite contract', highlights: true }],
    ['queries/top-snippets', { query: 'granite', precise_responses: true }],
    ['queries/top-snippets', { query: 'granite "delivery terms"', syntax: 'operators' }],
    ['queries/top-snippets', { query: 'marble', latency_mode: 'high', filter: { author: { $ne: 'Ada' } } }],
  ] as const;
  for (const [operation, fields] of requests) {
    const reply = await client.request(operation, { ...common, ...fields });
    if (reply.status !== 200) return reply.body;
    const { results, facets } = reply.body as { results: Row[]; facets?: unknown };
    const rows = results.map(({ score: _score, file_url: _url, ...row }) => JSON.stringify(row));
    answers.push([rows.sort(), facets]);
  }
  return answers;
}

/** Records the answers of the present, and checks that they do not depend on as_of. */
async function recordMoment(t: Test): Promise<void> {
  const { moment } = (await explain('queries/top-snippets', { collection_name, query: 'granite' })).explain;
  const answers = await readAnswers();
  moments.push({ at: now(), moment: String(moment), answers });
  // The next change is in another millisecond.
  await sleep(5);
  t.same(await readAnswers(moment), answers);
}

async function checkMoments(t: Test): Promise<void> {
  for (const { at, moment, answers } of moments) {
    t.same(await readAnswers(at), answers, at);
    t.same(await readAnswers(moment), answers, at);
  }
}

await t.test('history_days is a setting of a collection', async (t) => {
  for (const history_days of [0, -1, 3_651])
    t.equal(await api.status('collections/add-collection', { collection_name, history_days }), 400);
  await api.call('collections/add-collection', { collection_name, history_days: 30 });
  const { collection } = await api.call('collections/get-collection-info', { collection_name });
  t.match(collection, { history_days: 30 });
});

await t.test('each moment has the answers that it had', async (t) => {
  const steps = [
    () => add('a', 'The granite contract has delivery terms of ten days.', 'Ada'),
    () => add('b', 'The marble contract has delivery terms of thirty days.', 'Ada'),
    () => add('c', 'Granite is quarried in the north.', 'Grace'),
    () => add('a', 'The granite contract was canceled.', 'Ada'),
    () => setAuthor('b', 'Grace'),
    () => remove('c'),
    () => setAuthor('b', 'Ada'),
    () => add('c', 'Granite and marble delivery terms: two days.', 'Ada'),
    () => remove('b'),
    () => add('b', 'The marble contract is new.', 'Grace'),
  ];
  for (const step of steps) {
    await step();
    await recordMoment(t);
  }
  await checkMoments(t);
});

await t.test('explain names the version of each result and the changes since', async (t) => {
  const { at } = moments[2]!;
  for (const operation of queryOperations) {
    const reply = await explain(operation, { collection_name, query: 'granite', as_of: at });
    t.match(reply.explain, { moment: String, past: { num_restored_versions: 3, num_hidden_versions: 3 } });
    for (const { explain: why } of reply.results)
      t.match(why?.version, { document_id: String, replaced_at: /Z$/ });
  }
});

await t.test('the history survives a crash', async (t) => {
  await server.stop('SIGKILL');
  await server.restart();
  await checkMoments(t);
});

await t.test('a moment must be in the history', async (t) => {
  const query = (fields: object) =>
    api.request('queries/top-snippets', { collection_name, query: 'granite', k: 1, ...fields });
  t.match(await query({ as_of: '2020-01-01T00:00:00Z' }), {
    status: 400,
    body: { detail: /which begins at 20\d\d-.*Z\./ },
  });
  const damaged = `${moments[0]!.moment.slice(0, -4)}AAAA`;
  for (const as_of of [
    '2999-01-01T00:00:00Z',
    damaged,
    '17',
    'soon',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '',
  ])
    t.equal((await query({ as_of })).status, 400, as_of);
  t.equal((await query({ as_of: 17 })).status, 422);
  const as_of = moments[0]!.at;
  t.equal((await query({ as_of, collection_names: ['others'] })).status, 400);
  t.equal((await query({ as_of, similar_to: { path: 'a' } })).status, 400);
  await api.call('collections/add-collection', { collection_name: 'plain' });
  t.match(await query({ as_of, collection_name: 'plain' }), {
    status: 400,
    body: { detail: /keeps no history/ },
  });
  const plain = await explain('queries/top-snippets', { collection_name: 'plain', query: 'granite' });
  t.notOk('moment' in plain.explain);
  await api.call('collections/add-collection', { collection_name: 'other', history_days: 1 });
  const other = await query({ as_of: moments[0]!.moment, collection_name: 'other' });
  t.equal(other.status, 400, 'a moment belongs to its collection');
});

await t.test('the filter of a key applies to the metadata of that moment', async (t) => {
  const client = await createClient(server, organization_id, {
    restriction: { collection_names: null, filter: { author: 'Ada' } },
  });
  const paths = async (as_of: string) => {
    const request = { collection_name, query: null, as_of };
    const reply = await explain('queries/top-documents', request, client);
    t.match(reply.explain, { moment: null, past: null });
    return reply.results.map(({ path }) => path).sort();
  };
  t.same(await paths(moments[2]!.at), ['a', 'b']);
  t.same(await paths(moments[4]!.at), ['a']);
  const request = { collection_name, path: 'a', erase_history: true };
  t.equal(await client.status('documents/delete-document', request), 403);
});

await t.test('random changes in batches', async (t) => {
  const texts = ['granite contract', 'marble contract', 'delivery terms of granite'];
  let seed = 7;
  const pick = (count: number) => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed % count;
  };
  for (let round = 0; round < 6; round += 1) {
    const paths = ['a', 'c', 'd', 'e', 'f', 'g', 'h'].filter(() => pick(2) === 0);
    const documents = paths.map((path) => ({
      path,
      content: { type: 'text', text: `${texts[pick(texts.length)]} ${round}` },
      metadata: { author: pick(2) === 0 ? 'Ada' : 'Grace' },
      overwrite: true,
    }));
    if (documents.length > 0)
      await api.call('documents/add-documents', { collection_name, documents, wait: true });
    await remove(['a', 'c', 'd', 'e'][pick(4)]!);
    await recordMoment(t);
  }
  await checkMoments(t);
});

await t.test('changes during a query do not change its answer', async (t) => {
  const { at } = moments.at(-1)!;
  const request = { collection_name, query: 'granite', k: 100, as_of: at };
  const read = async () => {
    const { status, body } = await api.request('queries/top-snippets', request);
    if (status !== 200) return status;
    return (body as { results: Row[] }).results.map(({ path, content }) => `${path} ${content}`).sort();
  };
  const before = await read();
  let isChanging = true;
  const changing = (async () => {
    for (let i = 0; isChanging; i += 1) await add(['a', 'c', 'd', 'z'][i % 4]!, `granite ${i}`, 'Ada');
  })();
  let answered = 0;
  try {
    for (let i = 0; answered < 5 && i < 200; i += 1) {
      const found = await read();
      // The documents of the result may change too fast.
      if (found === 503) continue;
      answered += 1;
      t.same(found, before);
    }
  } finally {
    isChanging = false;
    await changing;
  }
  t.equal(answered, 5);
});

await t.test('erase_history deletes all versions of a document', async (t) => {
  const find = async (as_of: unknown) => {
    const request = { collection_name, query: null, k: 100, as_of };
    const { results } = await api.call('queries/top-documents', request);
    return results.map(({ path }) => path).sort();
  };
  t.same(await find(moments[1]!.at), ['a', 'b']);
  t.equal(await remove('a', { erase_history: true }), 200);
  for (const { at } of moments) t.notOk((await find(at)).includes('a'));
  t.equal(await remove('a', { erase_history: true }), 404);
  t.equal(await remove('b'), 200);
  t.equal(await remove('b'), 404);
  t.equal(await remove('b', { erase_history: true }), 200, 'the document was deleted before');
  t.same(await find(moments[1]!.at), []);
  t.same(await find(moments[2]!.at), ['c']);
});

/** Bytes of the kept versions; undefined without a history. */
async function readHistoryBytes(): Promise<number | undefined> {
  const request = { collection_name, include_details: true };
  const { body } = await api.request('status/get-status', request);
  return (body as { details: { num_history_bytes?: number } }).details.num_history_bytes;
}

await t.test('an expired document is not kept', async (t) => {
  const text = { type: 'text', text: 'granite that expires' };
  const document = { collection_name, path: 'x', content: text, wait: true };
  const expires_at = new Date(Date.now() + offsetMs + dayMs / 24).toISOString();
  await api.call('documents/add-document', document);
  await api.call('documents/add-document', { ...document, overwrite: true, expires_at });
  const at = now();
  await sleep(5);
  await api.add(collection_name, 'y', 'granite');
  const count = async () => {
    const request = { collection_name, query: 'expires', k: 10, as_of: at, filter: {} };
    const { results } = await api.call('queries/top-snippets', request);
    return results.filter(({ path }) => path === 'x').length;
  };
  t.equal(await count(), 1);
  await moveClock(0.5);
  t.equal(await count(), 0);
  const before = moments.at(-1)!.at;
  await waitUntil('the document is deleted', async () => {
    const { num_documents } = await api.call('status/get-status', { collection_name });
    return num_documents === (await api.paths(collection_name)).length;
  });
  t.equal(
    await api.status('queries/top-snippets', { collection_name, query: 'granite', k: 1, as_of: before }),
    200,
  );
});

await t.test('versions are kept for history_days', async (t) => {
  t.ok(Number(await readHistoryBytes()) > 0);
  await api.call('collections/update-collection', { collection_name, history_days: 2 });
  await moveClock(2.5);
  const query = (as_of: string) =>
    api.status('queries/top-snippets', { collection_name, query: 'granite', k: 1, as_of });
  await waitUntil('the versions are deleted', async () => (await readHistoryBytes()) === 0);
  t.equal(await query(moments[0]!.at), 400);
  t.equal(await query(now()), 200);
});

await t.test('null deletes the history, and a later one begins anew', async (t) => {
  await add('y', 'granite, replaced', 'Ada');
  const before = now();
  await add('y', 'granite, replaced again', 'Ada');
  const query = (as_of: string) =>
    api.status('queries/top-snippets', { collection_name, query: 'granite', k: 1, as_of });
  t.equal(await query(before), 200);
  t.ok(Number(await readHistoryBytes()) > 0);
  await api.call('collections/update-collection', { collection_name, history_days: null });
  t.equal(await query(before), 400);
  t.equal(await readHistoryBytes(), undefined);
  await api.call('collections/update-collection', { collection_name, history_days: 5 });
  t.equal(await query(before), 400);
  t.equal(await query(now()), 200);
  await waitUntil('the versions are deleted', async () => (await readHistoryBytes()) === 0);
  t.equal(await query(now()), 200);
});
