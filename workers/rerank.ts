import { move, transferableSymbol, valueSymbol } from 'piscina';
import { denyConnections } from '../src/egress/deny-connections.ts';
import { ModelCache } from '../src/models/model-cache.ts';
import { OnnxReranker } from '../src/models/onnx-reranker.ts';
import { isModelRemoved, type RerankReply, type RerankTask, toModelKey } from '../src/models/registry.ts';

denyConnections();

const models = new ModelCache({
  open: (model: RerankTask['model']) => OnnxReranker.open(model),
  keyOf: toModelKey,
  isRemoved: isModelRemoved,
});
models.startChecking();

/** Scores the documents of one task. Returns a `RerankReply` whose scores move without a copy. */
export default async function rerank(task: RerankTask): Promise<unknown> {
  const reply = await models.use(task.model, async (reranker): Promise<RerankReply> => {
    const started = performance.now();
    const { scores, tokens } = await reranker.score(task.query, task.documents);
    return { scores, tokens, inferenceMs: performance.now() - started };
  });
  return move({ [transferableSymbol]: [reply.scores.buffer], [valueSymbol]: reply });
}
