import type { AppError } from '../../src/core/app-error.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { OrganizationPrincipal } from '../../src/schemas/principal.ts';
import type { UsageRequest } from '../../src/schemas/usage.ts';
import type { ServiceCall } from '../../src/services/call.ts';
import { UsageService } from '../../src/services/usage.ts';
import { type Collection, Collections } from '../../src/storage/collections.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { UsageLedger } from '../../src/usage/ledger.ts';
import { UsageMeter } from '../../src/usage/meter.ts';
import { countOperations } from '../../src/usage/rows.ts';
import { counterNames, type DocumentUsageEvent, toQueryIncrement } from '../../src/usage/usage-events.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

const mine = '11111111-1111-4111-8111-111111111111';
const theirs = '22222222-2222-4222-8222-222222222222';
const handbook = '33333333-3333-4333-8333-333333333333';
const letters = '44444444-4444-4444-8444-444444444444';

function callOf(organizationId: string): ServiceCall<OrganizationPrincipal> {
  return {
    principal: { kind: 'organization', organizationId, keyId: 'k', permission: 'read_only', zdr: false },
    requestId: 'r',
    baseUrl: 'http://127.0.0.1',
    receivedAt: 0,
    yieldToEventLoop: () => null,
    address: () => '192.0.2.1',
    now: () => Date.now(),
    cancellation: cancellationTokenWith(),
  };
}

function document(
  event: DocumentUsageEvent['event'],
  more: Partial<DocumentUsageEvent> = {},
): DocumentUsageEvent {
  return {
    organizationId: mine,
    collectionId: handbook,
    event,
    fileBytes: 1_000,
    contentTokens: 200,
    embeddingTokens: 250,
    coarseChunks: 1,
    fineChunks: 8,
    pages: 4,
    timeTakenMs: 20,
    ...more,
  };
}

async function build() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: Date.UTC(2026, 9, 31, 12, 34, 56) });
  const collections = new Collections(store);
  const collectionFields = { shards: 1, dimensions: 320, createdAt: 0, languages: [] };
  const records: Collection[] = [
    { collectionId: handbook, organizationId: mine, name: 'handbook', ...collectionFields },
    { collectionId: letters, organizationId: mine, name: 'letters', ...collectionFields },
    {
      collectionId: '55555555-5555-4555-8555-555555555555',
      organizationId: theirs,
      name: 'secret',
      ...collectionFields,
    },
  ];
  for (const record of records) await store.write(collections.create(record));
  const meter = new UsageMeter({ store, clock, logger: silentLogger });
  const usage = new UsageService({ meter, ledger: new UsageLedger({ store, clock }), collections });
  const today = (more: Partial<UsageRequest> = {}): UsageRequest => ({
    start_time: Date.UTC(2026, 9, 31) / 1000,
    end_time: Date.UTC(2026, 10, 2) / 1000,
    aggregation_window: 'daily',
    ...more,
  });
  return { store, clock, meter, usage, today };
}

function statusOf(promise: Promise<unknown>): Promise<number> {
  return promise.then(
    () => 200,
    (error: AppError) => error.status,
  );
}

t.test('documents: one row per window, collection and event, with every field of the contract', async (t) => {
  const { meter, usage, today } = await build();
  meter.recordDocument(document('added'));
  meter.recordDocument(document('added', { pages: 0 }));
  meter.recordDocument(document('deleted', { collectionId: letters }));
  t.same(await usage.documents(callOf(mine), today()), [
    {
      window_start: Date.UTC(2026, 9, 31) / 1000,
      organization_id: mine,
      collection_id: handbook,
      event_type: 'added',
      event_count: 2,
      total_file_size_bytes: 2_000,
      total_content_tokens: 400,
      total_llm_tokens: 0,
      total_embedding_tokens: 500,
      total_coarse_chunks: 2,
      total_fine_chunks: 16,
      total_pages: 4,
      total_time_taken_ms: 40,
    },
    {
      window_start: Date.UTC(2026, 9, 31) / 1000,
      organization_id: mine,
      collection_id: letters,
      event_type: 'deleted',
      event_count: 1,
      total_file_size_bytes: 1_000,
      total_content_tokens: 200,
      total_llm_tokens: 0,
      total_embedding_tokens: 250,
      total_coarse_chunks: 1,
      total_fine_chunks: 8,
      total_pages: 4,
      total_time_taken_ms: 20,
    },
  ]);
});

