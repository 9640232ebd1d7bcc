import type {
  AnalyzedChunk,
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  SentChunkAnswer,
  TimedChunkResult,
} from '../chunking/chunk-task.ts';
import { unpackChunks } from '../chunking/packed-chunks.ts';
import { assertDefined } from '../core/assert.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { limits } from '../core/limits.ts';
import { buffersOf, isPacked } from '../core/packed-texts.ts';
import type { Pool } from './pools.ts';

interface QueuedChunkTask {
  readonly task: ChunkTask;
  /** UTF-16 units of its pages. */
  readonly units: number;
  readonly isIsolated: boolean;
  readonly signal: AbortSignal;
  readonly resolve: (answer: TimedChunkResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface ChunkTaskOptions {
  /** Who is not wanted any more when a thread is free is not sent. */
  readonly signal: AbortSignal;
  /** For a document that failed before: it may have taken its worker down. */
  readonly isIsolated: boolean;
}

/** Tasks of the pool for each of its threads: one that runs, and one so that the thread need not wait for the next. */
const batchesPerThread = 2;

/**
 * Small documents ride to the chunk pool together, because a trip costs as much as cutting one of them. Nobody waits for
 * company: who finds a thread free goes with those who came in the same turn of the event loop.
 */
export class ChunkBatches {
  readonly #pool: Pick<Pool, 'run' | 'threads'>;
  readonly #backgroundScheduler: BackgroundScheduler;
  #queue: QueuedChunkTask[] = [];
  #running = 0;
  #scheduledFlush: NodeJS.Immediate | null = null;

  constructor(pool: Pick<Pool, 'run' | 'threads'>, backgroundScheduler: BackgroundScheduler) {
    this.#pool = pool;
    this.#backgroundScheduler = backgroundScheduler;
  }

  /** Rejects as the pool does, or with what cutting this document threw; the others of its batch go on. */
  run(task: ChunkTask, { signal, isIsolated }: ChunkTaskOptions): Promise<TimedChunkResult> {
    const units = isPacked(task.pages)
      ? task.pages.block.byteLength
      : task.pages.reduce((sum, page) => sum + page.length, 0);
    return new Promise((resolve, reject) => {
      this.#queue.push({ task, units, isIsolated, signal, resolve, reject });
      this.#scheduledFlush ??= setImmediate(() => {
        this.#scheduledFlush = null;
        this.#dispatch();
      });
    });
  }

  #dispatch(): void {
    while (this.#running < batchesPerThread * this.#pool.threads) {
      const batch = this.#takeBatch();
      if (batch.length === 0) return;
      this.#running += 1;
      void this.#processBatch(batch).finally(() => {
        this.#running -= 1;
        this.#dispatch();
      });
    }
  }

  /** The first that wait and are still wanted, as many as fit; one at least when there is one. */
  #takeBatch(): QueuedChunkTask[] {
    const batch: QueuedChunkTask[] = [];
    let units = 0;
    let count = 0;
    for (const next of this.#queue) {
      if (!next.signal.aborted) {
        units += next.units;
        const isFull = units > limits.chunkBatchUnitsMax || batch.length >= limits.chunkBatchDocumentsMax;
        if (batch.length > 0 && (isFull || next.isIsolated || batch[0]!.isIsolated)) break;
        batch.push(next);
      } else next.reject(next.signal.reason);
      count += 1;
    }
    this.#queue.splice(0, count);
    return batch;
  }

  /** Never rejects. */
  async #processBatch(batch: readonly QueuedChunkTask[]): Promise<void> {
    try {
      const outcomes = await this.#run(batch.map(({ task }) => task));
      batch.forEach(({ resolve, reject }, i) => {
        const outcome = assertDefined(outcomes[i], 'every document of a batch has an outcome');
        if ('error' in outcome) reject(outcome.error);
        else void this.#received(outcome).then(resolve, reject);
      });
    } catch (error) {
      if (batch.length > 1) {
        // A document that takes the whole worker down must not take others down with it.
        await Promise.all(batch.map((task) => this.#processBatch([task])));
        return;
      }
      batch[0]?.reject(error);
    }
  }

  /** The chunks of a long document are read in turns. */
  async #received({ packed, ...answer }: SentChunkAnswer): Promise<TimedChunkResult> {
    await this.#backgroundScheduler.yield();
    if (packed.length === 0) return answer;
    const yieldToEventLoop = this.#backgroundScheduler.slice();
    const chunks: AnalyzedChunk[] = [];
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
