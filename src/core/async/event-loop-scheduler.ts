import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

/** What a call asks before a unit of work: null to go on now, else it goes on when the promise resolves. */
export type YieldToEventLoop = () => Promise<void> | null;

interface WaitingCall {
  /** Of the call; older calls have smaller ones. */
  readonly sequence: number;
  readonly resume: () => void;
}

/**
 * Shares the main thread between calls that somebody waits for: each call asks before every unit of work, and goes on at
 * once while this turn of the event loop has time left. From then on it waits for one of the next turns, and between two
 * turns the event loop serves sockets, timers and finished tasks. Organizations take turns with each other; of one
 * organization the oldest call goes first, so that calls end one after the other and not all of them late. A unit must
 * take a few milliseconds at most. `core/async/background-scheduler` is the same for work that is not urgent.
 */
export class EventLoopScheduler {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #turnMsMax: number;
  /** By organization, the oldest call first; the next organization first. */
  readonly #waiting = new Map<string, WaitingCall[]>();
  /** When the time of this turn ends; null before the first unit of a turn. */
  #turnEndsAt: number | null = null;
  #calls = 0;

  /** `turnMsMax`: work of one turn, for which every other connection waits. */
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
    // The unit runs as a microtask; the callback of the tick comes behind it and behind all that it begins.
    queueMicrotask(() => {
      process.nextTick(() => {
        if (this.#turnEndsAt !== null && this.#clock.monotonic() < this.#turnEndsAt) this.#resumeNext();
      });
    });
  }

  /** The oldest call of the organization whose turn it is, which goes behind all others. */
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

/** Where a call goes among those that wait, in ascending order of their numbers. */
function insertionIndex(sequence: number, waiting: readonly WaitingCall[]): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (waiting[middle]!.sequence <= sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
