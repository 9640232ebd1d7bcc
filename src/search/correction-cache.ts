import type { CollectionIndex } from '../index/collection-index.ts';
import { toTermKey } from '../text/lexicon.ts';
import type { SpellingCandidate } from '../text/spelling-correction.ts';

/** Maximum number of cached answers per index, of at most 1 kB each. */
export const cachedCorrectionsMax = 512;

/** The part of an index that the validity of an entry depends on. */
export type CorrectedIndex = Pick<CollectionIndex, 'commits' | 'countRowsOfTerms'>;

interface CacheEntry {
  readonly candidates: readonly SpellingCandidate[];
  /** Hash of each candidate. */
  readonly hashes: readonly bigint[];
}

/** Entries of one index, all of the same state of it. */
interface IndexCache {
  readonly commits: number;
  readonly entries: Map<string, CacheEntry>;
}

/**
 * Recent answers about the spelling of words, per index. Queries repeat names that no document contains, and the search
 * for similar terms takes .1 to 2 ms of CPU. A commit discards the answers of its index. A compaction only lowers the
 * number of rows with a term, so an answer is valid while the numbers of its terms are unchanged. At the limit, all
 * answers of the index are discarded. Gain with the questions of the bench case `server` and 5,183 abstracts: 25 us of
 * CPU per query, of which one in twenty has such a word.
 */
export class CorrectionCache {
  readonly #entriesMax: number;
  readonly #caches = new WeakMap<CorrectedIndex, IndexCache>();

  /** `entriesMax`: maximum number of answers per index. */
  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Returns the answer to a question (any string); undefined if it is unknown or no longer valid. */
  find(index: CorrectedIndex, question: string): readonly SpellingCandidate[] | undefined {
    const cache = this.#caches.get(index);
    if (cache === undefined || cache.commits !== index.commits) return undefined;
    const entry = cache.entries.get(question);
    if (entry === undefined) return undefined;
    const { candidates, hashes } = entry;
    if (candidates.length === 0) return candidates;
    const rows = index.countRowsOfTerms(hashes);
    return candidates.every((candidate, i) => candidate.rows === rows[i]) ? candidates : undefined;
  }

  /** `commits`: that of the index before the search for the answer; nothing is cached if it has changed since. */
  put(
    index: CorrectedIndex,
    commits: number,
    {
      question,
      candidates,
    }: { readonly question: string; readonly candidates: readonly SpellingCandidate[] },
  ): void {
    if (index.commits !== commits) return;
    let cache = this.#caches.get(index);
    if (cache === undefined || cache.commits !== commits) {
      cache = { commits, entries: new Map() };
      this.#caches.set(index, cache);
    }
    if (cache.entries.size >= this.#entriesMax) cache.entries.clear();
    cache.entries.set(question, { candidates, hashes: candidates.map(({ term }) => toTermKey(term)) });
  }
}
