import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../core/logger.ts';
import type { CollectionIndex } from './collection-index.ts';
import type { IndexEntry } from './index-entry.ts';

export interface RetiredIndexesOptions {
  /** Milliseconds that a replaced index stays open. */
  readonly retireMs: number;
  readonly logger: Logger;
  /** Aborts when the server closes. */
  readonly stop: AbortSignal;
}

interface RetiredIndex {
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly dropped: Promise<void>;
}

/** Replaced indexes, kept for queries that began before the replacement; at most one per collection. */
export class RetiredIndexes {
  readonly #options: RetiredIndexesOptions;
  readonly #retired = new Map<string, RetiredIndex>();

  constructor(options: RetiredIndexesOptions) {
    this.#options = options;
  }

  find(collectionId: string): Pick<RetiredIndex, 'generation' | 'index'> | undefined {
    return this.#retired.get(collectionId);
  }

  list(): CollectionIndex[] {
    return [...this.#retired.values()].map(({ index }) => index);
  }

  /** Keeps a replaced index open for the maximum duration of a query, then drops it. */
  add({ collectionId, generation, index }: IndexEntry): void {
    const dropped = this.#dropLater(collectionId, index);
    this.#retired.set(collectionId, { generation, index, dropped });
  }

  /** Removes the index of a deleted collection; the caller drops it. */
  take(collectionId: string): CollectionIndex | undefined {
    const retired = this.#retired.get(collectionId);
    this.#retired.delete(collectionId);
    return retired?.index;
  }

  /** Resolves when the most recently replaced index of the collection has been dropped. */
  async waitUntilDropped(collectionId: string): Promise<void> {
    await this.#retired.get(collectionId)?.dropped;
  }

  /** Closes the indexes after `stop` aborted. */
  async close(): Promise<void> {
    const all = [...this.#retired.values()];
    await Promise.all(all.map(({ index }) => index.close()));
    await Promise.all(all.map(({ dropped }) => dropped));
    this.#retired.clear();
  }

  /** If the server closes first, the next start drops the index. */
  async #dropLater(collectionId: string, index: CollectionIndex): Promise<void> {
    const { retireMs, logger, stop } = this.#options;
    await wait(retireMs, undefined, { signal: stop, ref: false }).catch(() => {});
    // The collection may have been deleted with its shards meanwhile.
    if (stop.aborted || this.#retired.get(collectionId)?.index !== index) return;
    this.#retired.delete(collectionId);
    try {
      await index.drop();
    } catch (error) {
      const fields = { collectionId, error: String(error) };
      logger.warn(fields, 'deleting retired snapshots failed, will retry at the next start');
    }
  }
}
