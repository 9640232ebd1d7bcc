import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { YieldToEventLoop } from './event-loop-scheduler.ts';

/**
 * Turns of this thread's event loop, shared out to work that is not urgent: those who ask go on in the order in which they
 * asked, as many in one turn as take `limits.turnMsMax` together. What is urgent (a query, its reply) asks nobody, so it
 * waits for that long at most, and not until everything that became ready meanwhile is done.
 */
export class BackgroundScheduler {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #waiting: (() => void)[] = [];
  #running = false;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Resolves when the caller may go on. What it does until it waits for something else is its share. */
  yield(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => this.#runSlice());
    });
  }

  /** For one long piece of work, which asks before each of its parts: null while its share of the turn lasts. */
  slice(): YieldToEventLoop {
    let until = this.#clock.monotonic() + limits.backgroundSliceMsMax;
    return () => {
      if (this.#clock.monotonic() < until) return null;
      return this.yield().then(() => {
        until = this.#clock.monotonic() + limits.backgroundSliceMsMax;
      });
    };
  }

  #runSlice(): void {
    const until = this.#clock.monotonic() + limits.backgroundSliceMsMax;
    const runNext = () => {
      const resume = this.#waiting.shift();
      if (resume === undefined) {
        this.#running = false;
        return;
      }
      resume();
      // A microtask comes behind the caller's own; what it asks of Node behind all that these begin.
      queueMicrotask(() => {
        process.nextTick(() => {
          if (this.#clock.monotonic() < until) runNext();
          else setImmediate(() => this.#runSlice());
        });
      });
    };
    runNext();
  }
}

/** Collects what a long piece of work makes, with other work between its parts. */
export async function collectInBackground<Item>(
  scheduler: Pick<BackgroundScheduler, 'slice'>,
  items: Iterable<Item>,
): Promise<Item[]> {
  const yieldToEventLoop = scheduler.slice();
  const collected: Item[] = [];
  for (const item of items) {
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    collected.push(item);
  }
  return collected;
}

/** Starts a task for each item, with other work between them. The caller awaits every task that is returned. */
export async function startInBackground<Item, Result>(
  scheduler: Pick<BackgroundScheduler, 'yield'>,
  items: Iterable<Item>,
  start: (item: Item) => Promise<Result>,
): Promise<Promise<Result>[]> {
  const tasks: Promise<Result>[] = [];
  for (const item of items) {
    if (tasks.length > 0) await scheduler.yield();
    const task = start(item);
    // The caller learns of a failure when it awaits the task; until then a rejection is not unhandled.
    task.catch(() => {});
    tasks.push(task);
  }
  return tasks;
}
