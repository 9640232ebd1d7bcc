import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { assert } from '../../src/core/assert.ts';
import type { LoadJob, LoadOutcome, LoadTarget } from './load-run.ts';

/** What the main thread asks of the worker. */
export interface LoadRequest {
  readonly target: string;
  readonly job: LoadJob;
}

/** What the worker answers. */
export type LoadReply = { readonly outcome: LoadOutcome } | { readonly failure: string };

/** Load on HTTP servers of this machine, from one thread of its own. One job at a time. */
export class LoadGenerator {
  readonly #worker: Worker;
  /** Where each target's next job starts, so that every target gets the same requests in the same order. */
  readonly #next = new Map<string, number>();
  #running = false;
  #crash: Error | null = null;

  constructor(targets: Readonly<Record<string, LoadTarget>>) {
    this.#worker = new Worker(new URL('./load-worker.js', import.meta.url), { workerData: targets });
    // A crash rejects the job that runs (`once` listens for it too); between jobs it is kept for the next.
    this.#worker.on('error', (error) => {
      this.#crash = error;
    });
  }

  /**
   * Rejects with a sentence when a connection failed; refusals of the server are part of the outcome. Once `signal`
   * has ended a job early, the generator is good for nothing but to be closed.
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

  /** Ends the thread; harmless twice. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
