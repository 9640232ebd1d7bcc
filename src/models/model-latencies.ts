import type { Clock } from '../core/clock.ts';

/** Calls per model from which the percentiles are computed. */
const callsMax = 512;

/** Percentiles of the last calls of a model. */
export interface LatencySummary {
  /** Number of calls that the percentiles describe. */
  readonly calls: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/**
 * Durations of the last calls of each model since the start. Exact values of few calls are kept instead of a
 * histogram: 4 kB per model, and percentiles without the error of buckets.
 */
export class ModelLatencies {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #durations = new Map<string, number[]>();
  readonly #counts = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Runs a call of a model and records its duration, unless it fails. */
  async measure<Result>(model: string, run: () => Promise<Result>): Promise<Result> {
    const started = this.#clock.monotonic();
    const result = await run();
    this.#record(model, this.#clock.monotonic() - started);
    return result;
  }

  /** Null if the model has not been called. */
  summarize(model: string): LatencySummary | null {
    const durations = this.#durations.get(model);
    if (durations === undefined) return null;
    const sorted = [...durations].sort((a, b) => a - b);
    const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
    return {
      calls: sorted.length,
      p50Ms: percentile(0.5),
      p95Ms: percentile(0.95),
      p99Ms: percentile(0.99),
    };
  }

  #record(model: string, ms: number): void {
    const durations = this.#durations.get(model) ?? [];
    this.#durations.set(model, durations);
    const count = this.#counts.get(model) ?? 0;
    durations[count % callsMax] = ms;
    this.#counts.set(model, count + 1);
  }
}
