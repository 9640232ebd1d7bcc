import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../core/app-error.ts';
import { Mutex } from '../../core/async/mutex.ts';
import { withTimeout } from '../../core/async/with-timeout.ts';
import { compiledRoot } from '../../core/root.ts';

export interface MainContentLimits {
  /** Milliseconds for a page. */
  readonly msMax: number;
  readonly memoryMbMax: number;
}

/**
 * Extracts the main content of pages, one after another. Its thread starts with the first page: loading the packages takes
 * .3 s of CPU time and 30 MB.
 */
export class MainContentThread {
  readonly #limits: MainContentLimits;
  readonly #mutex = new Mutex();
  #worker: Worker | null = null;

  constructor(limits: MainContentLimits) {
    this.#limits = limits;
  }

  /** Returns a page with the main content only; null if none is found. Errors: `too_large`; the reason of the signal. */
  extract(html: string, signal: AbortSignal): Promise<string | null> {
    return this.#mutex.run(async () => {
      signal.throwIfAborted();
      this.#worker ??= this.#start();
      const worker = this.#worker;
      const { msMax } = this.#limits;
      try {
        return await withTimeout({ signal, msMax }, (bounded) => request(worker, html, bounded));
      } catch (cause) {
        await this.close();
        signal.throwIfAborted();
        const { name, message } = cause as Error;
        const reason = name === 'AbortError' ? `it took more than ${msMax / 1_000} s` : message;
        throw new AppError(
          'too_large',
          `The main content of the page cannot be extracted: ${reason}. Turn main_content off for this site.`,
          { cause },
        );
      }
    });
  }

  /** Ends the thread. Idempotent. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(join(compiledRoot, 'workers/main-content.js'), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMbMax },
    });
    // The request rejects with the error. A thread that fails while it is ended must not end the server.
    worker.on('error', () => {});
    return worker;
  }
}

async function request(worker: Worker, html: string, signal: AbortSignal): Promise<string | null> {
  const reply = once(worker, 'message', { signal });
  worker.postMessage(html);
  const [content] = (await reply) as [string | null];
  return content;
}
