import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { YieldToEventLoop } from './event-loop-scheduler.ts';

/**
 * Shares this thread's event loop between pieces of background work. Waiting callers resume in order of
 * arrival, as many per turn of the event loop as fit into `limits.backgroundSliceMsMax` together. Urgent work
 * (a query, its reply) bypasses the scheduler, so it waits at most that long, and not until all background
 * work that became ready meanwhile is done.
 */
export class BackgroundScheduler {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #waiting: (() => void)[] = [];
  #running = false;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Resolves when the caller may continue. Everything the caller does until its next await counts as its
   * share of the turn.
   */
  yield(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => this.#runSlice());
    });
  }

  /**
   * Returns a check for one long piece of work, called before each of its parts. The check returns null while
   * the slice has time left, else a promise to await.
   */
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
      // A microtask runs after those of the resumed caller; the `nextTick` callback in it runs after all work
      // that these start.
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

/** Collects the items that a long computation yields and lets other work run between them. */
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

/**
 * Starts one task per item and lets other work run between the starts. The caller awaits every returned task.
 */
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
