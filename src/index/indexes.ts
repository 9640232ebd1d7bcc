import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IndexDescription } from '../core/index-description.ts';
import type { Logger } from '../core/logger.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import type { ChangeLog, LiveVersions } from '../storage/changes.ts';
import { type Collection, type Collections, getGeneration } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { Versions } from '../storage/versions.ts';
import type { CollectionIndex } from './collection-index.ts';
import { IndexChanges } from './index-changes.ts';
import { folderBytes, formatFolderName, type IndexGeneration, parseFolderName } from './index-folder.ts';
import { IndexLoader } from './index-loader.ts';
import { type DamagedIndex, IndexRepairs } from './index-repairs.ts';
import { IndexReplacements } from './index-replacements.ts';
import { IndexSnapshots } from './index-snapshots.ts';
import { type IndexTotals, OpenIndexes } from './open-indexes.ts';
import { RetiredIndexes } from './retired-indexes.ts';

export interface IndexesOptions {
  /** Folder with one snapshot folder per index. */
  readonly folder: string;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  /** Notified of versions that search no longer finds. */
  readonly reader: Pick<VersionReader, 'evict' | 'evictCollection'>;
  /** Milliseconds that replaced shards stay open, for queries that began before the replacement. */
  readonly retireMs: number;
  readonly logger: Logger;
}

const emptyDescription = { rows: 0, deadRows: 0, memoryBytes: 0, diskBytes: 0 } as const;

/**
 * The shards of every collection, kept consistent with the live versions in the store: opens, persists,
 * removes and closes them. `changes` makes versions visible; `replacements` changes the vectors.
 */
export class Indexes {
  readonly changes: IndexChanges;
  readonly replacements: IndexReplacements;
  readonly #folder: string;
  readonly #collections: Collections;
  readonly #logger: Logger;
  readonly #openIndexes: OpenIndexes;
  readonly #loader: IndexLoader;
  readonly #snapshots: IndexSnapshots;
  readonly #repairs: IndexRepairs;
  readonly #opening = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #closing: Promise<void> | null = null;

  constructor(options: IndexesOptions) {
    const { folder, collections, logger } = options;
    const stop = this.#stop.signal;
    this.#folder = folder;
    this.#collections = collections;
    this.#logger = logger;
    const retired = new RetiredIndexes({ retireMs: options.retireMs, logger, stop });
    const openIndexes = new OpenIndexes({ collections, reader: options.reader, retired, logger });
    const onDamaged = (damaged: DamagedIndex) => this.#repairs.begin(damaged);
    const loader = new IndexLoader({ ...options, onDamaged, stop });
    const snapshots = new IndexSnapshots({ ...options, openIndexes });
    const repairs = new IndexRepairs({ ...options, openIndexes, loader, snapshots, stop });
    this.changes = new IndexChanges({ ...options, openIndexes, stop });
    this.replacements = new IndexReplacements({
      ...options,
      openIndexes,
      retired,
      onDamaged,
      snapshots,
      stop,
    });
    this.#openIndexes = openIndexes;
    this.#loader = loader;
    this.#snapshots = snapshots;
    this.#repairs = repairs;
  }

  /** See `OpenIndexes.get`. */
  get(collectionId: string, generation?: number): CollectionIndex {
    return this.#openIndexes.get(collectionId, generation);
  }

  /**
   * Loads a collection, or creates its empty shards. Afterwards the index contains exactly the live versions
   * of the store.
   */
  async open(collection: Collection): Promise<void> {
    if (this.#closing !== null) throw shuttingDownError();
    const opening = this.#open(collection).finally(() => this.#opening.delete(collection.collectionId));
    this.#opening.set(collection.collectionId, opening);
    await opening;
  }

  /** See `OpenIndexes.remove`. */
  async remove(collectionId: string): Promise<void> {
    this.#openIndexes.remove(collectionId);
  }

  /** See `IndexSnapshots.write`. */
  snapshot(which: 'changed' | 'due' = 'changed'): Promise<void> {
    return this.#snapshots.write(which);
  }

  /** Deletes the snapshots of deleted collections, left by a crash. Returns their number. */
  async removeOrphans(): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#folder)) {
      const index = parseFolderName(name);
      if (index === null || this.#isNeeded(index)) continue;
      await rm(join(this.#folder, name), { recursive: true, force: true });
      removed += 1;
    }
    return removed;
  }

  /** Describes the current index of a collection. */
  async describe(collectionId: string): Promise<IndexDescription> {
    const entry = this.#openIndexes.find(collectionId);
    if (entry === undefined) return { ...emptyDescription, state: 'loading' };
    if (entry.isRepairing) return { ...emptyDescription, state: 'repairing' };
    const { rows, deadRows, bytes } = entry.index.statistics();
    return {
      state: 'ready',
      rows,
      deadRows,
      memoryBytes: Object.values(bytes).reduce((sum, each) => sum + each, 0),
      diskBytes: await folderBytes(join(this.#folder, formatFolderName(entry))),
    };
  }

  statistics(): IndexTotals {
    return this.#openIndexes.statistics();
  }

  /** Writes unsaved changes and closes all indexes. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(collection: Collection): Promise<void> {
    this.#openIndexes.set(await this.#loader.load(collection));
  }

  #isNeeded(index: IndexGeneration): boolean {
    const collection = this.#collections.findById(index.collectionId);
    if (collection !== undefined && getGeneration(collection) === index.generation) return true;
    if (this.#opening.has(index.collectionId) || this.replacements.isCreating(index)) return true;
    return this.#openIndexes.usesFilesOf(index);
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    const openings = Promise.allSettled(this.#opening.values());
    await Promise.all([openings, this.#openIndexes.waitForRemovals(), this.#repairs.idle()]);
    try {
      await this.snapshot();
    } catch (error) {
      // The change log has these changes: the next start only takes longer.
      this.#logger.warn({ error: String(error) }, 'snapshot at shutdown failed');
    }
    await this.#openIndexes.close();
  }
}
