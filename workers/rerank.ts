import { move, transferableSymbol, valueSymbol } from 'piscina';
import { openOnce } from '../src/models/open-once.ts';
import { modelKey, openReranker, type RerankReply, type RerankTask } from '../src/models/registry.ts';

/** Models stay open for the life of the worker. */
const open = openOnce(openReranker, modelKey);

/** Scores the documents of one task; the caller gets a `RerankReply` whose scores moved without a copy. */
export default async function rerank(task: RerankTask): Promise<unknown> {
  const reranker = await open(task.model);
  const started = performance.now();
  const { scores, tokens } = await reranker.score(task.query, task.documents);
  const reply: RerankReply = { scores, tokens, inferenceMs: performance.now() - started };
  return move({ [transferableSymbol]: [scores.buffer], [valueSymbol]: reply });
}
