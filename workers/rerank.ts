import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { Reranker } from '../src/models/model.ts';
import { openReranker, type RerankReply, type RerankTask } from '../src/models/registry.ts';

/** Models stay open for the life of the worker; one that failed to open is tried again by the next task. */
const opened = new Map<string, Promise<Reranker>>();

function open(id: string): Promise<Reranker> {
  const known = opened.get(id);
  if (known !== undefined) return known;
  const opening = openReranker(id).catch((error: unknown) => {
    opened.delete(id);
    throw error;
  });
  opened.set(id, opening);
  return opening;
}

/** Scores the documents of one task; the caller gets a `RerankReply` whose scores moved without a copy. */
export default async function rerank(task: RerankTask): Promise<unknown> {
  const reranker = await open(task.model);
  const started = performance.now();
  const { scores, tokens } = await reranker.score(task.query, task.documents);
  const reply: RerankReply = { scores, tokens, inferenceMs: performance.now() - started };
  return move({ [transferableSymbol]: [scores.buffer], [valueSymbol]: reply });
}
