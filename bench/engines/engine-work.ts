import { assert } from '../../src/base/assert.ts';
import { below, chanceOf, shuffled } from '../harness/chance.ts';
import { cpuMsOf, ownCpuMs } from '../harness/cpu-time.ts';
import { type HistogramCounts, LatencyHistogram } from '../harness/histogram.ts';
import { memoryOf, type ProcessMemory } from '../harness/process-memory.ts';
import { similarity } from '../vectors/exact-search.ts';
import { hitsOf } from '../vectors/hits.ts';
import { type Filter, filters } from '../vectors/tags.ts';
import { openVectorFile, type VectorFile } from '../vectors/vector-file.ts';
import { exactAnswer, type LoadedSet, loadVectorSet, type VectorSet } from '../vectors/vector-set.ts';
import { engineKinds } from './catalogue.ts';
import type { EngineKind, EngineSearch, Question, VectorEngine } from './vector-engine.ts';

/** What an engine's process can be asked to do; one at a time, in a sensible order. */

export interface OpenTask {
  readonly engine: string;
  readonly set: VectorSet;
  readonly directory: string;
  readonly load: boolean;
  readonly url: string | null;
  readonly seed: number;
}
/** Memory of the process before something and after it; null where it cannot be told. */
export interface Growth {
  readonly before: ProcessMemory | null;
  readonly after: ProcessMemory | null;
}
export interface Opened extends Spent, Growth {
  readonly version: string;
  /** What it can do besides searching. */
  readonly can: { readonly replace: boolean; readonly save: boolean };
}
export interface Asking {
  readonly effort: number;
  /** Number of the filter in `filters`; null: none. */
  readonly filter: number | null;
  readonly count: number;
}
export interface MeasureTask extends Asking {
  readonly ms: number;
  readonly searchesLeast: number;
  readonly inFlight: number;
  /** Replaces random rows meanwhile, one after the other. */
  readonly replacing: boolean;
}
export interface Spent {
  readonly wallMs: number;
  /** User and system, all threads of the process that does the work. */
  readonly cpuMs: number;
}
export interface Measured extends Spent {
  readonly searches: number;
  readonly latencies: HistogramCounts;
  readonly replaced: number;
}
export interface Built extends Spent, Growth {
  readonly bytesByPart: Record<string, number> | null;
}

const blockRows = 1_024;
const recallMsMax = 4_000;
const recallQuestionsLeast = 50;
const streams = { churn: 31, mixed: 32 } as const;

export class EngineWork {
  /** Told now and then how far building or replacing is, in rows. */
  onProgress: (done: number, total: number) => void = () => {};
  readonly #engine: VectorEngine;
  readonly #set: LoadedSet;
  readonly #questions: readonly Question[];
  readonly #seed: number;
  #file: VectorFile | null = null;
  #asked = 0;

  static async open(task: OpenTask): Promise<{ work: EngineWork; opened: Opened }> {
    const kind = engineKinds.find(({ name }) => name === task.engine);
    assert(kind !== undefined, `there is an engine ${task.engine}`);
    const version = kind.version();
    const set = await loadVectorSet(task.set);
    const questions = questionsOf(set);
    const before = memoryOfThis();
    const clock = startClock(null);
    const engine = await kind.open(engineOptions(task, kind));
    const work = new EngineWork(engine, { set, questions, seed: task.seed });
    // An engine that loads late has loaded when it has answered.
    if (task.load) await work.#search({ effort: 64, filter: null, count: 10 }, 0);
    const can = { replace: engine.replace !== null, save: engine.save !== null };
    const spent = clock();
    // A server of its own was not there before.
    const isOwn = engine.serverPid === null;
    const growth = { before: isOwn ? before : null, after: isOwn ? memoryOfThis() : null };
    return { work, opened: { ...spent, ...growth, version, can } };
  }

  private constructor(
    engine: VectorEngine,
    { set, questions, seed }: { set: LoadedSet; questions: readonly Question[]; seed: number },
  ) {
    this.#engine = engine;
    this.#set = set;
    this.#questions = questions;
    this.#seed = seed;
  }

