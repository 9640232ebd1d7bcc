import { platform, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { ChunkBatch, ChunkOutcome, ChunkTask, ChunkTaskResult } from '../src/chunking/chunk-task.ts';
import { prepareDocument } from '../src/chunking/prepare-document.ts';
import { embedChunks } from '../src/models/chunk-vectors.ts';
import { openOnce } from '../src/models/open-once.ts';
import { openEmbedder } from '../src/models/registry.ts';
import { analyseChunks } from '../src/text/terms.ts';

/** Niceness of a thread that is never as urgent as one that answers somebody. */
const niceness = 5;
// There the number is that of a thread; elsewhere it would be the whole server's.
if (platform() === 'linux') setPriority(niceness);

/** Models stay open for the life of the worker. */
const open = openOnce(openEmbedder);

/** Answers a `ChunkOutcome` for each document of a batch; the large parts of the results moved without a copy. */
export default async function chunk({ tasks }: ChunkBatch): Promise<unknown> {
  const outcomes: ChunkOutcome[] = [];
  const moved: ArrayBufferLike[] = [];
  for (const task of tasks) {
    try {
      const result = await prepare(task);
      outcomes.push({ result });
      moved.push(result.terms.buffer, result.spans.buffer, result.vectors.buffer, result.codes.buffer);
    } catch (error) {
      outcomes.push({ error });
    }
  }
  return move({ [transferableSymbol]: moved, [valueSymbol]: outcomes });
}

async function prepare(task: ChunkTask): Promise<ChunkTaskResult> {
  const embedder = await open(task.model);
  return prepareDocument(task, {
    dimensions: embedder.dimensions,
    analyse: analyseChunks,
    embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
  });
}
