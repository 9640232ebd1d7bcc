import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { PrepareResult, PrepareTask } from '../requests/prepare-request.ts';
import { deserializeError, PreparedBatchItem, unpackDocument } from '../requests/prepared-document.ts';
import { estimateMemoryBytes } from './request-body-reader.ts';

/** Runs a `PrepareTask` on a worker thread. Implemented in `ingest/pools`. */
interface WorkerPool {
  run(task: PrepareTask, options: { readonly transferList: readonly ArrayBuffer[] }): Promise<unknown>;
}

export interface LargeBodyReaderOptions {
  readonly pool: WorkerPool;
  /** As many permits as the pool has threads, shared fairly among organizations. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  readonly fileBytesMax: number;
}

export interface LargeBodyTask extends Omit<PrepareTask, 'fileBytesMax'> {
  /** Each part owns its whole buffer, which is transferred to the worker. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  /** Organization whose permit is used. */
  readonly owner: string;
  readonly cancellation: CancellationToken;
}

interface PreparedRequest {
  /** Request as its service takes it, without unknown fields. */
  readonly request: unknown;
  /** Estimated memory of the request, in bytes. */
  readonly memoryBytes: number;
}

/** Prepares requests with large bodies on worker threads, because they would block the main thread. */
export class LargeBodyReader {
  readonly #options: LargeBodyReaderOptions;

  constructor(options: LargeBodyReaderOptions) {
    this.#options = options;
  }

  /** Errors: as `parseJson` and the checks of the body. */
  async prepare({ owner, cancellation, parts, ...task }: LargeBodyTask): Promise<PreparedRequest> {
    const { semaphore, fileBytesMax } = this.#options;
    const permit = semaphore.acquire(owner, cancellation);
    if (permit !== null) await permit;
    try {
      const outcome = await this.#run({ ...task, parts, fileBytesMax }, parts);
      const prepared = { request: toRequest(outcome), memoryBytes: estimateMemoryBytes(outcome) };
      // Receiving a request with many values takes milliseconds, so its use begins in a separate turn.
      await nextTurn();
      return prepared;
    } finally {
      semaphore.release();
    }
  }

  async #run(task: PrepareTask, parts: LargeBodyTask['parts']): Promise<PrepareResult> {
    try {
      const transferList = parts.map(({ buffer }) => buffer);
      return (await this.#options.pool.run(task, { transferList })) as PrepareResult;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
      throw new AppError(
        'too_large',
        'Parsing the request body needs more memory than is available. Send the data in several requests.',
        { cause: error },
      );
    }
  }
}

function toRequest(outcome: PrepareResult): unknown {
  if ('error' in outcome) throw deserializeError(outcome.error);
  if ('document' in outcome) return { ...outcome.rest, ...unpackDocument(outcome.document) };
  if ('documents' in outcome)
    return { ...outcome.rest, documents: outcome.documents.map((item) => new PreparedBatchItem(item)) };
  return outcome.request;
}