t.test('queries: one row per window, collection and type', async (t) => {
  const { meter, usage, today } = await build();
  const usageEvent = { organizationId: mine, collectionId: handbook, queryTokens: 3, timeTakenMs: 2.5 };
  meter.recordQuery({ ...usageEvent, type: 'fine', queryBytes: 11, queriedBytes: 500, results: 10 });
  t.same(await usage.queries(callOf(mine), today({ aggregation_window: 'minutely' })), [
    {
      window_start: Date.UTC(2026, 9, 31, 12, 34) / 1000,
      organization_id: mine,
      collection_id: handbook,
      query_type: 'fine',
      event_count: 1,
      total_query_bytes: 11,
      total_queried_bytes: 500,
      total_query_tokens: 3,
      total_results_returned: 10,
      total_time_taken_ms: 2.5,
    },
  ]);
});

t.test('queries: the percentiles and the histogram of their times, on request', async (t) => {
  const { store, meter, usage, today } = await build();
  const query = {
    organizationId: mine,
    collectionId: handbook,
    queryTokens: 1,
    queryBytes: 1,
    queriedBytes: 1,
  };
  for (let i = 0; i < 100; i += 1)
    meter.recordQuery({ ...query, type: 'fine', results: 1, timeTakenMs: i < 96 ? 8 : 100_000 });
  const [row] = await usage.queries(callOf(mine), today({ include_times: true }));
  t.match(row, {
    event_count: 100,
    times: {
      count: 100,
      p99_ms: 65_540,
      histogram: [
        { le_ms: 8, count: 96 },
        { le_ms: null, count: 4 },
      ],
    },
  });
  t.ok(row!.times!.p50_ms > 6.3 && row!.times!.p50_ms < row!.times!.p95_ms && row!.times!.p95_ms <= 8);

  // Rows of earlier versions have the counters only.
  const old = { ...toQueryIncrement({ ...query, type: 'coarse', results: 1, timeTakenMs: 5 }) };
  const counters = { ...old, amounts: old.amounts.slice(0, counterNames.queries.length) };
  await store.write(countOperations(counters, Date.UTC(2026, 9, 31, 12)));
  const rows = await usage.queries(callOf(mine), today({ include_times: true }));
  t.match(
    rows.find(({ query_type: type }) => type === 'coarse'),
    { event_count: 1, times: undefined },
  );
});

t.test('models: one row per window, model, and whether it was called directly', async (t) => {
  const { meter, usage, today } = await build();
  const usageEvent = { organizationId: mine, bytes: 300, tokens: 9, timeTakenMs: 5 };
  meter.recordEmbed({ ...usageEvent, model: 'zembed-1', explicitCall: true });
  meter.recordRerank({ ...usageEvent, model: 'zerank-1', explicitCall: false, documents: 2, inferenceMs: 4 });
  const common = { organization_id: mine, event_count: 1, total_request_bytes: 300, total_time_taken_ms: 5 };
  const window_start = Date.UTC(2026, 9, 31, 12) / 1000;
  const hourly = today({ aggregation_window: 'hourly', collection_names: ['no such collection'] });
  t.same(await usage.embed(callOf(mine), hourly), [
    { ...common, window_start, embedding_model: 'zembed-1', explicit_call: true, total_request_tokens: 9 },
  ]);
  t.same(await usage.reranker(callOf(mine), hourly), [
    {
      ...common,
      window_start,
      reranker_model: 'zerank-1',
      explicit_call: false,
      total_reranker_tokens: 9,
      total_documents_reranked: 2,
      total_reranking_time_ms: 4,
    },
  ]);
});

t.test('a list of collections restricts the rows; names of other organizations are unknown', async (t) => {
  const { meter, usage, today } = await build();
  meter.recordDocument(document('indexed'));
  meter.recordDocument(document('indexed', { collectionId: letters }));
  const listedNames = async (names: string[] | null) => {
    const rows = await usage.documents(callOf(mine), today({ collection_names: names }));
    return rows.map((row) => row.collection_id);
  };
  t.same(await listedNames(null), [handbook, letters]);
  t.same(await listedNames(['letters']), [letters]);
  t.same(await listedNames(['letters', 'handbook', 'letters']), [handbook, letters]);
  t.same(await listedNames([]), []);
  for (const name of ['no such collection', 'secret', '']) {
    const request = today({ collection_names: ['handbook', name] });
    t.equal(await statusOf(usage.documents(callOf(mine), request)), 404, name);
    t.equal(await statusOf(usage.queries(callOf(mine), request)), 404, name);
  }
});

