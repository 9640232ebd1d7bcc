import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { CollectionIndex } from '../engine/collection-index.ts';
import type { Blobs } from '../store/blobs.ts';
import { collectGarbage } from '../store/garbage.ts';
import type { Store } from '../store/store.ts';
import { sweepCollections } from '../store/sweep.ts';
import type { DerivedFiles } from './derived-files.ts';
import type { Indexes } from './indexes.ts';
import type { MemoryLimit } from './memory-limit.ts';

export interface HousekeepingOptions {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly indexes: Indexes;
  readonly images: Pick<DerivedFiles, 'removeOrphans'>;
  readonly memory: Pick<MemoryLimit, 'isReached'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between snapshots of the shards. */
  readonly snapshotMs: number;
}

/** Milliseconds between looks for what can be deleted. */
const sweepMs = 15_000;
/** Milliseconds between looks at the memory. */
const memoryMs = 1_000;
/** Changes of a collection that are worth a snapshot before its time: they would have to be replayed after a crash. */
const snapshotChangesMin = 20_000;

export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  readonly work: (signal: AbortSignal) => Promise<void>;
}

/** What has to be done again and again beside the work: deleting what nobody needs, writing snapshots. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #stop = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();
  #sweeping: Promise<void> = Promise.resolve();
  /** Compactions that were told to be put off. */
  #putOff = 0;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  /** `others`: what other rooms have to do again and again. */
  start(others: readonly Chore[]): void {
    const { indexes, memory, snapshotMs, logger } = this.#options;
    this.#repeat({ name: 'garbage', everyMs: sweepMs, work: (signal) => this.#collect(signal) });
    this.#repeat({ name: 'sweep', everyMs: sweepMs, work: () => this.sweep() });
    this.#repeat({ name: 'snapshot', everyMs: snapshotMs, work: () => indexes.snapshot() });
    this.#repeat({
      name: 'early snapshot',
      everyMs: sweepMs,
      // Vectors that are in a file take no memory: what waits for some goes on.
      work: () => indexes.snapshot(memory.isReached ? 1 : snapshotChangesMin),
    });
    this.#repeat({ name: 'memory', everyMs: memoryMs, work: () => this.#lookAtMemory() });
    for (const chore of others) this.#repeat(chore);
    if (this.#stop.signal.aborted) return;
    void this.#run({
      name: 'orphaned snapshots',
      everyMs: 0,
      work: async () => {
        const collections = await indexes.removeOrphans();
        if (collections > 0) logger.info({ collections }, 'snapshots of deleted collections were deleted');
      },
    });
    void this.#run({ name: 'orphaned files', everyMs: 0, work: (signal) => this.#collectOrphans(signal) });
  }

  /** Waits for what runs. Twice is once. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#running);
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const { clock, store, blobs, images } = this.#options;
    const collected = await collectGarbage({ store, blobs }, clock.now(), signal);
    if (collected > 0) await images.removeOrphans();
  }

  async #collectOrphans(signal: AbortSignal): Promise<void> {
    const { blobs, logger } = this.#options;
    const files = await blobs.collectOrphans(signal);
    if (files > 0) logger.info({ files }, 'files that nothing refers to were deleted');
  }

  /** Clears away the deleted collections that are due, after whoever does so already. */
  sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => this.#sweep(this.#stop.signal));
    // A failure belongs to its caller; the next sweep goes on.
    this.#sweeping = swept.catch(() => {});
    return swept;
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock, logger, store, blobs, images } = this.#options;
    const swept = await sweepCollections({ store, blobs }, clock.now(), signal);
    if (swept.length > 0) await images.removeOrphans();
    for (const collectionId of swept) logger.info({ collectionId }, 'deleted collection is cleared away');
  }

  async #lookAtMemory(): Promise<void> {
    this.#tellPutOff();
    // What has been busy holds much that is free: while it does, documents would wait for nothing.
    if (this.#options.memory.isReached) await CollectionIndex.releaseFreeMemory();
  }

  /** Once for all that wait at the same time. */
  #tellPutOff(): void {
    const compactions = CollectionIndex.compactionsPutOff();
    if (compactions > 0 && this.#putOff === 0)
      this.#options.logger.warn(
        { compactions },
        'what was removed stays: compacting it needs more memory than the limit (QUARRY_MEMORY_BYTES_MAX) leaves',
      );
    this.#putOff = compactions;
  }

  #repeat(chore: Chore): void {
    if (this.#stop.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#run(chore).then(() => this.#repeat(chore));
    }, chore.everyMs);
    timer.unref();
    this.#timers.add(timer);
  }

  /** A chore that fails is told in the log and tried again at its next time. */
  #run({ name, work }: Chore): Promise<void> {
    const run = work(this.#stop.signal)
      .catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#options.logger.warn({ chore: name, error: String(error) }, 'housekeeping failed; will retry');
      })
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }
}
