import { present } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { buffersOf, isPacked } from '../base/packed-texts.ts';
import type { Turns } from '../base/turns.ts';
import type {
  AnalysedChunk,
  ChunkAnswer,
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  SentChunkAnswer,
} from '../chunking/chunk-task.ts';
import { unpackChunks } from '../chunking/packed-chunks.ts';
import type { Pool } from './pools.ts';

interface Waiting {
  readonly task: ChunkTask;
  /** UTF-16 units of its pages. */
  readonly units: number;
  readonly alone: boolean;
  readonly signal: AbortSignal;
  readonly resolve: (answer: ChunkAnswer) => void;
  readonly reject: (error: unknown) => void;
}

export interface ChunkRide {
  /** Who is not wanted any more when a thread is free is not sent. */
  readonly signal: AbortSignal;
  /** For a document that failed before: it may have taken its worker down. */
  readonly alone: boolean;
}

/** Tasks of the pool for each of its threads: one that runs, and one so that the thread need not wait for the next. */
const batchesPerThread = 2;

/**
 * Small documents ride to the chunk pool together, because a trip costs as much as cutting one of them. Nobody waits for
 * company: who finds a thread free goes with those who came in the same turn of the event loop.
 */
export class ChunkBatches {
  readonly #pool: Pick<Pool, 'run' | 'threads'>;
  readonly #turns: Turns;
  #waiting: Waiting[] = [];
  #running = 0;
  #soon: NodeJS.Immediate | null = null;

  constructor(pool: Pick<Pool, 'run' | 'threads'>, turns: Turns) {
    this.#pool = pool;
    this.#turns = turns;
  }

  /** Rejects as the pool does, or with what cutting this document threw; the others of its batch go on. */
  run(task: ChunkTask, { signal, alone }: ChunkRide): Promise<ChunkAnswer> {
    const units = isPacked(task.pages)
      ? task.pages.block.byteLength
      : task.pages.reduce((sum, page) => sum + page.length, 0);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, units, alone, signal, resolve, reject });
      this.#soon ??= setImmediate(() => {
        this.#soon = null;
        this.#send();
      });
    });
  }

  #send(): void {
    while (this.#running < batchesPerThread * this.#pool.threads) {
      const batch = this.#take();
      if (batch.length === 0) return;
      this.#running += 1;
      void this.#serve(batch).finally(() => {
        this.#running -= 1;
        this.#send();
      });
    }
  }

  /** The first that wait and are still wanted, as many as fit; one at least when there is one. */
  #take(): Waiting[] {
    const batch: Waiting[] = [];
    let units = 0;
    let taken = 0;
    for (const next of this.#waiting) {
      if (!next.signal.aborted) {
        units += next.units;
        const full = units > limits.chunkBatchUnitsMax || batch.length >= limits.chunkBatchDocumentsMax;
        if (batch.length > 0 && (full || next.alone || batch[0]!.alone)) break;
        batch.push(next);
      } else next.reject(next.signal.reason);
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    return batch;
  }

  /** Never rejects. */
  async #serve(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#run(batch.map(({ task }) => task));
      batch.forEach(({ resolve, reject }, i) => {
        const outcome = present(outcomes[i], 'every document of a batch has an outcome');
        if ('error' in outcome) reject(outcome.error);
        else void this.#received(outcome).then(resolve, reject);
      });
    } catch (error) {
      if (batch.length > 1) {
        // A document that takes the whole worker down must not take others down with it.
        await Promise.all(batch.map((alone) => this.#serve([alone])));
        return;
      }
      batch[0]?.reject(error);
    }
  }

  /** The chunks of a long document are read in turns. */
  async #received({ packed, ...answer }: SentChunkAnswer): Promise<ChunkAnswer> {
    await this.#turns.next();
    if (packed.length === 0) return answer;
    const yieldToEventLoop = this.#turns.slice();
    const chunks: AnalysedChunk[] = [];
    for (const part of packed) {
      const turn = yieldToEventLoop();
      if (turn !== null) await turn;
      chunks.push(...unpackChunks(part));
    }
    return { ...answer, result: { ...answer.result, chunks } };
  }

  /** Pages of a document that rides alone move; those of others may be needed for a second trip. */
  #run(tasks: readonly ChunkTask[]): Promise<readonly ChunkOutcome[]> {
    const transferList = tasks.length === 1 ? buffersOf(tasks[0]!.pages) : [];
    return this.#pool.run<readonly ChunkOutcome[]>({ tasks } satisfies ChunkBatch, { transferList });
  }
}
