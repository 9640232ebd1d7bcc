import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CollectionIndex } from '../../src/index/collection-index.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';
import { interleave } from '../harness/rounds.ts';
import type { TaskProgress } from '../harness/task-process.ts';

/** Task process: calls an index of one row, so that nearly all CPU is spent in crossing the native boundary. */

export interface BoundaryInput {
  readonly seed: number;
  readonly seconds: number;
  readonly rounds: number;
}

export interface BoundaryOutput {
  readonly ways: readonly {
    readonly name: string;
    /** Target: maximum microseconds; null if there is none. */
    readonly most: number | null;
    /** Microseconds of CPU per call, all threads of the process together, round by round. */
    readonly cpuUs: readonly number[];
  }[];
}

interface CallVariant {
  readonly name: string;
  readonly inFlight: number;
  readonly max: number | null;
  readonly call: (index: CollectionIndex) => Promise<unknown>;
}

const dimensions = 320;
const callMsMax = 60_000;
const vector = new Float32Array(dimensions);
vector[0] = 1;
/** A TermBlock of one row with one word; see src/text/terms.ts. */
const terms = new Uint8Array(32);
terms.set([0x51, 0x54, 0x42, 0x31, 1, 0, 0, 0, 1, 0, 0, 0]);
terms.set([7, 0, 0, 0, 0, 0, 0, 0, 1], 16);

const search = (vector: Float32Array | null) => (index: CollectionIndex) =>
  index.search({
    vector,
    terms: [{ hash: 7n, weight: 1, group: 0 }],
    filter: null,
    vectorCandidates: 10,
    lexicalCandidates: 10,
    deadlineMs: callMsMax,
  });

/** Listings always run on a thread of the engine. */
const list = (index: CollectionIndex) => index.list(null, 10);

const callVariants: readonly CallVariant[] = [
  { name: 'search by a word, answered on the calling thread', inFlight: 1, max: 1, call: search(null) },
  {
    name: 'search by a word and a vector, answered on the calling thread',
    inFlight: 1,
    // Includes some search work in addition to the boundary.
    max: null,
    call: search(vector),
  },
  { name: 'listing, answered by an engine thread, 1 in flight', inFlight: 1, max: null, call: list },
  { name: 'listing, answered by an engine thread, 32 in flight', inFlight: 32, max: 5, call: list },
];

export default async function boundary(
  { seed, seconds, rounds }: BoundaryInput,
  progress: TaskProgress,
): Promise<BoundaryOutput> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-bench-boundary-'));
  CollectionIndex.useSearchThreads(1);
  const index = await CollectionIndex.open({ collectionId: 'boundary', dimensions, shards: 1, directory });
  try {
    await index.stage({ shard: 0, version: 1, vectors: vector, terms, attributes: {} });
    index.commit({ sequence: 1, shard: 0, add: 1 });
    const found = new Map(callVariants.map((variant) => [variant, [] as number[]]));
    for (const [done, variant] of callVariants.entries()) {
      progress.update('warming up', done, callVariants.length, variant.name);
      await cpuUsOf(variant, index, seconds / 2);
    }
    const steps = interleave(callVariants, rounds, seed);
    for (const [done, { round, configuration: variant }] of steps.entries()) {
      progress.update('measuring', done, steps.length, `round ${round + 1} of ${rounds}: ${variant.name}`);
      found.get(variant)?.push(await cpuUsOf(variant, index, seconds));
    }
    return { ways: [...found].map(([{ name, max: most }, cpuUs]) => ({ name, most, cpuUs })) };
  } finally {
    await index.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function cpuUsOf(
  { inFlight, call }: CallVariant,
  index: CollectionIndex,
  seconds: number,
): Promise<number> {
  const [until, startCpu] = [performance.now() + seconds * 1_000, ownCpuMs()];
  let calls = 0;
  const lane = async () => {
    do {
      await call(index);
      calls += 1;
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return ((ownCpuMs() - startCpu) * 1_000) / calls;
}
