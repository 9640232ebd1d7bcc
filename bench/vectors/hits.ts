import type { ExactNeighbors } from './exact-search.ts';

/**
 * Returns the exact similarity of a row to the current question; null if the row does not pass the current
 * filter.
 */
export type SimilarityOf = (row: number) => Promise<number | null>;

export interface RecallCounts {
  /** Number of returned rows that are correct. */
  readonly found: number;
  /** Number of correct rows possible: the requested count, or the number of matching rows if smaller. */
  readonly expected: number;
}

/**
 * Counts the returned rows that belong to the `count` nearest. A row does if its exact similarity reaches that
 * of the last of them, so that tied rows are interchangeable; duplicates count once. `rows` and `scores` are
 * the exact neighbors, at least `count` if that many match. The same rule applies to every engine.
 */
export async function countHits(
  { rows, scores }: ExactNeighbors,
  returned: ArrayLike<number>,
  { count, similarityOf }: { readonly count: number; readonly similarityOf: SimilarityOf },
): Promise<RecallCounts> {
  const matching = rows.indexOf(-1);
  const expected = Math.min(count, matching < 0 ? rows.length : matching);
  if (expected === 0) return { found: 0, expected };
  const scoreMin = scores[expected - 1]!;
  // If the list of exact neighbors ends below `scoreMin`, or with the last match, it contains all rows that
  // reach it.
  const isComplete = matching >= 0 || scores.at(-1)! < scoreMin;
  let found = 0;
  for (const row of new Set(Array.from(returned).slice(0, count))) {
    const at = rows.indexOf(row);
    const known = at < 0 ? Number.NEGATIVE_INFINITY : scores[at]!;
    const score = at < 0 && !isComplete ? await similarityOf(row) : known;
    if (score !== null && score >= scoreMin) found += 1;
  }
  return { found, expected };
}
