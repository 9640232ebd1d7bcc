import { AppError } from '../core/app-error.ts';
import type { Logger } from '../core/logger.ts';
import type { Collections } from '../storage/collections.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { CollectionIndex } from './collection-index.ts';
import type { IndexEntry } from './index-entry.ts';
import type { IndexGeneration } from './index-folder.ts';
import type { RetiredIndexes } from './retired-indexes.ts';
import { repairInProgress } from './unavailable-errors.ts';

export interface OpenIndexesOptions {
  readonly collections: Pick<Collections, 'findById'>;
  /** Notified of collections that search no longer finds. */
  readonly reader: Pick<VersionReader, 'evictCollection'>;
  readonly retired: RetiredIndexes;
  readonly logger: Logger;
}

/** Totals of all open indexes. */
export interface IndexTotals {
  readonly collections: number;
  readonly shards: number;
  readonly rows: number;
  readonly deadRows: number;
  readonly bytes: Readonly<Record<string, number>>;
}

/** The open index of every collection. */
export class OpenIndexes {
  readonly #options: OpenIndexesOptions;
  readonly #entries = new Map<string, IndexEntry>();
  readonly #dropping = new Map<string, Promise<void>>();

  constructor(options: OpenIndexesOptions) {
    this.#options = options;
  }

  /**
   * Returns the open shards of a collection, by default the current ones. A caller with a query vector passes
   * the `generation` the vector belongs to. Errors: 503 while the shards are loading or being repaired, 404
   * if the collection was just deleted.
   */
  get(collectionId: string, generation?: number): CollectionIndex {
    const entry = this.#entries.get(collectionId);
    if (entry?.isRepairing === true) throw repairInProgress();
    if (entry !== undefined && (generation === undefined || entry.generation === generation))
      return entry.index;
    // The store names the replacement shortly before it is promoted, and queries may have begun before that.
    const otherIndexes = [entry?.replacement, this.#options.retired.find(collectionId)];
    for (const other of otherIndexes) if (other && other.generation === generation) return other.index;
    if (this.#options.collections.findById(collectionId) === undefined) {
      throw new AppError('not_found', 'The collection was deleted.');
    }
    throw new AppError('unavailable', 'The collection is still loading. Try again shortly.', {
      retryAfterMs: 1_000,
    });
  }

  find(collectionId: string): IndexEntry | undefined {
    return this.#entries.get(collectionId);
  }

  /** Returns false after the entry was replaced, or its collection deleted. */
  isCurrent(entry: IndexEntry): boolean {
    return this.#entries.get(entry.collectionId) === entry;
  }

  /** Iterates over the current entries; one added or removed meanwhile is included or left out. */
  list(): Iterable<IndexEntry> {
    return this.#entries.values();
  }

  set(entry: IndexEntry): void {
    this.#entries.set(entry.collectionId, entry);
  }

  /**
   * Removes a collection immediately and deletes its files in the background. Running searches end on
   * their own.
   */
  remove(collectionId: string): void {
    const { reader, retired, logger } = this.#options;
    const entry = this.#entries.get(collectionId);
    if (entry === undefined) return;
    this.#entries.delete(collectionId);
    reader.evictCollection(collectionId);
    const all = [entry.index, entry.replacement?.index, retired.take(collectionId)];
    const dropping = Promise.all(all.map(async (index) => index?.drop()))
      .then(() => {})
      .catch((error: unknown) => {
        const fields = { collectionId, error: String(error) };
        logger.warn(fields, 'deleting snapshots failed, will retry at the next start');
      })
      .finally(() => this.#dropping.delete(collectionId));
    this.#dropping.set(collectionId, dropping);
  }

  /** Whether an open index uses files of this generation, or the files of the collection are being deleted. */
  usesFilesOf({ collectionId, generation }: IndexGeneration): boolean {
    if (this.#dropping.has(collectionId)) return true;
    const entry = this.#entries.get(collectionId);
    const open = [entry, entry?.replacement, this.#options.retired.find(collectionId)];
    return open.some((index) => index?.generation === generation);
  }

  /** Resolves when the files of all removed collections are deleted. */
  async waitForRemovals(): Promise<void> {
    await Promise.all(this.#dropping.values());
  }

  statistics(): IndexTotals {
    const total = { collections: this.#entries.size, shards: 0, rows: 0, deadRows: 0 };
    const bytes: Record<string, number> = {};
    const addBytes = (index: CollectionIndex) => {
      const found = index.statistics();
      for (const [part, count] of Object.entries(found.bytes)) bytes[part] = (bytes[part] ?? 0) + count;
      return found;
    };
    for (const { index, replacement, isRepairing } of this.#entries.values()) {
      if (isRepairing) continue;
      const { rows, deadRows } = addBytes(index);
      total.shards += index.shards.length;
      total.rows += rows;
      total.deadRows += deadRows;
      if (replacement !== null) addBytes(replacement.index);
    }
    for (const index of this.#options.retired.list()) addBytes(index);
    return { ...total, bytes };
  }

  async close(): Promise<void> {
    const open = [...this.#entries.values()].flatMap(({ index, replacement }) =>
      replacement === null ? [index] : [index, replacement.index],
    );
    await Promise.all([...open.map((index) => index.close()), this.#options.retired.close()]);
    this.#entries.clear();
  }
}
