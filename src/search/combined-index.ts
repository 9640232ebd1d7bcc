import { assert } from '../core/assert.ts';
import type { Clock } from '../core/clock.ts';
import type { FilterNode, IndexHits, IndexQuery } from '../index/collection-index.ts';
import type { FacetCount, FacetResult } from '../index/facets.ts';
import { countFacets, type IndexSelection, listSorted } from '../index/index-selection.ts';
import type { SortedListing } from '../index/sort.ts';
import { toCommonWeights } from './common-weights.ts';
import type { SearchableIndex } from './search-components.ts';

/** Index of one of several collections. */
export interface MemberIndex {
  readonly index: SearchableIndex;
  readonly collectionId: string;
  /** Replaces the filter of a search: the types of metadata are those of the collection. */
  readonly filter: FilterNode | null;
}

interface CombinedIndexOptions {
  /** All with vectors of one model. */
  readonly members: readonly MemberIndex[];
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called with the versions that a search finds. */
  readonly onFound: (collectionId: string, versions: Iterable<number>) => void;
}

/**
 * Several collections searched as one: words are weighted by their frequency in all of them, and the scores of all
 * rows are fused together, so that they are comparable. The collections are searched one after the other, so that a
 * request uses no more threads at once than any other.
 */
export class CombinedIndex implements SearchableIndex {
  readonly #members: readonly MemberIndex[];
  readonly #clock: CombinedIndexOptions['clock'];
  readonly #onFound: CombinedIndexOptions['onFound'];

  constructor({ members, clock, onFound }: CombinedIndexOptions) {
    assert(members.length > 0, 'a query has a collection');
    this.#members = members;
    this.#clock = clock;
    this.#onFound = onFound;
  }

  get commits(): number {
    return this.#members.reduce((sum, { index }) => sum + index.commits, 0);
  }

  async search(query: IndexQuery): Promise<IndexHits> {
    const endsAt = this.#clock.monotonic() + query.deadlineMs;
    const weights = toCommonWeights(
      query.terms,
      this.#members.map(({ index }) => index),
    );
    const found: IndexHits[] = [];
    for (const [i, { index, collectionId, filter }] of this.#members.entries()) {
      const terms = query.terms.map((term, at) => ({ ...term, weight: weights[i]![at]! }));
      const deadlineMs = Math.max(0, endsAt - this.#clock.monotonic());
      const hits = await index.search({ ...query, terms, filter, deadlineMs });
      this.#onFound(collectionId, hits.version);
      found.push(hits);
    }
    return concatenate(found);
  }

  /** The engine writes no replies of several collections. */
  searchAndWrite(query: IndexQuery): Promise<IndexHits> {
    return this.search(query);
  }

  async list(_filter: FilterNode | null, limit: number, deadlineMs: number): Promise<Float64Array> {
    const endsAt = this.#clock.monotonic() + deadlineMs;
    const versions: number[] = [];
    for (const { index, collectionId, filter } of this.#members) {
      const left = limit - versions.length;
      if (left === 0) break;
      const listed = await index.list(filter, left, Math.max(0, endsAt - this.#clock.monotonic()));
      this.#onFound(collectionId, listed);
      versions.push(...listed);
    }
    return Float64Array.from(versions);
  }

  /** Documents of all collections that match their filters, in the order of the collections. */
  select(_filter: FilterNode | null): IndexSelection[] {
    return this.#members.flatMap(({ index, filter }) => index.select(filter));
  }

  async listSorted(
    { filter, ...listing }: SortedListing,
    limit: number,
    deadlineMs: number,
  ): Promise<Float64Array> {
    const listed = await listSorted(this.select(filter), listing, limit, deadlineMs);
    for (const { version, selection } of listed)
      this.#onFound(this.#members[selection]!.collectionId, [version]);
    return Float64Array.from(listed, ({ version }) => version);
  }

  countFacets({ filter, ...count }: FacetCount, deadlineMs: number): Promise<FacetResult[]> {
    return countFacets(this.select(filter), count, deadlineMs);
  }

  /** A word may occur in any of the collections; `countRowsOfTerms` is exact. */
  hasWords(terms: IndexQuery['terms']): boolean {
    return this.#members.some(({ index }) => index.hasWords(terms));
  }

  countRowsOfTerms(hashes: readonly bigint[]): Float64Array {
    const sums = new Float64Array(hashes.length);
    for (const { index } of this.#members)
      for (const [i, rows] of index.countRowsOfTerms(hashes).entries()) sums[i] = sums[i]! + rows;
    return sums;
  }

  async findCorrections(
    ...[words, deadlineMs]: Parameters<SearchableIndex['findCorrections']>
  ): Promise<Awaited<ReturnType<SearchableIndex['findCorrections']>>> {
    const found = [];
    for (const { index } of this.#members) found.push(...(await index.findCorrections(words, deadlineMs)));
    return mergeCorrections(found);
  }

  statistics(): { readonly rows: number } {
    return { rows: this.#members.reduce((sum, { index }) => sum + index.statistics().rows, 0) };
  }
}

type Correction = Awaited<ReturnType<SearchableIndex['findCorrections']>>[number];

/** Adds the rows of equal terms, and keeps those with the fewest edits of each word, most frequent first. */
function mergeCorrections(found: readonly Correction[]): Correction[] {
  const merged = new Map<string, Correction>();
  const fewest = new Map<number, number>();
  for (const correction of found) {
    const { word, term, edits, rows } = correction;
    fewest.set(word, Math.min(edits, fewest.get(word) ?? edits));
    const key = `${word} ${term}`;
    merged.set(key, { ...correction, rows: rows + (merged.get(key)?.rows ?? 0) });
  }
  return [...merged.values()]
    .filter(({ word, edits }) => edits === fewest.get(word))
    .sort((a, b) => a.word - b.word || b.rows - a.rows);
}

function concatenate(found: readonly IndexHits[]): IndexHits {
  const count = found.reduce((sum, hits) => sum + hits.count, 0);
  const version = new Float64Array(count);
  const chunk = new Uint32Array(count);
  const shard = new Uint16Array(count);
  const similarity = new Float32Array(count);
  const lexical = new Float32Array(count);
  let at = 0;
  for (const hits of found) {
    version.set(hits.version, at);
    chunk.set(hits.chunk, at);
    shard.set(hits.shard, at);
    similarity.set(hits.similarity, at);
    lexical.set(hits.lexical, at);
    at += hits.count;
  }
  return {
    count,
    version,
    chunk,
    shard,
    similarity,
    lexical,
    get shards() {
      return found.flatMap(({ shards }) => shards);
    },
  };
}
