import type { ExactAnswers } from './exact-search.ts';

/** Exact similarity of a row to the question at hand; null when the row does not pass the filter at hand. */
export type SimilarityOf = (row: number) => Promise<number | null>;

export interface Hits {
  /** Of what was returned, so many are right. */
  readonly found: number;
  /** So many could be: as many as were asked for, or as match. */
  readonly wanted: number;
}

/**
 * How many of the rows that an engine returned belong to the `count` nearest. A row does when its exact similarity
 * reaches that of the last of them, so that of equally near rows any is as good as another; a row returned twice counts
 * once. `exact` are the right answers, at least `count` of them where so many match. The same rule holds for every engine.
 */
export async function hitsOf(
  { rows, scores }: ExactAnswers,
  returned: ArrayLike<number>,
  { count, similarityOf }: { readonly count: number; readonly similarityOf: SimilarityOf },
): Promise<Hits> {
  const matching = rows.indexOf(-1);
  const wanted = Math.min(count, matching < 0 ? rows.length : matching);
  if (wanted === 0) return { found: 0, wanted };
  const least = scores[wanted - 1]!;
  // Where the list of right answers ends below `least`, or with the last match, it holds all rows that reach it.
  const isWhole = matching >= 0 || scores.at(-1)! < least;
  let found = 0;
  for (const row of new Set(Array.from(returned).slice(0, count))) {
    const at = rows.indexOf(row);
    const known = at < 0 ? Number.NEGATIVE_INFINITY : scores[at]!;
    const score = at < 0 && !isWhole ? await similarityOf(row) : known;
    if (score !== null && score >= least) found += 1;
  }
  return { found, wanted };
}
