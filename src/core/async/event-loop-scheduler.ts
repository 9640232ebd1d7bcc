import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

/**
 * Check before a unit of work. Null: continue at once; else continue when the promise resolves. Loops check
 * for every item: 0.06 us with null, 0.13 us with a promise (300,000 checks in a loop).
 */
export type YieldToEventLoop = () => Promise<void> | null;

interface WaitingCall {
  /** Sequence number of the call; older calls have smaller numbers. */
  readonly sequence: number;
  readonly resume: () => void;
}

/**
 * Shares the main thread between calls with a waiting client. Each call checks before every unit of work and
 * continues at once while the current turn of the event loop has time left. After that it waits for one of
 * the next turns, and between two turns the event loop serves sockets, timers and finished tasks.
 * Organizations take turns by round robin; within one organization the oldest call goes first, so that calls
 * finish one after the other and not all of them late. A unit must take a few milliseconds at most.
 * `core/async/background-scheduler` is the counterpart for work that is not urgent.
 */
export class EventLoopScheduler {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #turnMsMax: number;
  /** Waiting calls by organization, the oldest call first. The organization that is next comes first. */
  readonly #waiting = new Map<string, WaitingCall[]>();
  /** Time at which the current turn ends; null before the first unit of a turn. */
  #turnEndsAt: number | null = null;
  #calls = 0;

  /** `turnMsMax`: milliseconds of work per turn, for which every other connection waits. */
  constructor(clock: Pick<Clock, 'monotonic'>, turnMsMax: number = limits.requestSliceMsMax) {
    this.#clock = clock;
    this.#turnMsMax = turnMsMax;
  }

  createYield(organizationId: string): YieldToEventLoop {
    const sequence = this.#calls;
    this.#calls += 1;
    return () => this.#enter(organizationId, sequence);
  }

  #enter(organizationId: string, sequence: number): Promise<void> | null {
    const now = this.#clock.monotonic();
    if (this.#turnEndsAt === null) this.#beginTurn(now);
    else if (now >= this.#turnEndsAt) return this.#wait(organizationId, sequence);
    return null;
  }

  #wait(organizationId: string, sequence: number): Promise<void> {
    return new Promise((resume) => {
      const waiting = this.#waiting.get(organizationId);
      if (waiting === undefined) this.#waiting.set(organizationId, [{ sequence, resume }]);
      else waiting.splice(insertionIndex(sequence, waiting), 0, { sequence, resume });
    });
  }

  #beginTurn(now: number): void {
    this.#turnEndsAt = now + this.#turnMsMax;
    setImmediate(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#turnEndsAt = null;
    if (this.#waiting.size === 0) return;
    this.#beginTurn(this.#clock.monotonic());
    this.#resumeNext();
  };

  #resumeNext(): void {
    const next = this.#takeNext();
    if (next === null) return;
    next.resume();
    // The unit runs as a microtask; the `nextTick` callback runs after it and after all microtasks that it
    // starts.
    queueMicrotask(() => {
      process.nextTick(() => {
        if (this.#turnEndsAt !== null && this.#clock.monotonic() < this.#turnEndsAt) this.#resumeNext();
      });
    });
  }

  /** Removes the oldest call of the next organization and moves that organization behind all others. */
  #takeNext(): WaitingCall | null {
    const turn = this.#waiting.entries().next();
    if (turn.done === true) return null;
    const [organizationId, waiting] = turn.value;
    const next = waiting.shift()!;
    this.#waiting.delete(organizationId);
    if (waiting.length > 0) this.#waiting.set(organizationId, waiting);
    return next;
  }
}

/** Returns the insertion index of a call in a list sorted by ascending sequence number. */
function insertionIndex(sequence: number, waiting: readonly WaitingCall[]): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (waiting[middle]!.sequence <= sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
