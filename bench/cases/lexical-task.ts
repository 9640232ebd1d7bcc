import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CollectionIndex, type IndexQuery } from '../../src/index/collection-index.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';
import { LatencyHistogram } from '../harness/histogram.ts';
import { type RandomStream, randomBelow, randomStream } from '../harness/random.ts';
import { interleave } from '../harness/rounds.ts';
import type { TaskProgress } from '../harness/task-process.ts';

/** Task process: fills one shard with chunks of generated words and searches it by BM25. */

export interface LexicalInput {
  readonly chunks: number;
  readonly seed: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly results: number;
}

export interface LexicalRound {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly cpuUs: number;
  readonly searches: number;
}

export interface LexicalOutput {
  readonly kinds: readonly { readonly name: string; readonly rounds: readonly LexicalRound[] }[];
  readonly bytesByPart: Readonly<Record<string, number>>;
  readonly chunksPerSecond: number;
  readonly entriesPerChunk: number;
}

const vocabularySize = 200_000;
const wordsPerChunk = 320;
const chunksPerDocument = 20;
const dimensions = 8;
const searchesMin = 20;
const stagingConcurrencyMax = 16;
const searchMsMax = 60_000;
const questionsPerKind = 500;
const streams = { chunk: 41, question: 42 } as const;

/** Queries as ranks of words, 0 the most frequent. Ten of the first twenty words occur in nearly every chunk. */
const kinds: readonly { readonly name: string; readonly drawRanks: (random: RandomStream) => number[] }[] = [
  {
    name: 'five words, two of them common',
    drawRanks: (random) => [
      randomBelow(random, 20),
      20 + randomBelow(random, 80),
      ...Array.from({ length: 3 }, () => 300 + randomBelow(random, 5_000)),
    ],
  },
  {
    name: 'five rare words',
    drawRanks: (random) => Array.from({ length: 5 }, () => 2_000 + randomBelow(random, 20_000)),
  },
  {
    name: 'two common words',
    drawRanks: (random) => [randomBelow(random, 20), 20 + randomBelow(random, 80)],
  },
  { name: 'one word', drawRanks: (random) => [100 + randomBelow(random, 5_000)] },
];

/** Returns the 64-bit hash of the word of a rank. The mapping is a bijection, so that there are no collisions. */
function hashOf(rank: number): bigint {
  return BigInt.asUintN(64, BigInt(rank + 1) * 0x9e3779b97f4a7c15n);
}

/** Draws a rank from a Zipf distribution by inversion of its integral. */
function drawRank(random: RandomStream): number {
  return Math.min(vocabularySize - 1, Math.floor((vocabularySize + 1) ** random()) - 1);
}

