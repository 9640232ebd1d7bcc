import { assert } from '../../src/core/assert.ts';
import { cpuMsOf, ownCpuMs } from '../harness/cpu-time.ts';
import { type HistogramCounts, LatencyHistogram } from '../harness/histogram.ts';
import { memoryOf, type ProcessMemory } from '../harness/process-memory.ts';
import { randomBelow, randomStream, shuffle } from '../harness/random.ts';
import { similarity } from '../vectors/exact-search.ts';
import { countHits } from '../vectors/hits.ts';
import { filters, type TagFilter } from '../vectors/tags.ts';
import {
  exactNeighborsOf,
  type LoadedVectorDataset,
  loadVectorDataset,
  type VectorDataset,
} from '../vectors/vector-dataset.ts';
import { openVectorFile, type VectorFile } from '../vectors/vector-file.ts';
import { engineKinds } from './catalog.ts';
import type { EngineKind, EngineSearch, QueryVector, VectorEngine } from './vector-engine.ts';

/** Operations of an engine process. Calls must not overlap and must be in a valid order. */

export interface OpenTask {
  readonly engine: string;
  readonly set: VectorDataset;
  readonly directory: string;
  readonly load: boolean;
  readonly url: string | null;
  readonly seed: number;
}
/** Memory of the process before and after an operation; null if the system does not report it. */
export interface MemoryGrowth {
  readonly before: ProcessMemory | null;
  readonly after: ProcessMemory | null;
}
export interface EngineOpenResult extends TimeSpent, MemoryGrowth {
  readonly version: string;
  /** Optional capabilities besides searching. */
  readonly capabilities: { readonly replace: boolean; readonly save: boolean };
}
export interface SearchParameters {
  readonly ef: number;
  /** Index in `filters`; null: no filter. */
  readonly filter: number | null;
  readonly count: number;
}
export interface MeasureTask extends SearchParameters {
  readonly ms: number;
  readonly searchesMin: number;
  readonly inFlight: number;
  /** Replaces random rows during the searches, one after the other. */
  readonly isReplacing: boolean;
}
export interface TimeSpent {
  readonly wallMs: number;
  /** User and system time of all threads of the process that does the work. */
  readonly cpuMs: number;
}
export interface SearchRunResult extends TimeSpent {
  readonly searches: number;
  readonly latencies: HistogramCounts;
  readonly replaced: number;
}
export interface BuildResult extends TimeSpent, MemoryGrowth {
  readonly bytesByPart: Record<string, number> | null;
}

const blockRows = 1_024;
const recallMsMax = 4_000;
const recallQuestionsMin = 50;
const streams = { churn: 31, mixed: 32 } as const;

export class EngineWork {
  /** Called periodically with the progress of building or replacing, in rows. */
  onProgress: (done: number, total: number) => void = () => {};
  readonly #engine: VectorEngine;
  readonly #set: LoadedVectorDataset;
  readonly #queries: readonly QueryVector[];
  readonly #seed: number;
  #file: VectorFile | null = null;
  #searchCount = 0;

  static async open(task: OpenTask): Promise<{ work: EngineWork; opened: EngineOpenResult }> {
    const kind = engineKinds.find(({ name }) => name === task.engine);
    assert(kind !== undefined, `there is an engine ${task.engine}`);
    const version = kind.version();
    const set = await loadVectorDataset(task.set);
    const questions = toQueryVectors(set);
    const before = measureOwnMemory();
    const clock = startClock(null);
    const engine = await kind.open(engineOptions(task, kind));
    const work = new EngineWork(engine, { set, questions, seed: task.seed });
    // An engine that loads lazily has loaded after its first search.
    if (task.load) await work.#search({ ef: 64, filter: null, count: 10 }, 0);
    const capabilities = { replace: engine.replace !== null, save: engine.save !== null };
    const timeSpent = clock();
    // A separate server did not run before.
    const isInProcess = engine.serverPid === null;
    const memory = { before: isInProcess ? before : null, after: isInProcess ? measureOwnMemory() : null };
    return { work, opened: { ...timeSpent, ...memory, version, capabilities } };
  }

  private constructor(
    engine: VectorEngine,
    { set, questions, seed }: { set: LoadedVectorDataset; questions: readonly QueryVector[]; seed: number },
  ) {
    this.#engine = engine;
    this.#set = set;
    this.#queries = questions;
    this.#seed = seed;
  }

