import { move, transferableSymbol, valueSymbol } from 'piscina';
import { openOnce } from '../src/models/open-once.ts';
import { type EmbedReply, type EmbedTask, modelKey, openEmbedder } from '../src/models/registry.ts';

/** Models stay open for the life of the worker. */
const open = openOnce(openEmbedder, modelKey);

/** Embeds the texts of one task; the caller gets an `EmbedReply` whose vectors moved without a copy. */
export default async function embed(task: EmbedTask): Promise<unknown> {
  const embedder = await open(task.model);
  const started = performance.now();
  const { vectors, tokens } = await embedder.embed(task.texts, task.inputType);
  const inferenceMs = performance.now() - started;
  const reply: EmbedReply = { vectors, dimensions: embedder.dimensions, tokens, inferenceMs };
  return move({ [transferableSymbol]: [vectors.buffer], [valueSymbol]: reply });
}
