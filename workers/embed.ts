import { move, transferableSymbol, valueSymbol } from 'piscina';
import { denyConnections } from '../src/egress/deny-connections.ts';
import { ModelCache } from '../src/models/model-cache.ts';
import {
  type EmbedReply,
  type EmbedTask,
  isModelRemoved,
  openEmbedder,
  toModelKey,
} from '../src/models/registry.ts';

denyConnections();

const models = new ModelCache({ open: openEmbedder, keyOf: toModelKey, isRemoved: isModelRemoved });
models.startChecking();

/** Embeds the texts of one task. Returns an `EmbedReply` whose vectors move without a copy. */
export default async function embed(task: EmbedTask): Promise<unknown> {
  const reply = await models.use(task.model, async (embedder): Promise<EmbedReply> => {
    const started = performance.now();
    const { vectors, tokens } = await embedder.embed(task.texts, task.inputType);
    const { dimensions } = embedder;
    return { vectors, dimensions, tokens, inferenceMs: performance.now() - started };
  });
  return move({ [transferableSymbol]: [reply.vectors.buffer], [valueSymbol]: reply });
}
