import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { Embedder } from '../src/models/model.ts';
import { type EmbedReply, type EmbedTask, openEmbedder } from '../src/models/registry.ts';

/** Models stay open for the life of the worker; one that failed to open is tried again by the next task. */
const opened = new Map<string, Promise<Embedder>>();

function open(id: string): Promise<Embedder> {
  const known = opened.get(id);
  if (known !== undefined) return known;
  const opening = openEmbedder(id).catch((error: unknown) => {
    opened.delete(id);
    throw error;
  });
  opened.set(id, opening);
  return opening;
}

/** Embeds the texts of one task; the caller gets an `EmbedReply` whose vectors moved without a copy. */
export default async function embed(task: EmbedTask): Promise<unknown> {
  const embedder = await open(task.model);
  const started = performance.now();
  const { vectors, tokens } = await embedder.embed(task.texts, task.inputType);
  const reply: EmbedReply = {
    vectors,
    dimensions: embedder.dimensions,
    tokens,
    inferenceMs: performance.now() - started,
  };
  return move({ [transferableSymbol]: [vectors.buffer], [valueSymbol]: reply });
}
