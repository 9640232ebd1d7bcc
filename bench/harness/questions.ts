import { type BenchApiClient, requestBytes } from './api.ts';
import type { BenchContext } from './bench-case.ts';
import type { CollectionPlan } from './collections.ts';
import type { Corpus } from './corpus.ts';
import type { LoadTarget } from './load-run.ts';

/** Operation of the load in all cases. */
export const searchOperation = 'queries/top-snippets';

const comparedQuestions = 50;

export function searchBody(collection: string, question: string, results: number): object {
  return { collection_name: collection, query: question, k: results };
}

/** Returns the requests of the load on one collection. */
export function createLoadTarget(
  server: { readonly port: number; readonly key: string },
  collection: string,
  corpus: Corpus,
  { options }: BenchContext,
): LoadTarget {
  const requests = Array.from({ length: options.questions }, (_, i) =>
    requestBytes({
      operation: searchOperation,
      body: searchBody(collection, corpus.question(i), options.results),
      port: server.port,
      key: server.key,
    }),
  );
  return { port: server.port, requests };
}

export interface AnswerAgreement {
  /**
   * Mean share of the documents found in the first collection of the same size that each collection also
   * finds.
   */
  readonly agreement: ReadonlyMap<CollectionPlan, number>;
  readonly replyBytes: number;
  /** Number of searches per strategy over the shards of each collection, from `explain`. */
  readonly strategies: ReadonlyMap<CollectionPlan, Strategies>;
}

/** Number of single-shard searches by strategy name. */
export type Strategies = Readonly<Record<string, number>>;

/** Runs the same questions on every collection. Speeds are the more comparable, the more the results agree. */
export async function compareAnswers(
  api: BenchApiClient,
  plans: readonly CollectionPlan[],
  corpus: Corpus,
  { options, signal }: BenchContext,
): Promise<AnswerAgreement> {
  const shared = new Map(plans.map((plan) => [plan, 0]));
  const strategies = new Map(plans.map((plan) => [plan, {} as Record<string, number>]));
  let bytes = 0;
  for (let i = 0; i < comparedQuestions; i++) {
    const expected = new Map<number, string[]>();
    for (const plan of plans) {
      signal.throwIfAborted();
      const body = searchBody(plan.name, corpus.question(i), options.results);
      const reply = await api.call<{ results: { path: string }[] }>(searchOperation, body);
      bytes += Buffer.byteLength(JSON.stringify(reply));
      const paths = [...new Set(reply.results.map(({ path }) => path))];
      if (paths.length === 0) throw new Error(`${plan.name} has no answer to "${corpus.question(i)}".`);
      const first = expected.get(plan.documents) ?? paths;
      expected.set(plan.documents, first);
      const agreement = first.filter((path) => paths.includes(path)).length / first.length;
      shared.set(plan, (shared.get(plan) ?? 0) + agreement / comparedQuestions);
      await countStrategies(api, body, strategies.get(plan)!);
    }
  }
  return { agreement: shared, replyBytes: Math.round(bytes / comparedQuestions / plans.length), strategies };
}

/** Uses a separate request, because a reply with `explain` is longer than those of the load. */
async function countStrategies(
  api: BenchApiClient,
  body: object,
  counts: Record<string, number>,
): Promise<void> {
  const { explain } = await api.call<{ explain: { shards: { strategy: string }[] } }>(searchOperation, {
    ...body,
    explain: true,
  });
  for (const { strategy } of explain.shards) counts[strategy] = (counts[strategy] ?? 0) + 1;
}
