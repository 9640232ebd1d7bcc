import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { assert } from '../../src/core/assert.ts';
import type { LoadJob, LoadOutcome, LoadTarget } from './load-run.ts';

/** Request from the main thread to the worker. */
export interface LoadRequest {
  readonly target: string;
  readonly job: LoadJob;
}

/** Reply of the worker. */
export type LoadReply = { readonly outcome: LoadOutcome } | { readonly failure: string };

/** Generates load on HTTP servers of this machine from a worker thread. One job at a time. */
export class LoadGenerator {
  readonly #worker: Worker;
  /**
   * Index of the first request of each target's next job, so that every target gets the same sequence of
   * requests.
   */
  readonly #next = new Map<string, number>();
  #running = false;
  #crash: Error | null = null;

  constructor(targets: Readonly<Record<string, LoadTarget>>) {
    this.#worker = new Worker(new URL('./load-worker.js', import.meta.url), { workerData: targets });
    // A crash rejects the running job (`once` listens for it too); between jobs it is stored for the next
    // one.
    this.#worker.on('error', (error) => {
      this.#crash = error;
    });
  }

  /**
   * Runs one job. Error statuses of the server are part of the outcome. After `signal` has ended a job early,
   * the generator can only be closed. Errors: rejects if a connection fails.
   */
  async run(target: string, job: Omit<LoadJob, 'from'>, signal: AbortSignal): Promise<LoadOutcome> {
    assert(!this.#running, 'the load generator runs one job at a time');
    if (this.#crash !== null) throw this.#crash;
    this.#running = true;
    try {
      const from = this.#next.get(target) ?? 0;
      const answered = once(this.#worker, 'message', { signal });
      this.#worker.postMessage({ target, job: { ...job, from } } satisfies LoadRequest);
      const [reply] = (await answered) as [LoadReply];
      if ('failure' in reply) throw new Error(reply.failure);
      this.#next.set(target, from + reply.outcome.sent);
      return reply.outcome;
    } finally {
      this.#running = false;
    }
  }

  /** Terminates the thread. Idempotent. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
