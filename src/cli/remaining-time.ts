/** Changes older than this do not count for the rate, except for the latest one. */
const windowMs = 15_000;

export interface ProgressSample {
  readonly atMs: number;
  readonly done: number;
  readonly total: number;
}

/**
 * Estimates the time left by a moving average: the rate of the last 15 seconds. Between two changes of `done`
 * it counts down, because a pause says nothing about the rate.
 */
export class RemainingTime {
  #changes: ProgressSample[] = [];
  #estimatedMs: number | null = null;

  record(sample: ProgressSample): void {
    const last = this.#changes.at(-1);
    if (last !== undefined && sample.done <= last.done) return;
    const isRecent = ({ atMs }: ProgressSample) => sample.atMs - atMs <= windowMs;
    const kept = this.#changes.filter(isRecent);
    this.#changes = [...(kept.length > 0 ? kept : this.#changes.slice(-1)), sample];
    const first = this.#changes[0]!;
    if (first === sample) return;
    this.#estimatedMs =
      ((sample.atMs - first.atMs) / (sample.done - first.done)) * (sample.total - sample.done);
  }

  /** Milliseconds left at the time `nowMs`; null before the first change. */
  estimateMs(nowMs: number): number | null {
    const last = this.#changes.at(-1);
    if (last === undefined || this.#estimatedMs === null) return null;
    return Math.max(0, this.#estimatedMs - (nowMs - last.atMs));
  }
}
