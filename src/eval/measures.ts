/** Ranking measures computed from human relevance grades. The gain is the grade, as in trec_eval. */

type Grades = ReadonlyMap<string, number>;

/** Normalized discounted cumulative gain of the first `depth` ids; 1 for the ideal order. */
export function ndcg(ranking: readonly string[], grades: Grades, depth: number): number {
  const discounted = (gains: readonly number[]) =>
    gains.slice(0, depth).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);
  const ideal = discounted([...grades.values()].sort((a, b) => b - a));
  return discounted(ranking.slice(0, depth).map((id) => grades.get(id) ?? 0)) / ideal;
}

/** Share of the relevant documents that are among the first `depth`. */
export function recall(ranking: readonly string[], grades: Grades, depth: number): number {
  return ranking.slice(0, depth).filter((id) => grades.has(id)).length / grades.size;
}

/** 1 / rank of the first relevant document; 0 if none is among the first `depth`. */
export function reciprocalRank(ranking: readonly string[], grades: Grades, depth: number): number {
  const rank = ranking.slice(0, depth).findIndex((id) => grades.has(id));
  return rank === -1 ? 0 : 1 / (rank + 1);
}

export interface Estimate {
  readonly mean: number;
  /** Half the width of the 95 % confidence interval of the mean; null for fewer than two values. */
  readonly margin: number | null;
}

/** 97.5 % quantile of the normal distribution; accurate enough, because there are many questions. */
const z95 = 1.96;

/** Returns the mean over questions with its confidence interval with respect to the sampling of questions. */
export function estimateMean(values: readonly number[]): Estimate {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, margin: null };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { mean, margin: z95 * Math.sqrt(variance / count) };
}

/**
 * Returns the mean gain per question over the baseline. The questions are paired, so most of the sampling
 * variance cancels.
 */
export function estimateGain(values: readonly number[], baseline: readonly number[]): Estimate {
  return estimateMean(values.map((value, i) => value - baseline[i]!));
}
