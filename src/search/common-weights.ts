import type { IndexQuery } from '../index/collection-index.ts';
import type { SearchableIndex } from './search-components.ts';

/**
 * Returns the weights of the terms for each index with which its BM25 scores have the inverse document frequencies of
 * all indexes together: an index multiplies the weight by its own. Otherwise a word that is rare in one collection and
 * frequent in another would count more in the first.
 */
export function toCommonWeights(
  terms: IndexQuery['terms'],
  indexes: readonly Pick<SearchableIndex, 'countRowsOfTerms' | 'statistics'>[],
): number[][] {
  const groups = 1 + Math.max(-1, ...terms.map(({ group }) => group));
  const members = indexes.map((index) => ({
    rows: index.statistics().rows,
    counts: countRowsOfGroups(terms, groups, index),
  }));
  const allRows = members.reduce((sum, { rows }) => sum + rows, 0);
  const common = Array.from({ length: groups }, (_, group) =>
    inverseDocumentFrequency(
      allRows,
      members.reduce((sum, { counts }) => sum + counts[group]!, 0),
    ),
  );
  return members.map(({ rows, counts }) =>
    terms.map(({ weight, group }) => {
      const own = inverseDocumentFrequency(rows, counts[group]!);
      // No row of an index has a word that it does not contain.
      return counts[group] === 0 || own === 0 ? weight : (weight * common[group]!) / own;
    }),
  );
}

/**
 * Returns the number of rows with the most frequent term of each group: at most the number of rows with any of them, so
 * that the own frequency, as an index computes it from the latter, is not less than assumed here.
 */
function countRowsOfGroups(
  terms: IndexQuery['terms'],
  groups: number,
  index: Pick<SearchableIndex, 'countRowsOfTerms'>,
): number[] {
  const counts = new Array<number>(groups).fill(0);
  const rows = index.countRowsOfTerms(terms.map(({ hash }) => hash));
  for (const [i, { group }] of terms.entries()) counts[group] = Math.max(counts[group]!, rows[i]!);
  return counts;
}

/** Same as `Idf` of native/engine/bm25.h. */
function inverseDocumentFrequency(rows: number, found: number): number {
  return Math.log1p(Math.max(0, rows - found + 0.5) / (found + 0.5));
}
