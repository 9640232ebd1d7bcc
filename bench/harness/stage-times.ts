import type { BenchApiClient } from './api.ts';
import type { BenchContext } from './bench-case.ts';
import { type QueryCall, queryBody } from './query-calls.ts';
import type { TextCorpus } from './text-corpus.ts';

/** Mean milliseconds of a query by stage, of queries one at a time, as the server reports them. */
export interface StageTimes {
  readonly embed: number;
  /** Slowest shard: vector and lexical search together. */
  readonly shards: number;
  /** Rest of the search stage: analysis of the query, fusion, rescoring. */
  readonly analysisAndFusion: number;
  readonly rerank: number;
  readonly read: number;
  /** Rest of the request: authentication, parsing, rendering, sending; null if `/metrics` does not have it. */
  readonly rest: number | null;
}

interface Explanation {
  readonly shards: readonly { readonly ms: number }[];
  readonly ms: {
    readonly embed: number;
    readonly search: number;
    readonly rerank: number;
    readonly read: number;
  };
}

const queries = 50;

/** Asks questions one at a time with `explain`. */
export async function measureStageTimes(
  api: BenchApiClient,
  load: { readonly collection: string; readonly call: QueryCall },
  corpus: TextCorpus,
  { options, signal }: BenchContext,
): Promise<StageTimes> {
  const { call, collection } = load;
  const before = await readRequestSeconds(api, call);
  const sums = { embed: 0, shards: 0, search: 0, rerank: 0, read: 0 };
  for (let i = 0; i < queries; i++) {
    signal.throwIfAborted();
    const body = queryBody(call, {
      collection,
      question: corpus.question(i),
      results: options.results,
    });
    const reply = await api.call<{ explain: Explanation }>(call.operation, { ...body, explain: true });
    const { ms, shards } = reply.explain;
    for (const stage of ['embed', 'search', 'rerank', 'read'] as const) sums[stage] += ms[stage] / queries;
    sums.shards += Math.max(0, ...shards.map((shard) => shard.ms)) / queries;
  }
  const after = await readRequestSeconds(api, call);
  const known = before !== null && after !== null && after.count > before.count;
  const total = known ? ((after.sum - before.sum) * 1_000) / (after.count - before.count) : null;
  const { embed, shards, search, rerank, read } = sums;
  return {
    embed,
    shards,
    rerank,
    read,
    analysisAndFusion: Math.max(0, search - shards),
    rest: total === null ? null : Math.max(0, total - embed - search - rerank - read),
  };
}

/** Reads the histogram of request durations; null before the first request of the operation. */
async function readRequestSeconds(
  api: BenchApiClient,
  { operation }: QueryCall,
): Promise<{ readonly sum: number; readonly count: number } | null> {
  const metrics = await api.metrics();
  const label = operation.slice(operation.indexOf('/') + 1);
  const [sum, count] = ['sum', 'count'].map((suffix) =>
    new RegExp(
      `^quarry_http_request_seconds_${suffix}\\{[^}]*operation="${label}"[^}]*\\} (\\S+)$`,
      'm',
    ).exec(metrics),
  );
  return sum?.[1] === undefined || count?.[1] === undefined
    ? null
    : { sum: Number(sum[1]), count: Number(count[1]) };
}