t.test('an organization sees no usage of another', async (t) => {
  const { meter, usage, today } = await build();
  meter.recordDocument(document('added'));
  meter.recordEmbed({
    organizationId: mine,
    model: 'm',
    explicitCall: true,
    bytes: 1,
    tokens: 1,
    timeTakenMs: 1,
  });
  t.same(await usage.documents(callOf(theirs), today()), []);
  t.same(await usage.embed(callOf(theirs), today()), []);
  t.match(await usage.counters(callOf(theirs)), { all_time: { docs: { count: 0 } } });
  t.match(await usage.modelsCounters(callOf(theirs)), { all_time: { embed: { count: 0 } } });
});

t.test('both ends of a time range are inclusive, by the minute', async (t) => {
  const { meter, usage, today } = await build();
  meter.recordDocument(document('added'));
  const minute = Date.UTC(2026, 9, 31, 12, 34) / 1000;
  const ranges = [
    [minute, minute, 1],
    [minute + 59, minute + 60, 1],
    [minute + 60, minute + 120, 0],
    [minute - 60, minute - 1, 0],
    [minute - 60, minute, 1],
  ] as const;
  for (const [start_time, end_time, rows] of ranges) {
    const found = await usage.documents(callOf(mine), today({ start_time, end_time }));
    t.equal(found.length, rows, `${start_time - minute}..${end_time - minute}`);
  }
});

t.test('counters: all time and this calendar month, events, bytes and billable units', async (t) => {
  const { clock, meter, usage } = await build();
  const query = { organizationId: mine, collectionId: handbook, type: 'pages', queryBytes: 5 } as const;
  const october = () => {
    meter.recordDocument(document('added'));
    meter.recordDocument(document('parsed', { pages: 7 }));
    meter.recordDocument(document('indexed', { collectionId: letters, embeddingTokens: 33 }));
    meter.recordDocument(document('deleted'));
    meter.recordQuery({ ...query, queriedBytes: 900, queryTokens: 1, results: 1, timeTakenMs: 1 });
  };
  october();
  const month = {
    docs: { count: 1, bytes: 1_000, billable_units: 1 },
    ocr: { count: 1, bytes: 1_000, billable_units: 7 },
    indexed: { count: 1, bytes: 1_000, billable_units: 33 },
    queries: { count: 1, bytes: 900, billable_units: 1 },
  };
  t.same(await usage.counters(callOf(mine)), { all_time: month, billing_cycle: month });
  await clock.advance(86_400_000);
  const nothing = { count: 0, bytes: 0, billable_units: 0 };
  const fresh = { docs: nothing, ocr: nothing, indexed: nothing, queries: nothing };
  t.same(await usage.counters(callOf(mine)), { all_time: month, billing_cycle: fresh });
  meter.recordDocument(document('added'));
  t.match(await usage.counters(callOf(mine)), {
    all_time: { docs: { count: 2, bytes: 2_000, billable_units: 2 } },
    billing_cycle: { docs: { count: 1, bytes: 1_000, billable_units: 1 } },
  });
});

t.test('model counters bill the tokens of calls, not the work of documents and queries', async (t) => {
  const { meter, usage } = await build();
  const usageEvent = { organizationId: mine, bytes: 300, tokens: 9, timeTakenMs: 5 };
  for (const explicitCall of [true, false]) {
    meter.recordEmbed({ ...usageEvent, model: 'zembed-1', explicitCall });
    meter.recordRerank({ ...usageEvent, model: 'zerank-1', explicitCall, documents: 2, inferenceMs: 4 });
  }
  meter.recordRerank({ ...usageEvent, model: 'zerank-2', explicitCall: true, documents: 2, inferenceMs: 4 });
  const stats = {
    rerank: { count: 2, bytes: 600, billable_units: 18 },
    embed: { count: 1, bytes: 300, billable_units: 9 },
  };
  t.same(await usage.modelsCounters(callOf(mine)), { all_time: stats, billing_cycle: stats });
});
