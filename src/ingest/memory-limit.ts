import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';

export interface MemoryLimitOptions {
  /** Memory held by the process that can only be reclaimed by swapping. */
  readonly heldBytes: () => number;
  readonly bytesMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Maximum age of the cached process size: reading it from the system takes most of a millisecond. */
const sampleMaxAgeMs = 50;

/** Memory limit of the process: while it is reached, new documents are rejected and accepted ones wait. */
export class MemoryLimit {
  readonly #options: MemoryLimitOptions;
  #sample = { bytes: 0, at: Number.NEGATIVE_INFINITY };

  constructor(options: MemoryLimitOptions) {
    this.#options = options;
  }

  get isReached(): boolean {
    const { heldBytes, bytesMax, clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#sample.at >= sampleMaxAgeMs) this.#sample = { bytes: heldBytes(), at: now };
    return this.#sample.bytes >= bytesMax;
  }

  /** Reason why documents wait, as a sentence; null while memory is available. */
  get shortage(): string | null {
    if (!this.isReached) return null;
    return `The server has reached its ${this.#limit}. Pending documents are indexed when memory is available.`;
  }

  /** Throws `AppError` `reserve_reached` while nothing can be added. */
  check(): void {
    if (!this.isReached) return;
    throw new AppError(
      'reserve_reached',
      `The server has reached its ${this.#limit}. New documents are rejected; search and deletion still work.`,
      { retryAfterMs: 10_000 },
    );
  }

  get #limit(): string {
    return `memory limit of ${this.#options.bytesMax} bytes (QUARRY_MEMORY_BYTES_MAX)`;
  }
}
