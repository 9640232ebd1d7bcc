import type { Clock } from '../../src/core/clock.ts';
import { type FinishedQuery, SlowQueryLog } from '../../src/services/slow-query-log.ts';
import t from '../support/tap.ts';
import { addTextDocument, createServices, serviceCallFor } from './service-fixture.ts';

const request = {
  collection_name: 'papers',
  query: 'salted herring',
  k: 5,
  filter: { year: { $eq: '1887' } },
};

t.test('a line has the stages and the plan of the query', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'log.txt', 'salted herring in barrels', { metadata: { year: '1887' } });
  await parts.queries.topSnippets(serviceCallFor(), request);
  await parts.queries.topDocuments(serviceCallFor(), { ...request, query: null });
  const [search, listing] = parts.slowQueryLines;
  t.match(search, {
    requestId: 'request',
    organizationId: String,
    collectionId: String,
    collection: 'papers',
    query: 'salted herring',
    queryBytes: 14,
    type: 'coarse',
    ms: Number,
    waitMs: Number,
    k: 5,
    reranker: null,
    latencyMode: 'low',
    hasFilter: true,
    isRestricted: false,
    weights: { lexical: Number, vector: Number },
    syntax: 'natural',
    results: 1,
    stages: { embed: Number, search: Number, rerank: Number, read: Number },
    plan: {
      shards: [{ shard: Number, strategy: String, effort: Number, candidates: Number, ms: Number }],
      checked: Number,
      complete: true,
      rescored: Number,
      reranked: 0,
      embedded: true,
      missing: [],
    },
  });
  t.match(listing, { type: 'documents', query: '', results: 1, plan: { shards: [], embedded: false } });
});

t.test('no text of an organization with zero data retention is logged', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'log.txt', 'salted herring in barrels', { metadata: { year: '1887' } });
  const call = serviceCallFor();
  await parts.queries.topPages({ ...call, principal: { ...call.principal, zdr: true } }, request);
  const line = JSON.stringify(parts.slowQueryLines[0]);
  t.match(line, /"queryBytes":14/);
  t.notMatch(line, /herring|papers|1887|year/);
});

t.test('a query that failed is logged with its error code', async (t) => {
  const parts = await createServices(t);
  const { cancellation, ...call } = serviceCallFor();
  await parts.first.indexes.close();
  await t.rejects(parts.queries.topSnippets({ ...call, cancellation }, request));
  t.match(parts.slowQueryLines, [{ query: 'salted herring', error: String, ms: Number }]);
});

function createLog(clock: Pick<Clock, 'monotonic'>) {
  const lines: Readonly<Record<string, unknown>>[] = [];
  let counted = 0;
  const log = new SlowQueryLog({
    thresholdMs: 1_000,
    clock,
    logger: { warn: (fields) => void lines.push(fields) },
    count: () => {
      counted += 1;
    },
  });
  return { log, lines, counted: () => counted };
}

t.test('queries below the threshold are not logged, and a flood is bounded', async (t) => {
  const parts = await createServices(t);
  const collection = parts.first.collections.find(serviceCallFor().principal.organizationId, 'papers')!;
  let now = 10_000;
  const { log, lines, counted } = createLog({ monotonic: () => now });
  const finished = {
    call: { ...serviceCallFor(), receivedAt: 9_001 },
    search: {
      collection,
      k: 1,
      filter: null,
      reranker: null,
      isWide: false,
      control: { weights: {}, operators: null },
    },
    type: 'coarse',
    query: 'a'.repeat(10_000),
    startedAt: null,
  } as unknown as FinishedQuery;
  log.recordFailure(finished, new Error('too late'));
  t.equal(lines.length, 0, '999 ms');
  now = 10_001;
  for (let i = 0; i < 25; i += 1) log.recordFailure(finished, new Error('too late'));
  t.equal(lines.length, 10, 'ten lines per second');
  t.equal(String(lines[0]!.query).length, 500, 'the text of a query is cut');
  now = 11_001;
  log.recordFailure(finished, new Error('too late'));
  t.match(lines.at(-1), { suppressedLines: 15, error: 'Error' });
  t.equal(counted(), 26, 'the metric counts all');
});
