import type { Clock } from '../core/clock.ts';

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** Ctrl-C in a terminal reaches this process twice: from the terminal, and forwarded by npm. */
const repeatedMsMin = 500;
const parentCheckMs = 1_000;

/**
 * Requests to stop the server: SIGTERM, SIGINT, SIGHUP, and the end of the npm that started it. npm forwards
 * SIGTERM and SIGINT to its script, but SIGHUP and SIGKILL end npm alone. The operating systems report the
 * end of a parent only by a changed parent id, so that the id is compared every second.
 */
export class StopRequests {
  readonly #clock: Clock;
  readonly #isStartedByNpm: boolean;
  /** Recorded before the server starts, because npm may end meanwhile. */
  readonly #parentId = process.ppid;
  #requestedAt: number | null = null;

  constructor(clock: Clock, isStartedByNpm: boolean) {
    this.#clock = clock;
    this.#isStartedByNpm = isStartedByNpm;
  }

  /** Resolves at the first request. A second SIGTERM or SIGINT exits the process at once. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      const stop = () => {
        this.#requestedAt ??= this.#clock.monotonic();
        resolve();
      };
      for (const signal of signals) {
        process.on(signal, () => {
          if (signal !== 'SIGHUP' && this.#isRepeated()) process.exit(1);
          stop();
        });
      }
      if (this.#isStartedByNpm) this.#watchParent(stop);
    });
  }

  #isRepeated(): boolean {
    return this.#requestedAt !== null && this.#clock.monotonic() - this.#requestedAt >= repeatedMsMin;
  }

  #watchParent(stop: () => void): void {
    const timer = setInterval(() => {
      if (process.ppid === this.#parentId) return;
      clearInterval(timer);
      stop();
    }, parentCheckMs);
    timer.unref();
  }
}
