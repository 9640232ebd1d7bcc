import { AppError } from '../base/app-error.ts';
import type { Caller } from '../base/caller.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { PrepareOutcome, PrepareTask } from '../requests/prepare-request.ts';
import { errorOf, PreparedItem, unpackDocument } from '../requests/prepared-document.ts';
import { costOf } from './request-bodies.ts';

/** Runs a `PrepareTask` on a thread of its own; `pipeline/pools` does. */
interface WorkerPool {
  run(task: PrepareTask, options: { readonly transferList: readonly ArrayBuffer[] }): Promise<unknown>;
}

export interface LargeBodiesOptions {
  readonly pool: WorkerPool;
  /** As many permits as the pool has threads: organizations take turns. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  readonly fileBytesMax: number;
}

export interface LargeBody extends Omit<PrepareTask, 'fileBytesMax'> {
  /** Each part is the whole of its own buffer, which moves away. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  /** The organization whose turn is used. */
  readonly owner: string;
  readonly caller: Caller;
}

interface LargeRequest {
  /** As its service takes it, without unknown fields. */
  readonly request: unknown;
  /** Memory that it takes, about. */
  readonly keptBytes: number;
}

/** Makes requests of large bodies, which would hold the main thread, on threads of their own. */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
  }

  /** Errors: as `parseJson` and the checks of the body. */
  async prepare({ owner, caller, parts, ...task }: LargeBody): Promise<LargeRequest> {
    const { semaphore, fileBytesMax } = this.#options;
    const permit = semaphore.acquire(owner, caller);
    if (permit !== null) await permit;
    try {
      const outcome = await this.#run({ ...task, parts, fileBytesMax }, parts);
      return { request: requestOf(outcome), keptBytes: costOf(outcome) };
    } finally {
      semaphore.release();
    }
  }

  async #run(task: PrepareTask, parts: LargeBody['parts']): Promise<PrepareOutcome> {
    try {
      const transferList = parts.map(({ buffer }) => buffer);
      return (await this.#options.pool.run(task, { transferList })) as PrepareOutcome;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
      throw new AppError(
        'too_large',
        'Reading the request body takes more memory than the server has for it; send it in parts.',
        { cause: error },
      );
    }
  }
}

function requestOf(outcome: PrepareOutcome): unknown {
  if ('refusal' in outcome) throw errorOf(outcome.refusal);
  if ('document' in outcome) return { ...outcome.rest, ...unpackDocument(outcome.document) };
  if ('documents' in outcome)
    return { ...outcome.rest, documents: outcome.documents.map((item) => new PreparedItem(item)) };
  return outcome.request;
}
