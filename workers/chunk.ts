import { move, transferableSymbol, valueSymbol } from 'piscina';
import type {
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  ChunkTaskResult,
  TimedChunkResult,
} from '../src/chunking/chunk-task.ts';
import { arraysOf, packResults } from '../src/chunking/pack-results.ts';
import { packChunks } from '../src/chunking/packed-chunks.ts';
import { prepareDocument } from '../src/chunking/prepare-document.ts';
import { storeChunks } from '../src/chunking/store-chunks.ts';
import { setNiceness } from '../src/core/niceness.ts';
import { denyConnections } from '../src/egress/deny-connections.ts';
import { embedChunks } from '../src/models/chunk-vectors.ts';
import { ModelCache } from '../src/models/model-cache.ts';
import { isModelRemoved, openEmbedder, toModelKey } from '../src/models/registry.ts';
import { encodeChunk } from '../src/storage/chunks.ts';
import { analyzeChunks, packTerms } from '../src/text/terms.ts';

denyConnections();

/** Niceness of a thread whose work is less urgent than replies to requests. */
const niceness = 10;

setNiceness(niceness);

const models = new ModelCache({ open: openEmbedder, keyOf: toModelKey, isRemoved: isModelRemoved });
models.startChecking();

/** Reply, and the buffers in it that are transferred. */
interface TransferableReply {
  readonly outcomes: readonly ChunkOutcome[];
  readonly transferList: readonly ArrayBuffer[];
}

/** Returns a `ChunkOutcome` for each document of a batch; large parts of the results move without a copy. */
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
  const { outcomes: reply, transferList } = isAlone ? packSingle(only) : packMany(outcomes);
  return move({ [transferableSymbol]: transferList, [valueSymbol]: reply });
}

/** Number of chunks at which deserializing them at once would block the main thread. */
const packedChunksMin = 64;

/** A document sent alone may be long: its blocks are transferred as they are. */
function packSingle({ result, ms }: TimedChunkResult): TransferableReply {
  const { chunks, terms, fineTerms, spans, vectors, codes, stored } = result;
  const packed = chunks.length < packedChunksMin ? [] : packChunks(chunks);
  const transferred = { ...result, chunks: packed.length === 0 ? chunks : [] };
  const arrays = [terms, fineTerms, spans, vectors, codes, ...arraysOf(stored), ...packed];
  const transferList = arrays.map(({ buffer }) => buffer as ArrayBuffer);
  return { outcomes: [{ result: transferred, packed, ms }], transferList };
}

function packMany(outcomes: readonly ChunkOutcome[]): TransferableReply {
  const taskResults = outcomes.flatMap((outcome) => ('result' in outcome ? outcome.result : []));
  const { results, block } = packResults(taskResults);
  let next = 0;
  const replies = outcomes.map((outcome) =>
    'result' in outcome ? { ...outcome, result: results[next++]! } : outcome,
  );
  return { outcomes: replies, transferList: [block] };
}

/** Used when the model does not run in this process. */
const noEmbedder = {
  dimensions: 0,
  embed: async () => ({ vectors: new Float32Array(0), codes: new Uint8Array(0), tokens: 0 }),
};

/** Same as `analyzeChunks`, with packed terms. */
function analyze(...parameters: Parameters<typeof analyzeChunks>) {
  const analysis = analyzeChunks(...parameters);
  return { ...analysis, block: packTerms(analysis.block) };
}

async function prepare(task: ChunkTask): Promise<ChunkTaskResult> {
  if (task.model === null) return prepareDocument(task, { ...noEmbedder, analyze });
  const result = await models.use(task.model, (embedder) =>
    prepareDocument(task, {
      dimensions: embedder.dimensions,
      analyze,
      embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
    }),
  );
  return storeChunks(result, encodeChunk);
}
