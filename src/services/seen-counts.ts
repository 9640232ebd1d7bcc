import type { Clock } from '../base/clock.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type { CollectionCounts, Counts } from '../store/counts.ts';
import type { Documents } from '../store/documents.ts';
import { filterOf, seesDocument } from './sight.ts';

export interface SeenCountsOptions {
  readonly counts: Counts;
  readonly documents: Pick<Documents, 'list'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** What was counted, and of which counts of the whole collection. */
interface Counted {
  readonly counts: Promise<CollectionCounts>;
  readonly whole: CollectionCounts;
  /** Milliseconds of `Clock.monotonic()`, when counting began. */
  readonly at: number;
  /** How long it took, once it is known. */
  ms: number;
}

/** Counting may take this share of the time: what took a second is good for twenty. */
const restPerWork = 20;
/** But what is counted in less is counted again whenever something has changed. */
const quickMs = 50;
const keptMax = 1_000;

/**
 * Counts of documents as a caller sees them. For one that sees all they are kept by the store; for others each document
 * is looked at.
 */
export class SeenCounts {
  readonly #options: SeenCountsOptions;
  /** By collection and filter. */
  readonly #counted = new Map<string, Counted>();

  constructor(options: SeenCountsOptions) {
    this.#options = options;
  }

  async get(principal: OrganisationPrincipal, collectionId: string): Promise<CollectionCounts> {
    const whole = this.#options.counts.get(collectionId);
    if (filterOf(principal) === null) return whole;
    const key = `${collectionId} ${JSON.stringify(principal.restriction?.filter)}`;
    const known = this.#counted.get(key);
    if (known !== undefined && this.#isGood(known, whole)) return known.counts;
    if (this.#counted.size >= keptMax) this.#counted.clear();
    const at = this.#options.clock.monotonic();
    const counts = this.#count(principal, collectionId);
    const counted: Counted = { counts, whole, at, ms: Number.POSITIVE_INFINITY };
    this.#counted.set(key, counted);
    const forget = () => {
      if (this.#counted.get(key) === counted) this.#counted.delete(key);
    };
    await counts.catch(forget);
    counted.ms = this.#options.clock.monotonic() - at;
    return counts;
  }

  /** While counting goes on nobody begins anew. */
  #isGood({ whole, at, ms }: Counted, now: CollectionCounts): boolean {
    if (whole === now) return true;
    if (ms < quickMs) return false;
    return this.#options.clock.monotonic() - at < ms * restPerWork;
  }

  async #count(principal: OrganisationPrincipal, collectionId: string): Promise<CollectionCounts> {
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
      if (!seesDocument(principal, record)) continue;
      documents[record.status] += 1;
      indexedBytes += record.indexedBytes;
      storedBytes += record.size;
    }
    return { documents, indexedBytes, storedBytes };
  }
}