  async build(): Promise<BuildResult> {
    const file = await openVectorFile(this.#set.vectorsPath);
    const before = this.#memory();
    let [wallMs, cpuMs] = [0, 0];
    try {
      for (let first = 0; first < this.#set.rows; first += blockRows) {
        const count = Math.min(blockRows, this.#set.rows - first);
        const block = await file.read(first, count);
        this.onProgress(first, this.#set.rows);
        const clock = startClock(this.#engine.serverPid);
        await this.#engine.add(first, block, this.#set.tags.slice(first, first + count));
        const timeSpent = clock();
        wallMs += timeSpent.wallMs;
        cpuMs += timeSpent.cpuMs;
      }
    } finally {
      await file.close();
    }
    const clock = startClock(this.#engine.serverPid);
    await this.#engine.finish();
    const rest = clock();
    return {
      wallMs: wallMs + rest.wallMs,
      cpuMs: cpuMs + rest.cpuMs,
      before,
      after: this.#memory(),
      bytesByPart: this.#engine.bytesByPart(),
    };
  }

  /**
   * Returns the share of the nearest rows that are found (see `countHits`), over as many questions as fit
   * into a few seconds.
   */
  async recall(parameters: SearchParameters): Promise<number> {
    const until = performance.now() + recallMsMax;
    let [found, wanted] = [0, 0];
    for (let i = 0; i < this.#queries.length; i++) {
      if (i >= recallQuestionsMin && performance.now() > until) break;
      const returned = await this.#search(parameters, i);
      const filter = filterOf(parameters);
      const hits = await countHits(exactNeighborsOf(this.#set, filter, i), returned, {
        count: parameters.count,
        similarityOf: (row) => this.#similarityOf(row, i, filter),
      });
      wanted += hits.expected;
      found += hits.found;
    }
    return wanted === 0 ? 1 : found / wanted;
  }

  async measure(task: MeasureTask): Promise<SearchRunResult> {
    const latencies = new LatencyHistogram();
    let searches = 0;
    let replaced = 0;
    // Some engines apply a changed ef slowly, by reloading; this is not part of a search.
    await this.#search(task, this.#searchCount++);
    const clock = startClock(this.#engine.serverPid);
    const until = performance.now() + task.ms;
    const isRunning = () => performance.now() < until || searches < task.searchesMin;
    const lane = async () => {
      while (isRunning()) {
        const start = performance.now();
        const answer = this.#search(task, this.#searchCount++);
        if (answer instanceof Promise) await answer;
        latencies.record(performance.now() - start);
        searches += 1;
      }
    };
    const replacing = async () => {
      const random = randomStream(this.#seed, streams.mixed, this.#searchCount);
      for (; isRunning(); replaced++) await this.#replace([randomBelow(random, this.#set.rows)]);
    };
    await Promise.all([
      ...Array.from({ length: task.inFlight }, lane),
      ...(task.isReplacing ? [replacing()] : []),
    ]);
    return { ...clock(), searches, latencies: latencies.counts(), replaced };
  }

  /** Replaces a random share of all rows; `round` selects the random stream. */
  async churn({ round, share }: { readonly round: number; readonly share: number }): Promise<TimeSpent> {
    const all = Array.from({ length: this.#set.rows }, (_, row) => row);
    const rows = shuffle(all, randomStream(this.#seed, streams.churn, round)).slice(0, all.length * share);
    const clock = startClock(this.#engine.serverPid);
    for (let first = 0; first < rows.length; first += blockRows) {
      this.onProgress(first, rows.length);
      await this.#replace(rows.slice(first, first + blockRows));
    }
    await this.#engine.finish();
    return clock();
  }

  async save(): Promise<TimeSpent> {
    const clock = startClock(this.#engine.serverPid);
    await this.#engine.save?.();
    return clock();
  }

  #memory(): ProcessMemory | null {
    const { serverPid } = this.#engine;
    return serverPid === null ? measureOwnMemory() : memoryOf(serverPid);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    await this.#engine.close();
  }

  #search(parameters: SearchParameters, index: number): ReturnType<VectorEngine['search']> {
    const search: EngineSearch = {
      query: this.#queries[index % this.#queries.length]!,
      count: parameters.count,
      ef: parameters.ef,
      filter: filterOf(parameters),
    };
    return this.#engine.search(search);
  }

  async #replace(rows: readonly number[]): Promise<void> {
    const { replace } = this.#engine;
    assert(replace !== null, 'rows are replaced only in engines that support it');
    const { dimensions, tags } = this.#set;
    const vectors = new Float32Array(rows.length * dimensions);
    for (const [i, row] of rows.entries()) vectors.set(await this.#vectorOf(row), i * dimensions);
    await replace(
      rows,
      vectors,
      Uint8Array.from(rows, (row) => tags[row]!),
    );
  }

  async #similarityOf(row: number, question: number, filter: TagFilter | null): Promise<number | null> {
    if (filter !== null && (this.#set.tags[row]! & (1 << filter.bit)) === 0) return null;
    return similarity(await this.#vectorOf(row), 0, this.#queries[question]!.vector);
  }

  async #vectorOf(row: number): Promise<Float32Array> {
    this.#file ??= await openVectorFile(this.#set.vectorsPath);
    return this.#file.read(row, 1);
  }
}

function toQueryVectors({ questions, questionRows, dimensions }: LoadedVectorDataset): QueryVector[] {
  return Array.from({ length: questions }, (_, i) => {
    const vector = questionRows.slice(i * dimensions, (i + 1) * dimensions);
    return { vector, numbers: Array.from(vector) };
  });
}

function engineOptions({ set, directory, load, url }: OpenTask, kind: EngineKind) {
  assert(kind.efRange === null || kind.efRange.min > 0, 'ef is positive');
  return { dimensions: set.dimensions, rows: set.rows, directory, load, url };
}

function filterOf({ filter }: SearchParameters) {
  return filter === null ? null : filters[filter]!;
}

/** Returns the memory of this process without its JavaScript heap, which contains garbage of the harness. */
function measureOwnMemory(): ProcessMemory | null {
  collectGarbage();
  const all = memoryOf(process.pid);
  return all === null ? null : { ...all, ownBytes: all.ownBytes - process.memoryUsage().heapTotal };
}

/** Starts measuring wall and CPU time, of this process or of the server that works for it. */
function startClock(serverPid: number | null): () => TimeSpent {
  const cpu = () => (serverPid === null ? ownCpuMs() : (cpuMsOf(serverPid) ?? Number.NaN));
  const [wallStart, cpuStart] = [performance.now(), cpu()];
  return () => ({ wallMs: performance.now() - wallStart, cpuMs: cpu() - cpuStart });
}

function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
