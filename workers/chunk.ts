import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { ChunkTask } from '../src/chunking/chunk-task.ts';
import { prepareDocument } from '../src/chunking/prepare-document.ts';
import { embedChunks } from '../src/models/chunk-vectors.ts';
import { openOnce } from '../src/models/open-once.ts';
import { openEmbedder } from '../src/models/registry.ts';
import { analyseChunks } from '../src/text/terms.ts';

/** Models stay open for the life of the worker. */
const open = openOnce(openEmbedder);

/** Answers a `ChunkTaskResult` whose large parts moved without a copy. */
export default async function chunk(task: ChunkTask): Promise<unknown> {
  const embedder = await open(task.model);
  const result = await prepareDocument(task, {
    dimensions: embedder.dimensions,
    analyse: analyseChunks,
    embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
  });
  const { terms, spans, vectors, codes } = result;
  const moved = [terms.buffer, spans.buffer, vectors.buffer, codes.buffer];
  return move({ [transferableSymbol]: moved, [valueSymbol]: result });
}
