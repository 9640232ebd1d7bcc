/** Longest planned step, in milliseconds. */
const stepMsMax = 1_000;
/** Milliseconds by which a step may end late and still count in full. */
const lateMsMax = 4_000;

export interface AttemptTimerOptions {
  /** Milliseconds without a call of `restartIdle`. */
  readonly idleMsMax: number;
  /** Milliseconds of the attempt. */
  readonly totalMsMax: number;
  /** Called at most once. */
  readonly onExpired: (limit: 'idle' | 'total') => void;
  /** Returns milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * Limits the time of one attempt, in total and without progress. Time is counted in short steps, and a step
 * that ends more than a few seconds late counts only up to there: the machine was suspended, the server was
 * stopped, or the clock jumped, and the document must not fail for that.
 */
export class AttemptTimer {
  readonly #options: AttemptTimerOptions;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #countedAt: number;
  #idleMs = 0;
  #totalMs = 0;
  #isIdlePaused = false;

  /** Starts at once. */
  constructor(options: AttemptTimerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#countedAt = this.#now();
    this.#schedule();
  }

  /** Milliseconds counted until the last call of a method. */
  get totalMs(): number {
    return this.#totalMs;
  }

  /** Restarts the time without progress, even after a pause. */
  restartIdle(): void {
    this.#count();
    this.#idleMs = 0;
    this.#isIdlePaused = false;
  }

  /** Stops counting the time without progress until `restartIdle`. */
  pauseIdle(): void {
    this.#count();
    this.#isIdlePaused = true;
  }

  stop(): void {
    this.#count();
    clearTimeout(this.#timer);
  }

  #count(): void {
    const now = this.#now();
    const elapsedMs = Math.min(now - this.#countedAt, stepMsMax + lateMsMax);
    this.#countedAt = now;
    this.#totalMs += elapsedMs;
    if (!this.#isIdlePaused) this.#idleMs += elapsedMs;
  }

  #schedule(): void {
    const { idleMsMax, totalMsMax } = this.#options;
    const idleMsLeft = this.#isIdlePaused ? stepMsMax : idleMsMax - this.#idleMs;
    const stepMs = Math.min(stepMsMax, idleMsLeft, totalMsMax - this.#totalMs);
    this.#timer = setTimeout(() => this.#endStep(), Math.ceil(stepMs));
  }

  #endStep(): void {
    const { idleMsMax, totalMsMax, onExpired } = this.#options;
    this.#count();
    if (this.#totalMs >= totalMsMax) onExpired('total');
    else if (!this.#isIdlePaused && this.#idleMs >= idleMsMax) onExpired('idle');
    else this.#schedule();
  }
}
