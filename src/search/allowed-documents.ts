import type { CancellationToken } from '../core/async/cancellation-token.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { FilterNode } from '../index/collection-index.ts';
import { callIndex } from './call-index.ts';
import { intersectFilters } from './intersect-filters.ts';
import type { SearchableIndex } from './search-components.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Caller of suggestions, and the documents that it may read. */
export interface SuggestionCaller {
  readonly filter: FilterNode | null;
  readonly deadlineMs: number;
  readonly token: CancellationToken;
}

/** Documents of a vocabulary that match a filter. */
interface CacheEntry {
  readonly commits: number;
  /** Number of documents that had expired. */
  readonly expired: number;
  /** 1 for each; null: all. */
  readonly allowed: Uint8Array | null;
}

/** The documents of one vocabulary that callers may read, cached by filter until documents change or expire. */
export class AllowedDocuments {
  readonly #vocabulary: Vocabulary;
  /** By filter. */
  readonly #cache = new Map<string, CacheEntry>();

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /**
   * Returns 1 for each document of the vocabulary that is live, has not expired and matches the filter, else 0;
   * null: all are allowed. Does not wait for the index unless documents have changed. Errors: those of `callIndex`.
   */
  async find(
    index: Pick<SearchableIndex, 'commits' | 'list'>,
    { filter, deadlineMs, token }: SuggestionCaller,
    now: number,
  ): Promise<Uint8Array | null> {
    const key = JSON.stringify(filter);
    const { commits } = index;
    const { versions, expirations } = this.#vocabulary;
    const expired = this.#vocabulary.countExpired(now);
    const cached = this.#cache.get(key);
    if (cached?.commits === commits && cached.expired === expired) return cached.allowed;
    const visible = await callIndex(token, () => listVersions(index, versions, filter, deadlineMs));
    const flags = toFlags(versions, visible.sort());
    for (const { document } of expirations.slice(0, expired)) flags[document] = 0;
    const allowed = flags.includes(0) ? flags : null;
    if (this.#cache.size >= queryLimits.vocabularyFiltersMax) this.#cache.clear();
    this.#cache.set(key, { commits, expired, allowed });
    return allowed;
  }
}

/**
 * Returns the visible versions that match the filter: at least those among `versions`. Listing all documents is faster than
 * a filter of thousands of versions, if there are not many more.
 */
async function listVersions(
  index: Pick<SearchableIndex, 'list'>,
  versions: Float64Array,
  filter: FilterNode | null,
  deadlineMs: number,
): Promise<Float64Array> {
  const listedMax = 2 * queryLimits.vocabularyDocumentsMax;
  const all = await index.list(filter, listedMax, deadlineMs);
  if (all.length < listedMax) return all;
  const own = intersectFilters(filter, { kind: 'version', operator: 'in', versions: [...versions] });
  return index.list(own, versions.length, deadlineMs);
}

/** Returns 1 for each of the ascending versions that is among the ascending `visible` ones, else 0. */
function toFlags(versions: Float64Array, visible: Float64Array): Uint8Array {
  const flags = new Uint8Array(versions.length);
  let at = 0;
  for (let i = 0; i < versions.length && at < visible.length; i += 1) {
    while (at < visible.length && visible[at]! < versions[i]!) at += 1;
    if (visible[at] === versions[i]) flags[i] = 1;
  }
  return flags;
}
