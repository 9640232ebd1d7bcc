import type { ExactNeighbors } from './exact-search.ts';

/** Exact similarity of a row to the question at hand; null when the row does not pass the filter at hand. */
export type SimilarityOf = (row: number) => Promise<number | null>;

export interface RecallCounts {
  /** Of what was returned, so many are right. */
  readonly found: number;
  /** So many could be: as many as were asked for, or as match. */
  readonly expected: number;
}

/**
 * How many of the rows that an engine returned belong to the `count` nearest. A row does when its exact similarity
 * reaches that of the last of them, so that of equally near rows any is as good as another; a row returned twice counts
 * once. `exact` are the right answers, at least `count` of them where so many match. The same rule holds for every engine.
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
  // Where the list of right answers ends below `least`, or with the last match, it holds all rows that reach it.
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
