import type { Clock } from '../core/clock.ts';
import type { Trace } from '../core/trace.ts';
import type { MissingModel, SearchTimes, SelectionStats } from './search-result.ts';

/** Times and counters of one query; the only mutable state of a search. */
export class QueryRecorder {
  readonly times: SearchTimes = { embed: 0, search: 0, rerank: 0, read: 0 };
  /** Unavailable models, with reasons. */
  readonly missing: MissingModel[] = [];
  /** Number of texts scored by the reranker. */
  reranked = 0;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #trace: Trace | null;
  #checked = 0;
  #complete = true;
  #rescored = 0;

  constructor(clock: Pick<Clock, 'monotonic'>, trace: Trace | null = null) {
    this.#clock = clock;
    this.#trace = trace;
  }

  get selection(): SelectionStats {
    return { checked: this.#checked, complete: this.#complete, rescored: this.#rescored };
  }

  /** Runs work and adds its time to a stage. `span`: its name in a trace. */
  async measure<T>(stage: keyof SearchTimes, work: () => Promise<T>, span: string = stage): Promise<T> {
    const started = this.#clock.monotonic();
    const result = await work();
    this.times[stage] += this.#clock.monotonic() - started;
    if (this.#trace !== null) this.#trace.addSpan(span, started);
    return result;
  }

  /** Runs work that is part of a stage, as a span of its own. */
  trace<T>(span: string, work: () => T): T {
    if (this.#trace === null) return work();
    const started = this.#clock.monotonic();
    const result = work();
    this.#trace.addSpan(span, started);
    return result;
  }

  /** Called once per query of a request. */
  recordSelection({ checked, complete }: Pick<SelectionStats, 'checked' | 'complete'>): void {
    this.#checked += checked;
    this.#complete &&= complete;
  }

  /** A deeper search rescores the same chunks again, so the largest number counts. */
  recordRescored(count: number): void {
    this.#rescored = Math.max(this.#rescored, count);
  }
}