  async build(): Promise<Built> {
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
        const spent = clock();
        wallMs += spent.wallMs;
        cpuMs += spent.cpuMs;
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

  /** Share of the nearest rows that are found (see hitsOf), over as many questions as a few seconds allow. */
  async recall(asking: Asking): Promise<number> {
    const until = performance.now() + recallMsMax;
    let [found, wanted] = [0, 0];
    for (let i = 0; i < this.#questions.length; i++) {
      if (i >= recallQuestionsLeast && performance.now() > until) break;
      const returned = await this.#search(asking, i);
      const filter = filterOf(asking);
      const hits = await hitsOf(exactAnswer(this.#set, filter, i), returned, {
        count: asking.count,
        similarityOf: (row) => this.#similarityOf(row, i, filter),
      });
      wanted += hits.wanted;
      found += hits.found;
    }
    return wanted === 0 ? 1 : found / wanted;
  }

  async measure(task: MeasureTask): Promise<Measured> {
    const latencies = new LatencyHistogram();
    let searches = 0;
    let replaced = 0;
    // Some engines change their effort slowly, by loading themselves again: that is no part of a search.
    await this.#search(task, this.#asked++);
    const clock = startClock(this.#engine.serverPid);
    const until = performance.now() + task.ms;
    const goesOn = () => performance.now() < until || searches < task.searchesLeast;
    const lane = async () => {
      while (goesOn()) {
        const start = performance.now();
        const answer = this.#search(task, this.#asked++);
        if (answer instanceof Promise) await answer;
        latencies.record(performance.now() - start);
        searches += 1;
      }
    };
    const replacing = async () => {
      const chance = chanceOf(this.#seed, streams.mixed, this.#asked);
      for (; goesOn(); replaced++) await this.#replace([below(chance, this.#set.rows)]);
    };
    await Promise.all([
      ...Array.from({ length: task.inFlight }, lane),
      ...(task.replacing ? [replacing()] : []),
    ]);
    return { ...clock(), searches, latencies: latencies.counts(), replaced };
  }

  /** Replaces a share of all rows, drawn by lot; `round` says which. */
  async churn({ round, share }: { readonly round: number; readonly share: number }): Promise<Spent> {
    const all = Array.from({ length: this.#set.rows }, (_, row) => row);
    const rows = shuffled(all, chanceOf(this.#seed, streams.churn, round)).slice(0, all.length * share);
    const clock = startClock(this.#engine.serverPid);
    for (let first = 0; first < rows.length; first += blockRows) {
      this.onProgress(first, rows.length);
      await this.#replace(rows.slice(first, first + blockRows));
    }
    await this.#engine.finish();
    return clock();
  }

  async save(): Promise<Spent> {
    const clock = startClock(this.#engine.serverPid);
    await this.#engine.save?.();
    return clock();
  }

  #memory(): ProcessMemory | null {
    const { serverPid } = this.#engine;
    return serverPid === null ? memoryOfThis() : memoryOf(serverPid);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    await this.#engine.close();
  }

  #search(asking: Asking, index: number): ReturnType<VectorEngine['search']> {
    const search: EngineSearch = {
      question: this.#questions[index % this.#questions.length]!,
      count: asking.count,
      effort: asking.effort,
      filter: filterOf(asking),
    };
    return this.#engine.search(search);
  }

  async #replace(rows: readonly number[]): Promise<void> {
    const { replace } = this.#engine;
    assert(replace !== null, 'only engines that can replace rows are asked to');
    const { dimensions, tags } = this.#set;
    const vectors = new Float32Array(rows.length * dimensions);
    for (const [i, row] of rows.entries()) vectors.set(await this.#vectorOf(row), i * dimensions);
    await replace(
      rows,
      vectors,
      Uint8Array.from(rows, (row) => tags[row]!),
    );
  }

  async #similarityOf(row: number, question: number, filter: Filter | null): Promise<number | null> {
    if (filter !== null && (this.#set.tags[row]! & (1 << filter.bit)) === 0) return null;
    return similarity(await this.#vectorOf(row), 0, this.#questions[question]!.vector);
  }

  async #vectorOf(row: number): Promise<Float32Array> {
    this.#file ??= await openVectorFile(this.#set.vectorsPath);
    return this.#file.read(row, 1);
  }
}

function questionsOf({ questions, questionRows, dimensions }: LoadedSet): Question[] {
  return Array.from({ length: questions }, (_, i) => {
    const vector = questionRows.slice(i * dimensions, (i + 1) * dimensions);
    return { vector, numbers: Array.from(vector) };
  });
}

function engineOptions({ set, directory, load, url }: OpenTask, kind: EngineKind) {
  assert(kind.efforts === null || kind.efforts.least > 0, 'an effort is positive');
  return { dimensions: set.dimensions, rows: set.rows, directory, load, url };
}

function filterOf({ filter }: Asking) {
  return filter === null ? null : filters[filter]!;
}

/** Of this process without its JavaScript heap, whose garbage is the harness's. */
function memoryOfThis(): ProcessMemory | null {
  collectGarbage();
  const all = memoryOf(process.pid);
  return all === null ? null : { ...all, ownBytes: all.ownBytes - process.memoryUsage().heapTotal };
}

/** Wall and CPU time from now on, of this process or of the server that works for it. */
function startClock(serverPid: number | null): () => Spent {
  const cpu = () => (serverPid === null ? ownCpuMs() : (cpuMsOf(serverPid) ?? Number.NaN));
  const [wallStart, cpuStart] = [performance.now(), cpu()];
  return () => ({ wallMs: performance.now() - wallStart, cpuMs: cpu() - cpuStart });
}

function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
