import type { Clock } from '../core/clock.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { CollectionCounts, Counts } from '../storage/counts.ts';
import type { Documents } from '../storage/documents.ts';
import { canAccessDocument, documentFilterOf } from './access-filter.ts';

export interface VisibleCountsOptions {
  readonly counts: Counts;
  readonly documents: Pick<Documents, 'list'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Cached counts, and the counts of the whole collection that they are based on. */
interface CachedCounts {
  readonly counts: Promise<CollectionCounts>;
  readonly collectionCounts: CollectionCounts;
  /** Start of the count, in milliseconds of `Clock.monotonic()`. */
  readonly at: number;
  /** Duration of the count in milliseconds; Infinity while it runs. */
  ms: number;
}

/** Cached counts are reused for this multiple of the time they took: 20 s for a count of 1 s. */
const idleTimePerWork = 20;
/** Counts that take less are recomputed after every change. */
const quickCountMsMax = 50;
const cacheEntriesMax = 1_000;

/**
 * Document counts as a caller may see them. The store keeps the counts of whole collections; for a caller
 * with a document filter, each document is checked.
 */
export class VisibleCounts {
  readonly #options: VisibleCountsOptions;
  /** By collection and filter. */
  readonly #cache = new Map<string, CachedCounts>();

  constructor(options: VisibleCountsOptions) {
    this.#options = options;
  }

  async get(principal: OrganizationPrincipal, collectionId: string): Promise<CollectionCounts> {
    const collectionCounts = this.#options.counts.get(collectionId);
    if (documentFilterOf(principal) === null) return collectionCounts;
    const key = `${collectionId} ${JSON.stringify(principal.restriction?.filter)}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined && this.#isFresh(cached, collectionCounts)) return cached.counts;
    if (this.#cache.size >= cacheEntriesMax) this.#cache.clear();
    const at = this.#options.clock.monotonic();
    const counts = this.#count(principal, collectionId);
    const entry: CachedCounts = { counts, collectionCounts, at, ms: Number.POSITIVE_INFINITY };
    this.#cache.set(key, entry);
    const evict = () => {
      if (this.#cache.get(key) === entry) this.#cache.delete(key);
    };
    await counts.catch(evict);
    entry.ms = this.#options.clock.monotonic() - at;
    return counts;
  }

  /** A running count is shared: its duration is still Infinity, so it counts as fresh. */
  #isFresh({ collectionCounts: whole, at, ms }: CachedCounts, now: CollectionCounts): boolean {
    if (whole === now) return true;
    if (ms < quickCountMsMax) return false;
    return this.#options.clock.monotonic() - at < ms * idleTimePerWork;
  }

  async #count(principal: OrganizationPrincipal, collectionId: string): Promise<CollectionCounts> {
    const documents = {
      not_parsed: 0,
      parsing: 0,
      not_indexed: 0,
      indexing: 0,
      parsing_failed: 0,
      indexing_failed: 0,
      indexed: 0,
    };
    let [indexedBytes, storedBytes] = [0, 0];
    for await (const record of this.#options.documents.list(collectionId)) {
      if (!canAccessDocument(principal, record)) continue;
      documents[record.status] += 1;
      indexedBytes += record.indexedBytes;
      storedBytes += record.size;
    }
    return { documents, indexedBytes, storedBytes };
  }
}
