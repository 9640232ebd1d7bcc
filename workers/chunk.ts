import { move, transferableSymbol, valueSymbol } from 'piscina';
import type {
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  ChunkTaskResult,
  TimedChunkResult,
} from '../src/chunking/chunk-task.ts';
import { packResults } from '../src/chunking/pack-results.ts';
import { packChunks } from '../src/chunking/packed-chunks.ts';
import { prepareDocument } from '../src/chunking/prepare-document.ts';
import { setNiceness } from '../src/core/niceness.ts';
import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { embedChunks } from '../src/models/chunk-vectors.ts';
import { ModelCache } from '../src/models/model-cache.ts';
import { isModelRemoved, openEmbedder, toModelKey } from '../src/models/registry.ts';
import { analyzeChunks } from '../src/text/terms.ts';

refuseConnections();

/** Niceness of a thread that is never as urgent as one that answers somebody. */
const niceness = 10;

setNiceness(niceness);

const models = new ModelCache({ open: openEmbedder, keyOf: toModelKey, isRemoved: isModelRemoved });
models.startChecking();

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
  const { answer: reply, moved } = isAlone ? packSingle(only) : packMany(outcomes);
  return move({ [transferableSymbol]: moved, [valueSymbol]: reply });
}

/** From so many chunks on, reading them in one go would hold the main thread. */
const packedChunksMin = 64;

/** A document that rides alone may be long: its blocks move as they are. */
function packSingle({ result, ms }: TimedChunkResult): Sent {
  const { chunks, terms, spans, vectors, codes } = result;
  const packed = chunks.length < packedChunksMin ? [] : packChunks(chunks);
  const sent = { ...result, chunks: packed.length === 0 ? chunks : [] };
  const moved = [terms, spans, vectors, codes, ...packed].map(({ buffer }) => buffer as ArrayBuffer);
  return { answer: [{ result: sent, packed, ms }], moved };
}

function packMany(outcomes: readonly ChunkOutcome[]): Sent {
  const taskResults = outcomes.flatMap((outcome) => ('result' in outcome ? outcome.result : []));
  const { results, block } = packResults(taskResults);
  let next = 0;
  const answer = outcomes.map((outcome) =>
    'result' in outcome ? { ...outcome, result: results[next++]! } : outcome,
  );
  return { answer, moved: [block] };
}

/** For a model that does not run here. */
const noEmbedder = {
  dimensions: 0,
  embed: async () => ({ vectors: new Float32Array(0), codes: new Uint8Array(0), tokens: 0 }),
};

async function prepare(task: ChunkTask): Promise<ChunkTaskResult> {
  if (task.model === null) return prepareDocument(task, { ...noEmbedder, analyze: analyzeChunks });
  return models.use(task.model, (embedder) =>
    prepareDocument(task, {
      dimensions: embedder.dimensions,
      analyze: analyzeChunks,
      embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
    }),
  );
}
