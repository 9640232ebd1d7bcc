import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { AppError } from '../core/app-error.ts';

/** Who waits for a thread, most urgent first: a person's query, a fast model call, ingest, a slow model call. */
export const taskPriorities = ['query', 'fast', 'ingest', 'slow'] as const;
export type TaskPriority = (typeof taskPriorities)[number];

export const poolNames = ['parse', 'draw', 'chunk', 'embed', 'rerank', 'json'] as const;
export type PoolName = (typeof poolNames)[number];

/** The file of each pool's workers. Page images have a pool of their own, so that nobody waits for long documents. */
const workerFileByPool: Readonly<Record<PoolName, string>> = {
  parse: 'parse',
  draw: 'parse',
  chunk: 'chunk',
  embed: 'embed',
  rerank: 'rerank',
  json: 'json',
};

export interface PoolOptions {
  readonly name: PoolName;
  readonly threads: number;
  /** Tasks that may wait; one more is refused with 503. */
  readonly queueTasksMax: number;
  /** What each worker finds as its `workerData`. */
  readonly workerData?: object;
  /** What workers post outside of a task's answer, for example the processes they own. */
  readonly onMessage?: (message: unknown) => void;
  /** An idle worker failed; another one takes its place. A busy one fails its task instead. */
  readonly onError?: (error: Error) => void;
}

export interface RunOptions {
  readonly priority?: TaskPriority;
  /** Ports and buffers of the task that move to the worker. */
  readonly transferList?: readonly (MessagePort | ArrayBuffer)[];
}

type QueuedTask = Parameters<PiscinaQueue['push']>[0];
type PiscinaQueue = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['taskQueue']>;

/** First in, first out within a priority; a more urgent priority always goes first. */
class PriorityQueue implements PiscinaQueue {
  readonly #lanes: QueuedTask[][] = taskPriorities.map(() => []);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(task: QueuedTask): void {
    this.#lane(task).push(task);
    this.#size += 1;
  }

  unshift(task: QueuedTask): void {
    this.#lane(task).unshift(task);
    this.#size += 1;
  }

  shift(): QueuedTask | null {
    for (const lane of this.#lanes) {
      const task = lane.shift();
      if (task === undefined) continue;
      this.#size -= 1;
      return task;
    }
    return null;
  }

  remove(task: QueuedTask): void {
    const lane = this.#lane(task);
    const at = lane.indexOf(task);
    if (at === -1) return;
    lane.splice(at, 1);
    this.#size -= 1;
  }

  #lane(task: QueuedTask): QueuedTask[] {
    const options = task[Piscina.queueOptionsSymbol as keyof QueuedTask] as {
      priority?: TaskPriority;
    } | null;
    return this.#lanes[taskPriorities.indexOf(options?.priority ?? 'ingest')]!;
  }
}

function startThreads({ name, threads, workerData, onMessage, onError }: PoolOptions): Piscina {
  const piscina = new Piscina({
    filename: fileURLToPath(new URL(`../../workers/${workerFileByPool[name]}.js`, import.meta.url)),
    minThreads: threads,
    maxThreads: threads,
    workerData,
    concurrentTasksPerWorker: 1,
    taskQueue: new PriorityQueue(),
    // Without it a task that finds no free worker goes behind all its equals, again and again.
    stricterFIFO: true,
    // Waiting on Atomics keeps an idle worker from ever seeing its own events (a parser process that dies, a port).
    atomics: 'disabled',
  });
  if (onMessage !== undefined) piscina.on('message', onMessage);
  // Without a listener the trouble of an idle worker would end the whole server.
  piscina.on('error', (error: Error) => onError?.(error));
  return piscina;
}

/**
 * A bounded pool of worker threads around one file of `workers/`. Its threads start with the first task: most servers
 * never need some of the pools. The only door to Piscina.
 */
export class Pool {
  readonly name: PoolName;
  readonly threads: number;
  readonly #options: PoolOptions;
  #piscina: Piscina | null = null;
  #closed = false;
  #pending = 0;

  constructor(options: PoolOptions) {
    this.name = options.name;
    this.threads = options.threads;
    this.#options = options;
  }

  /** Tasks given to the pool and not answered yet. */
  get depth(): number {
    return this.#pending;
  }

  /** Runs one task. Refused with 503 when too many wait; whatever the worker throws arrives here. */
  async run<Result>(task: object, options: RunOptions = {}): Promise<Result> {
    if (this.#closed) {
      throw new AppError('unavailable', 'The server is shutting down; try again in a moment.', {
        retryAfterMs: 1_000,
      });
    }
    if (this.#pending >= this.#options.queueTasksMax + this.threads) {
      throw new AppError(
        'unavailable',
        `The server is busy: too much work waits for the ${this.name} pool.`,
        {
          retryAfterMs: 1_000,
        },
      );
    }
    this.#piscina ??= startThreads(this.#options);
    this.#pending += 1;
    try {
      const queued = { ...task, [Piscina.queueOptionsSymbol]: { priority: options.priority ?? 'ingest' } };
      return await this.#piscina.run(queued, { transferList: [...(options.transferList ?? [])] });
    } finally {
      this.#pending -= 1;
    }
  }

  /** Ends the threads: tasks that run or wait are refused, as are later ones. Twice is once. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#piscina?.destroy();
  }
}
