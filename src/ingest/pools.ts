import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { AppError } from '../core/app-error.ts';
import { compiledRoot } from '../core/root.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';

/**
 * Priorities for waiting tasks, most urgent first: a user's query, a fast model call, ingest, a slow model
 * call.
 */
export const taskPriorities = ['query', 'fast', 'ingest', 'slow'] as const;
export type TaskPriority = (typeof taskPriorities)[number];

export const poolNames = ['parse', 'draw', 'chunk', 'embed', 'rerank', 'json'] as const;
export type PoolName = (typeof poolNames)[number];

/**
 * Worker file of each pool. Page images have a separate pool, so that they never wait for long documents.
 */
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
  /** Maximum number of waiting tasks; further ones are rejected with 503. */
  readonly queueTasksMax: number;
  /** The `workerData` of each worker. */
  readonly workerData?: object;
  /**
   * Called with messages that workers post apart from task results, for example about the processes they own.
   */
  readonly onMessage?: (message: unknown) => void;
  /** Called when an idle worker failed; it is replaced. When a busy worker fails, its task rejects instead. */
  readonly onError?: (error: Error) => void;
}

export interface RunOptions {
  readonly priority?: TaskPriority;
  /** Ports and buffers of the task to transfer to the worker. */
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
    filename: join(compiledRoot, 'workers', `${workerFileByPool[name]}.js`),
    minThreads: threads,
    maxThreads: threads,
    workerData,
    concurrentTasksPerWorker: 1,
    taskQueue: new PriorityQueue(),
    // Otherwise a task that finds no free worker is requeued behind all tasks of its priority, again and
    // again.
    stricterFIFO: true,
    // A worker that waits on Atomics while idle never handles its own events (an exited parser process, a
    // port).
    atomics: 'disabled',
  });
  if (onMessage !== undefined) piscina.on('message', onMessage);
  // Without a listener, the error of an idle worker would end the server process.
  piscina.on('error', (error: Error) => onError?.(error));
  return piscina;
}

/**
 * A bounded pool of worker threads around one file of `workers/`. Its threads start with the first task: most
 * servers never need some of the pools. The only module that uses Piscina.
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

  /** Number of tasks submitted and not finished yet. */
  get depth(): number {
    return this.#pending;
  }

  /**
   * Runs one task. Rejects with the error of the worker. Errors: 503 when too many tasks wait or the pool is
   * closed.
   */
  async run<Result>(task: object, options: RunOptions = {}): Promise<Result> {
    if (this.#closed) {
      throw shuttingDownError();
    }
    if (this.#pending >= this.#options.queueTasksMax + this.threads) {
      throw new AppError('unavailable', `The server is busy: the queue of the ${this.name} pool is full.`, {
        retryAfterMs: 1_000,
      });
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

  /** Ends the threads: running and waiting tasks reject, as do later ones. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#piscina?.destroy();
  }
}
