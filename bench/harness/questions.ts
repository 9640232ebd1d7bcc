import { type BenchApiClient, requestBytes } from './api.ts';
import type { BenchContext } from './bench-case.ts';
import type { CollectionPlan } from './collections.ts';
import type { LoadTarget } from './load-run.ts';
import { type QueryCall, queryBody, snippetsCall } from './query-calls.ts';
import type { TextCorpus } from './text-corpus.ts';

const comparedQuestions = 50;
/** Questions of which the mean size of a reply is computed. */
const sizedQuestions = 50;

/** Returns the requests of the load on one collection. */
export function createLoadTarget(
  server: { readonly port: number; readonly key: string },
  load: { readonly collection: string; readonly call: QueryCall; readonly operation?: string },
  corpus: TextCorpus,
  { options }: BenchContext,
): LoadTarget {
  const { operation = load.call.operation } = load;
  const requests = requestBodies(load, corpus, options).map((body) =>
    requestBytes({ operation, body, port: server.port, key: server.key }),
  );
  return { port: server.port, requests };
}

/** Returns one body per question. */
export function requestBodies(
  { collection, call }: { readonly collection: string; readonly call: QueryCall },
  corpus: TextCorpus,
  { questions, results }: { readonly questions: number; readonly results: number },
): object[] {
  return Array.from({ length: questions }, (_, i) =>
    queryBody(call, { collection, question: corpus.question(i), results }),
  );
}

/** Returns the mean size of a reply in bytes, over the first questions. */
export async function measureReplyBytes(
  api: BenchApiClient,
  load: { readonly collection: string; readonly call: QueryCall },
  corpus: TextCorpus,
  { options, signal }: BenchContext,
): Promise<number> {
  const bodies = requestBodies(load, corpus, { ...options, questions: sizedQuestions });
  let bytes = 0;
  for (const body of bodies) {
    signal.throwIfAborted();
    bytes += Buffer.byteLength(JSON.stringify(await api.call(load.call.operation, body)));
  }
  return Math.round(bytes / bodies.length);
}

export interface AnswerAgreement {
  /**
   * Mean share of the documents found in the first collection of the same size that each collection also
   * finds.
   */
  readonly agreement: ReadonlyMap<CollectionPlan, number>;
  /** Number of searches per strategy over the shards of each collection, from `explain`. */
  readonly strategies: ReadonlyMap<CollectionPlan, Strategies>;
}

/** Number of single-shard searches by strategy name. */
export type Strategies = Readonly<Record<string, number>>;

/** Runs the same questions on every collection. Speeds are the more comparable, the more the results agree. */
export async function compareAnswers(
  api: BenchApiClient,
  plans: readonly CollectionPlan[],
  corpus: TextCorpus,
  { options, signal }: BenchContext,
): Promise<AnswerAgreement> {
  const shared = new Map(plans.map((plan) => [plan, 0]));
  const strategies = new Map(plans.map((plan) => [plan, {} as Record<string, number>]));
  for (let i = 0; i < comparedQuestions; i++) {
    const expected = new Map<number, string[]>();
    const question = corpus.question(i);
    for (const plan of plans) {
      signal.throwIfAborted();
      const body = queryBody(snippetsCall, { collection: plan.name, question, results: options.results });
      const reply = await api.call<{ results: { path: string }[] }>(snippetsCall.operation, body);
      const paths = [...new Set(reply.results.map(({ path }) => path))];
      if (paths.length === 0) throw new Error(`${plan.name} has no answer to "${question}".`);
      const first = expected.get(plan.documents) ?? paths;
      expected.set(plan.documents, first);
      const agreement = first.filter((path) => paths.includes(path)).length / first.length;
      shared.set(plan, (shared.get(plan) ?? 0) + agreement / comparedQuestions);
      await countStrategies(api, body, strategies.get(plan)!);
    }
  }
  return { agreement: shared, strategies };
}

/** Uses a separate request, because a reply with `explain` is longer than those of the load. */
async function countStrategies(
  api: BenchApiClient,
  body: object,
  counts: Record<string, number>,
): Promise<void> {
  const { explain } = await api.call<{ explain: { shards: { strategy: string }[] } }>(
    snippetsCall.operation,
    { ...body, explain: true },
  );
  for (const { strategy } of explain.shards) counts[strategy] = (counts[strategy] ?? 0) + 1;
}
