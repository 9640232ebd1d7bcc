import t from '../support/tap.ts';
import { adminKey, openFakeServer } from './fake-server.ts';
import { runQuarry } from './quarry.ts';

t.test('usage with a restricted key shows the readable counters and names the missing ones', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const none = { count: 0, bytes: 0, billable_units: 0 };
  const counters = { docs: none, ocr: none, indexed: none, queries: none };
  server.fixedReplies.set('usage/counters', { all_time: counters, billing_cycle: counters });
  server.fixedReplies.set('usage/documents', []);
  server.fixedReplies.set('usage/queries', []);
  server.intercept = ({ url }) =>
    url.startsWith('/v1/usage/models/') ? { status: 403, body: { detail: 'restricted' } } : null;
  for (const words of [['usage'], ['usage', '--by', 'day']]) {
    const ended = await runQuarry(words, { variables });
    t.equal(ended.code, 0, ended.err);
    t.match(ended.err, /Model usage is not shown, because this key is restricted/);
    t.notMatch(ended.out, /Rerank|Embed/);
  }
});

t.test('usage shows the percentiles of the times of all queries of a window', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const row = { window_start: 1_793_491_200, event_count: 2 };
  const buckets = [
    { le_ms: 2, count: 1 },
    { le_ms: 64, count: 1 },
  ];
  server.fixedReplies.set('usage/documents', []);
  server.fixedReplies.set('usage/queries', [
    { ...row, times: { histogram: buckets } },
    { ...row, times: { histogram: [{ le_ms: 2, count: 2 }] } },
    { window_start: row.window_start + 86_400, event_count: 1 },
  ]);
  for (const model of ['reranker', 'embed']) server.fixedReplies.set(`usage/models/${model}`, []);
  const { out, err } = await runQuarry(['usage', '--by', 'day'], { variables });
  t.match(out, />?Queries +p50 ms +p95 ms +p99 ms/, err);
  t.match(out, /^\S+ +0 +0 +0 +4 +1\.9 +61\.4 +63\.5 +0 +0$/m);
  t.match(out, /^\S+ +0 +0 +0 +1 +- +- +- +0 +0$/m, 'a row without times');
  t.match(server.bodies('usage/queries'), [{ include_times: true }]);
});

t.test('status shows one line per collection', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const failed = { bytes: Buffer.from('x'), metadata: {}, status: 'parsing_failed', error: 'broken' };
  server.collections.set('one', new Map([['a', failed]]));
  server.collections.set('two', new Map());
  const ended = await runQuarry(['status'], { variables });
  t.match(
    ended.out,
    /^Collection {2}Documents {2}Parsing {2}Indexing {2}Indexed {2}Failed +Text\none +1 +0 +0 +0 +1/,
  );
  const json = JSON.parse((await runQuarry(['status', '-c', 'one', '--json'], { variables })).out);
  t.match(json, { collections: [{ name: 'one', num_documents: 1, num_failed_documents: 1 }] });
  t.notOk('memory' in json, 'the memory of the server is not shown for one collection');
});

t.test('status shows the memory of the server to authorized callers', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const figures = `# HELP quarry_index_bytes Bytes.
quarry_index_bytes{part="codes"} 384000000
quarry_index_bytes{part="vectors_in_file"} 1.5e9
quarry_query_cache_bytes{part="texts"} 12
quarry_memory_held_bytes 700000000
quarry_memory_held_bytes_max 8e9
`;
  let allowed = true;
  server.intercept = ({ url, headers }) => {
    if (url !== '/metrics') return null;
    t.equal(headers.authorization, `Bearer ${adminKey}`);
    return allowed
      ? { status: 200, body: Buffer.from(figures) }
      : { status: 401, body: { detail: 'The administrator key is missing.' } };
  };
  const asAdministrator = { ...variables, QUARRY_ADMIN_KEY: adminKey };
  const printed = await runQuarry(['status'], { variables: asAdministrator });
  t.match(
    printed.out,
    /\nMemory of the server +Bytes\nindex: codes +384 MB\nindex: vectors in file +1\.5 GB\n/,
  );
  t.match(printed.out, /\nqueries: texts +12 B\ntotal +700 MB\nlimit +8\.0 GB\n/);
  const json = JSON.parse((await runQuarry(['status', '--json'], { variables: asAdministrator })).out);
  t.same(json.memory, {
    held_bytes: 700_000_000,
    limit_bytes: 8_000_000_000,
    index_bytes: { codes: 384_000_000, vectors_in_file: 1_500_000_000 },
    query_cache_bytes: { texts: 12 },
  });
  allowed = false;
  const hidden = await runQuarry(['status'], { variables: asAdministrator });
  t.equal(hidden.code, 0);
  t.notMatch(hidden.out, /Memory/);
});
