import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { CollectionIndex } from '../index/collection-index.ts';
import type { Indexes } from '../index/indexes.ts';
import type { Blobs } from '../storage/blobs.ts';
import { collectGarbage } from '../storage/garbage.ts';
import type { Store } from '../storage/store.ts';
import { sweepCollections } from '../storage/sweep.ts';
import type { DerivedFiles } from './derived-files.ts';
import type { MemoryLimit } from './memory-limit.ts';

export interface MaintenanceOptions {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly indexes: Indexes;
  readonly derivedFiles: Pick<DerivedFiles, 'removeOrphans'>;
  readonly memory: Pick<MemoryLimit, 'isReached'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between snapshots of the shards. */
  readonly snapshotMs: number;
}

/** Milliseconds between sweeps for deletable data. */
const sweepMs = 15_000;
/** Milliseconds between memory checks. */
const memoryCheckMs = 1_000;
/** Milliseconds between checks for snapshots that are due before `snapshotMs`. */
const earlySnapshotMs = 2_000;

export interface MaintenanceTask {
  readonly name: string;
  readonly intervalMs: number;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Runs periodic maintenance: deleting unneeded data, writing snapshots. */
export class MaintenanceScheduler {
  readonly #options: MaintenanceOptions;
  readonly #stop = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();
  #sweeping: Promise<void> = Promise.resolve();
  /** Number of deferred compactions at the last check, to log a shortage once. */
  #deferredCompactions = 0;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  /** `extraTasks`: periodic tasks of other modules. */
  start(extraTasks: readonly MaintenanceTask[]): void {
    const { indexes, memory, snapshotMs, logger } = this.#options;
    this.#schedule({ name: 'garbage', intervalMs: sweepMs, run: (signal) => this.#collectGarbage(signal) });
    this.#schedule({ name: 'sweep', intervalMs: sweepMs, run: () => this.sweep() });
    this.#schedule({ name: 'snapshot', intervalMs: snapshotMs, run: () => indexes.snapshot() });
    this.#schedule({
      name: 'early snapshot',
      intervalMs: earlySnapshotMs,
      // Vectors in a file use no memory: a snapshot lets documents that wait for memory continue.
      run: () => indexes.snapshot(memory.isReached ? 'changed' : 'due'),
    });
    this.#schedule({ name: 'memory', intervalMs: memoryCheckMs, run: () => this.#checkMemory() });
    for (const task of extraTasks) this.#schedule(task);
    if (this.#stop.signal.aborted) return;
    void this.#run({
      name: 'orphaned snapshots',
      intervalMs: 0,
      run: async () => {
        const collections = await indexes.removeOrphans();
        if (collections > 0) logger.info({ collections }, 'orphaned snapshots deleted');
      },
    });
    void this.#run({ name: 'orphaned files', intervalMs: 0, run: (signal) => this.#collectOrphans(signal) });
  }

  /** Waits for running tasks. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#running);
  }

  async #collectGarbage(signal: AbortSignal): Promise<void> {
    const { clock, store, blobs, derivedFiles } = this.#options;
    const collected = await collectGarbage({ store, blobs }, clock.now(), signal);
    if (collected > 0) await derivedFiles.removeOrphans();
  }

  async #collectOrphans(signal: AbortSignal): Promise<void> {
    const { blobs, logger } = this.#options;
    const files = await blobs.deleteOrphans(signal);
    if (files > 0) logger.info({ files }, 'orphaned files deleted');
  }

  /** Deletes the data of deleted collections that are due, after a running sweep has ended. */
  sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => this.#sweep(this.#stop.signal));
    // The caller handles a failure; the next sweep runs regardless.
    this.#sweeping = swept.catch(() => {});
    return swept;
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock, logger, store, blobs, derivedFiles } = this.#options;
    const swept = await sweepCollections({ store, blobs }, clock.now(), signal);
    if (swept.length > 0) await derivedFiles.removeOrphans();
    for (const collectionId of swept) logger.info({ collectionId }, 'collection data deleted');
  }

  async #checkMemory(): Promise<void> {
    this.#logDeferredCompactions();
    // After a busy period the allocator holds much free memory; without releasing it, documents would wait
    // needlessly.
    if (this.#options.memory.isReached) await CollectionIndex.releaseFreeMemory();
  }

  /** Logs once for all compactions that are deferred at the same time. */
  #logDeferredCompactions(): void {
    const compactions = CollectionIndex.deferredCompactions();
    if (compactions > 0 && this.#deferredCompactions === 0)
      this.#options.logger.warn(
        { compactions },
        'compaction deferred: not enough memory below the limit (QUARRY_MEMORY_BYTES_MAX)',
      );
    this.#deferredCompactions = compactions;
  }

  #schedule(task: MaintenanceTask): void {
    if (this.#stop.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#run(task).then(() => this.#schedule(task));
    }, task.intervalMs);
    timer.unref();
    this.#timers.add(timer);
  }

  /** Runs a task; a failure is logged and the task retried at its next interval. */
  #run({ name, run: runTask }: MaintenanceTask): Promise<void> {
    const run = runTask(this.#stop.signal)
      .catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#options.logger.warn(
          { task: name, error: String(error) },
          'maintenance task failed, will retry',
        );
      })
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }
}
