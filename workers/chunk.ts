import { move, transferableSymbol, valueSymbol } from 'piscina';
import { beLessUrgent } from '../src/base/less-urgent.ts';
import type {
  ChunkAnswer,
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  ChunkTaskResult,
} from '../src/chunking/chunk-task.ts';
import { inOneBlock } from '../src/chunking/one-block.ts';
import { packChunks } from '../src/chunking/packed-chunks.ts';
import { prepareDocument } from '../src/chunking/prepare-document.ts';
import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { embedChunks } from '../src/models/chunk-vectors.ts';
import { OpenModels } from '../src/models/open-models.ts';
import { isGone, modelKey, openEmbedder } from '../src/models/registry.ts';
import { analyseChunks } from '../src/text/terms.ts';

refuseConnections();

/** Niceness of a thread that is never as urgent as one that answers somebody. */
const niceness = 10;

beLessUrgent(niceness);

const models = new OpenModels({ open: openEmbedder, keyOf: modelKey, isGone });
models.watch();

/** An answer, and the buffers of it that move. */
interface Sent {
  readonly answer: readonly ChunkOutcome[];
  readonly moved: readonly ArrayBuffer[];
}

/** Answers a `ChunkOutcome` for each document of a batch; the large parts of the results moved without a copy. */
export default async function chunk({ tasks }: ChunkBatch): Promise<unknown> {
  const outcomes: ChunkOutcome[] = [];
  for (const task of tasks) {
    try {
      const started = performance.now();
      const result = await prepare(task);
      outcomes.push({ result, packed: [], ms: performance.now() - started });
    } catch (error) {
      outcomes.push({ error });
    }
  }
  const [only] = outcomes;
  const isAlone = tasks.length === 1 && only !== undefined && 'result' in only;
  const { answer, moved } = isAlone ? ofOne(only) : ofMany(outcomes);
  return move({ [transferableSymbol]: moved, [valueSymbol]: answer });
}

/** From so many chunks on, reading them in one go would hold the main thread. */
const packedChunksMin = 64;

/** A document that rides alone may be long: its blocks move as they are. */
function ofOne({ result, ms }: ChunkAnswer): Sent {
  const { chunks, terms, spans, vectors, codes } = result;
  const packed = chunks.length < packedChunksMin ? [] : packChunks(chunks);
  const sent = { ...result, chunks: packed.length === 0 ? chunks : [] };
  const moved = [terms, spans, vectors, codes, ...packed].map(({ buffer }) => buffer as ArrayBuffer);
  return { answer: [{ result: sent, packed, ms }], moved };
}

function ofMany(outcomes: readonly ChunkOutcome[]): Sent {
  const made = outcomes.flatMap((outcome) => ('result' in outcome ? outcome.result : []));
  const { results, block } = inOneBlock(made);
  let next = 0;
  const answer = outcomes.map((outcome) =>
    'result' in outcome ? { ...outcome, result: results[next++]! } : outcome,
  );
  return { answer, moved: [block] };
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