export default async function lexical(input: LexicalInput, progress: TaskProgress): Promise<LexicalOutput> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-bench-lexical-'));
  // One search thread: the case measures a single core.
  CollectionIndex.useSearchThreads(1);
  const index = await CollectionIndex.open({ collectionId: 'lexical', dimensions, shards: 1, directory });
  try {
    const filled = await fill(index, input, progress);
    const steps = interleave(kinds, input.rounds, input.seed);
    const rounds = new Map(kinds.map((kind) => [kind, [] as LexicalRound[]]));
    for (const [done, kind] of kinds.entries()) {
      progress.update('warming up', done, kinds.length, kind.name);
      await measureSearches(index, kind.drawRanks, { ...input, seconds: input.seconds / 5 });
    }
    for (const [done, { round, configuration: kind }] of steps.entries()) {
      progress.update('measuring', done, steps.length, `round ${round + 1} of ${input.rounds}: ${kind.name}`);
      rounds.get(kind)?.push(await measureSearches(index, kind.drawRanks, input));
    }
    return {
      ...filled,
      kinds: kinds.map((kind) => ({ name: kind.name, rounds: rounds.get(kind) ?? [] })),
      bytesByPart: index.statistics().bytes,
    };
  } finally {
    await index.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function fill(
  index: CollectionIndex,
  { chunks, seed }: LexicalInput,
  progress: TaskProgress,
): Promise<Pick<LexicalOutput, 'chunksPerSecond' | 'entriesPerChunk'>> {
  const documents = Math.ceil(chunks / chunksPerDocument);
  let next = 0;
  let [sequence, entries, ms] = [0, 0, 0];
  const lane = async () => {
    for (let number = next++; number < documents; number = next++) {
      const rows = Math.min(chunksPerDocument, chunks - number * chunksPerDocument);
      const generated = generateDocument(randomStream(seed, streams.chunk, number), rows);
      entries += generated.entries;
      progress.update('filling a shard', number, documents, `with ${chunks} chunks`);
      const start = performance.now();
      await index.stage({ shard: 0, version: number + 1, ...generated.content, attributes: {} });
      index.commit({ sequence: ++sequence, shard: 0, add: number + 1 });
      ms += performance.now() - start;
    }
  };
  await Promise.all(Array.from({ length: stagingConcurrencyMax }, lane));
  return {
    chunksPerSecond: (chunks * 1_000 * stagingConcurrencyMax) / ms,
    entriesPerChunk: entries / chunks,
  };
}

function generateDocument(random: RandomStream, rows: number) {
  const vectors = new Float32Array(rows * dimensions);
  for (let row = 0; row < rows; row++) {
    const parts = Array.from({ length: dimensions }, () => random() - 0.5);
    const length = Math.hypot(...parts);
    vectors.set(
      parts.map((part) => part / length),
      row * dimensions,
    );
  }
  const counted = Array.from({ length: rows }, () => {
    const counts = new Map<number, number>();
    for (let word = 0; word < wordsPerChunk; word++) {
      const rank = drawRank(random);
      counts.set(rank, (counts.get(rank) ?? 0) + 1);
    }
    return [...counts].map(([rank, count]) => ({ hash: hashOf(rank), count }));
  });
  const entries = counted.reduce((sum, row) => sum + row.length, 0);
  return { content: { vectors, terms: termBlock(counted, entries) }, entries };
}

/** Encodes a TermBlock; same layout as test/text/term-block.ts. */
function termBlock(
  rows: readonly (readonly { readonly hash: bigint; readonly count: number }[])[],
  entries: number,
): Uint8Array {
  let at = Math.ceil((8 + 4 * rows.length) / 8) * 8;
  const bytes = Buffer.alloc(at + 16 * entries);
  bytes.writeUInt32LE(0x31425451, 0);
  bytes.writeUInt32LE(rows.length, 4);
  for (const [i, row] of rows.entries()) {
    bytes.writeUInt32LE(row.length, 8 + 4 * i);
    for (const { hash, count } of row.toSorted((a, b) => (a.hash < b.hash ? -1 : 1))) {
      bytes.writeBigUInt64LE(hash, at);
      bytes.writeUInt16LE(count, at + 8);
      at += 16;
    }
  }
  return bytes;
}

async function measureSearches(
  index: CollectionIndex,
  drawRanks: (random: RandomStream) => number[],
  { seed, seconds, results }: LexicalInput,
): Promise<LexicalRound> {
  const queries = Array.from({ length: questionsPerKind }, (_, i): IndexQuery => {
    const ranks = [...new Set(drawRanks(randomStream(seed, streams.question, i)))];
    return {
      vector: null,
      terms: ranks.map((rank, group) => ({ hash: hashOf(rank), weight: 1, group })),
      filter: null,
      vectorCandidates: 0,
      lexicalCandidates: results,
      deadlineMs: searchMsMax,
    };
  });
  const latencies = new LatencyHistogram();
  const [startMs, startCpu] = [performance.now(), ownCpuMs()];
  let searches = 0;
  for (; searches < searchesMin || performance.now() - startMs < seconds * 1_000; searches++) {
    const start = performance.now();
    await index.search(queries[searches % queries.length]!);
    latencies.record(performance.now() - start);
  }
  return {
    p50Ms: latencies.quantileMs(0.5),
    p99Ms: latencies.quantileMs(0.99),
    cpuUs: ((ownCpuMs() - startCpu) * 1_000) / searches,
    searches,
  };
}
