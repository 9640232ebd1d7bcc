import type { CollectionIndex } from './collection-index.ts';
import type { IndexGeneration } from './index-folder.ts';
import type { ReplacementIndex } from './replacement-index.ts';

interface IndexEntryOptions extends IndexGeneration {
  readonly index: CollectionIndex;
  /** Number of changes that no snapshot contains. */
  readonly changesSinceSnapshot: number;
  /** Number of rows that no snapshot contains. */
  readonly rowsSinceSnapshot?: number;
}

/**
 * Number of unsaved rows and changes from which a snapshot is due: a restart after a crash applies them again, at
 * several thousand per second. A share of all rows, because a snapshot writes all of them.
 */
const replayMin = 8_192;
const replayShareMin = 1 / 16;

/** The current index of a collection, its state, and the exclusion of changes from operations on all of it. */
export class IndexEntry implements IndexGeneration {
  readonly collectionId: string;
  /** Generation of the collection's vectors in this index. */
  readonly generation: number;
  readonly index: CollectionIndex;
  /** Staged versions that a change may add, with their numbers of rows. */
  readonly staged = new Map<number, number>();
  /** Index that is to replace this one; every change is recorded in it. */
  replacement: ReplacementIndex | null = null;
  /** The replacement is on disk: log entries from that point on must be kept. */
  retainsLog = false;
  /** Number of changes since the last snapshot. */
  changesSinceSnapshot: number;
  /** Number of rows added since the last snapshot. */
  rowsSinceSnapshot: number;
  /** Number of compactions completed when the last snapshot began. */
  compactionsAtSnapshot = 0;
  /** Changes visible in the shards whose writes are in flight; none of these promises rejects. */
  readonly pendingWrites = new Set<Promise<void>>();
  /** Number of changes being undone after a failed write; no snapshot may be taken while it is above 0. */
  undoCount = 0;
  /** A change could not be undone: the shards are inconsistent until reopened, and no snapshot may be taken. */
  isInconsistent = false;
  /** The index file is damaged and the index is being reopened. */
  isRepairing = false;
  #barrier: Promise<void> | null = null;

  constructor({
    collectionId,
    generation,
    index,
    changesSinceSnapshot,
    rowsSinceSnapshot = 0,
  }: IndexEntryOptions) {
    this.collectionId = collectionId;
    this.generation = generation;
    this.index = index;
    this.changesSinceSnapshot = changesSinceSnapshot;
    this.rowsSinceSnapshot = rowsSinceSnapshot;
  }

  /** Number of changes and compactions that no snapshot contains. */
  get unsavedChanges(): number {
    return this.changesSinceSnapshot + this.index.statistics().compactions - this.compactionsAtSnapshot;
  }

  /** Whether so much is unsaved that a restart after a crash would take long. */
  get isSnapshotDue(): boolean {
    const replayed = this.rowsSinceSnapshot + this.changesSinceSnapshot;
    return replayed >= replayMin && replayed >= this.index.statistics().rows * replayShareMin;
  }

  /** Set while an exclusive operation waits for in-flight changes; new changes wait for it. */
  get barrier(): Promise<void> | null {
    return this.#barrier;
  }

  /**
   * Runs `work` while no change is in flight or begins. Returns null while a change is being undone, and also
   * while the shards are inconsistent or being repaired, unless `isRepair` is set: the work then reopens them.
   */
  async quiesce<T>(work: () => Promise<T>, isRepair = false): Promise<T | null> {
    let open = () => {};
    this.#barrier = new Promise((resolve) => {
      open = resolve;
    });
    try {
      while (this.pendingWrites.size > 0) await Promise.all(this.pendingWrites);
      // The shards show a change that the store does not have; the caller retries after the undo.
      if (this.undoCount > 0) return null;
      return isRepair || !(this.isInconsistent || this.isRepairing) ? await work() : null;
    } finally {
      this.#barrier = null;
      open();
    }
  }
}
