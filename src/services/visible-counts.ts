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

/** What was counted, and of which counts of the whole collection. */
interface CachedCounts {
  readonly counts: Promise<CollectionCounts>;
  readonly collectionCounts: CollectionCounts;
  /** Milliseconds of `Clock.monotonic()`, when counting began. */
  readonly at: number;
  /** How long it took, once it is known. */
  ms: number;
}

/** Counting may take this share of the time: what took a second is good for twenty. */
const idleTimePerWork = 20;
/** But what is counted in less is counted again whenever something has changed. */
const quickCountMsMax = 50;
const cacheEntriesMax = 1_000;

/**
 * Counts of documents as a caller sees them. For one that sees all they are kept by the store; for others each document
 * is looked at.
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

  /** While counting goes on nobody begins anew. */
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
