import { move, transferableSymbol, valueSymbol } from 'piscina';
import { beLessUrgent } from '../src/base/less-urgent.ts';
import type { ChunkBatch, ChunkOutcome, ChunkTask, ChunkTaskResult } from '../src/chunking/chunk-task.ts';
import { inOneBlock } from '../src/chunking/one-block.ts';
import { prepareDocument } from '../src/chunking/prepare-document.ts';
import { embedChunks } from '../src/models/chunk-vectors.ts';
import { OpenModels } from '../src/models/open-models.ts';
import { isGone, modelKey, openEmbedder } from '../src/models/registry.ts';
import { analyseChunks } from '../src/text/terms.ts';

/** Niceness of a thread that is never as urgent as one that answers somebody. */
const niceness = 10;

beLessUrgent(niceness);

const models = new OpenModels({ open: openEmbedder, keyOf: modelKey, isGone });
models.watch();

/** Answers a `ChunkOutcome` for each document of a batch; the large parts of the results moved without a copy. */
export default async function chunk({ tasks }: ChunkBatch): Promise<unknown> {
  const outcomes: ChunkOutcome[] = [];
  for (const task of tasks) {
    try {
      const started = performance.now();
      const result = await prepare(task);
      outcomes.push({ result, ms: performance.now() - started });
    } catch (error) {
      outcomes.push({ error });
    }
  }
  const made = outcomes.flatMap((outcome) => ('result' in outcome ? outcome.result : []));
  const { results, moved } = tasks.length > 1 ? ofMany(made) : ofOne(made);
  let next = 0;
  const answer = outcomes.map((outcome) =>
    'result' in outcome ? { ...outcome, result: results[next++] } : outcome,
  );
  return move({ [transferableSymbol]: moved, [valueSymbol]: answer });
}

/** A document that rides alone may be long: its blocks move as they are. */
function ofOne(results: readonly ChunkTaskResult[]) {
  const arrays = results.flatMap(({ terms, spans, vectors, codes }) => [terms, spans, vectors, codes]);
  return { results, moved: arrays.map(({ buffer }) => buffer) };
}

function ofMany(made: readonly ChunkTaskResult[]) {
  const { results, block } = inOneBlock(made);
  return { results, moved: [block] };
}

/** For a model that does not run here. */
const noVectors = {
  dimensions: 0,
  embed: async () => ({ vectors: new Float32Array(0), codes: new Uint8Array(0), tokens: 0 }),
};

async function prepare(task: ChunkTask): Promise<ChunkTaskResult> {
  if (task.model === null) return prepareDocument(task, { ...noVectors, analyse: analyseChunks });
  return models.use(task.model, (embedder) =>
    prepareDocument(task, {
      dimensions: embedder.dimensions,
      analyse: analyseChunks,
      embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
    }),
  );
}
