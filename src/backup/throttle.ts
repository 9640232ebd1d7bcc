import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';

/** Limits the bytes per second of a backup. */
export class Throttle {
  readonly #bytesPerSecond: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #signal: AbortSignal;
  /** Time at which all bytes taken so far fit into the rate. */
  #paidAtMs: number;

  /** `bytesPerSecond`: 0 for no limit. */
  constructor(bytesPerSecond: number, clock: Pick<Clock, 'monotonic'>, signal: AbortSignal) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#clock = clock;
    this.#signal = signal;
    this.#paidAtMs = clock.monotonic();
  }

  /** Resolves when `bytes` more may be transferred. Rejects when the backup is aborted. */
  async take(bytes: number): Promise<void> {
    this.#signal.throwIfAborted();
    if (this.#bytesPerSecond === 0) return;
    const now = this.#clock.monotonic();
    this.#paidAtMs = Math.max(this.#paidAtMs, now) + (bytes / this.#bytesPerSecond) * 1_000;
    if (this.#paidAtMs > now) await sleep(this.#paidAtMs - now, undefined, { signal: this.#signal });
  }
}
