import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import type { ChangeLog } from '../storage/changes.ts';
import type { Collection, VectorSet } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Versions } from '../storage/versions.ts';
import { CollectionIndex } from './collection-index.ts';
import { IndexEntry } from './index-entry.ts';
import { formatFolderName, type IndexGeneration } from './index-folder.ts';
import type { DamagedIndex } from './index-repairs.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import type { OpenIndexes } from './open-indexes.ts';
import { ReplacementIndex } from './replacement-index.ts';
import type { RetiredIndexes } from './retired-indexes.ts';

export interface IndexReplacementsOptions {
  /** Folder with one snapshot folder per index. */
  readonly folder: string;
  readonly openIndexes: Pick<OpenIndexes, 'get' | 'find' | 'isCurrent' | 'set'>;
  readonly retired: Pick<RetiredIndexes, 'add' | 'waitUntilDropped'>;
  readonly onDamaged: (damaged: DamagedIndex) => void;
  readonly snapshots: Pick<IndexSnapshots, 'runExclusive'>;
  readonly changes: Pick<ChangeLog, 'writeBarrier'>;
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: Pick<Contents, 'blocks'>;
  readonly sequence: Pick<Sequence, 'next'>;
  /** Aborts when the server closes. */
  readonly stop: AbortSignal;
}

/** Replaces the index of a collection by one with the vectors of another model, while it is searched. */
export class IndexReplacements {
  readonly #options: IndexReplacementsOptions;
  /** Folder names of replacement indexes that are being opened. */
  readonly #creating = new Set<string>();

  constructor(options: IndexReplacementsOptions) {
    this.#options = options;
  }

  /**
   * Opens empty shards for a set of vectors that is to replace the current one. Every change not yet visible
   * in the store is recorded in the replacement. The caller must pass it to `promote`, or to `discard`.
   */
  async create({ collectionId, shards }: Collection, set: VectorSet): Promise<ReplacementIndex> {
    const { folder, openIndexes, versions, contents, sequence, onDamaged, stop } = this.#options;
    const { dimensions, generation } = set;
    const name = formatFolderName({ collectionId, generation });
    const directory = join(folder, name);
    openIndexes.get(collectionId);
    this.#creating.add(name);
    try {
      await rm(directory, { recursive: true, force: true });
      const index = await CollectionIndex.open({
        collectionId: name,
        dimensions,
        shards,
        directory,
        onDamaged: (error, damaged) => onDamaged({ collectionId, index: damaged, error }),
      });
      const entry = openIndexes.find(collectionId);
      if (entry === undefined || stop.aborted) {
        await index.drop();
        throw shuttingDownError();
      }
      const replacement = new ReplacementIndex({
        collectionId,
        generation,
        index,
        versions,
        contents,
        sequence,
      });
      entry.replacement = replacement;
      // These writes began before the replacement recorded changes: afterwards they are in the store, or
      // undone.
      await Promise.all(entry.pendingWrites);
      return replacement;
    } finally {
      this.#creating.delete(name);
    }
  }

  /** Whether the index of this generation is being opened. */
  isCreating(index: IndexGeneration): boolean {
    return this.#creating.has(formatFolderName(index));
  }

  /**
   * Writes a replacement to disk after it has caught up. `catchUp` runs while no change begins and returns
   * whether it finished. Returns false when the call must be retried.
   */
  async persist(replacement: ReplacementIndex, catchUp: () => Promise<boolean>): Promise<boolean> {
    const { changes, snapshots } = this.#options;
    const { collectionId } = replacement;
    const snapshot = await snapshots.runExclusive(collectionId, async (entry) => {
      if (entry.replacement !== replacement || !(await catchUp())) return null;
      await changes.writeBarrier(collectionId);
      entry.retainsLog = true;
      return { writing: replacement.snapshot() };
    });
    await snapshot?.writing;
    return snapshot !== null;
  }

  /**
   * Replaces the current index by the replacement in one step; `write` records the switch in the store. The
   * old index is dropped once no query can need it. Returns false, with nothing changed, when the call must
   * be retried.
   */
  async promote(
    replacement: ReplacementIndex,
    catchUp: () => Promise<boolean>,
    write: () => Promise<void>,
  ): Promise<boolean> {
    const { openIndexes, retired, snapshots } = this.#options;
    const { collectionId, index, generation } = replacement;
    const done = await snapshots.runExclusive(collectionId, async (entry) => {
      if (entry.replacement !== replacement || !(await catchUp())) return null;
      await write();
      // Skipped when the collection, and its shards with it, was deleted during the write.
      if (openIndexes.isCurrent(entry)) {
        const changesSinceSnapshot = replacement.changesSinceSnapshot + 1;
        openIndexes.set(new IndexEntry({ collectionId, generation, index, changesSinceSnapshot }));
        retired.add(entry);
      }
      return true;
    });
    return done !== null;
  }

  /** Drops a replacement that is no longer needed. Does nothing when it was promoted. */
  async discard(replacement: ReplacementIndex): Promise<void> {
    const entry = this.#options.openIndexes.find(replacement.collectionId);
    if (entry?.replacement !== replacement) return;
    entry.replacement = null;
    entry.retainsLog = false;
    await replacement.index.drop();
  }

  /** Resolves when the most recently replaced index of the collection has been dropped. */
  waitUntilDropped(collectionId: string): Promise<void> {
    return this.#options.retired.waitUntilDropped(collectionId);
  }
}
