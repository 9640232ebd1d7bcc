/** How well a ranking answers a question, from grades that people gave; the gain is the grade, as trec_eval has it. */

type Grades = ReadonlyMap<string, number>;

/** Normalised discounted cumulative gain of the first `depth` ids: 1 for the best order there can be. */
export function ndcg(ranking: readonly string[], grades: Grades, depth: number): number {
  const discounted = (gains: readonly number[]) =>
    gains.slice(0, depth).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);
  const ideal = discounted([...grades.values()].sort((a, b) => b - a));
  return discounted(ranking.slice(0, depth).map((id) => grades.get(id) ?? 0)) / ideal;
}

/** Share of the documents that answer which are among the first `depth`. */
export function recall(ranking: readonly string[], grades: Grades, depth: number): number {
  return ranking.slice(0, depth).filter((id) => grades.has(id)).length / grades.size;
}

/** 1 / rank of the first document that answers; 0 when none of the first `depth` does. */
export function reciprocalRank(ranking: readonly string[], grades: Grades, depth: number): number {
  const rank = ranking.slice(0, depth).findIndex((id) => grades.has(id));
  return rank === -1 ? 0 : 1 / (rank + 1);
}

export interface Estimate {
  readonly mean: number;
  /** Half the width of the 95 % confidence interval of the mean; null for fewer than two values. */
  readonly margin: number | null;
}

/** 97.5 % quantile of the normal distribution: questions are many, so nothing finer is needed. */
const z95 = 1.96;

/** The mean over questions, and how far chance in the choice of questions may have moved it. */
export function estimateMean(values: readonly number[]): Estimate {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, margin: null };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { mean, margin: z95 * Math.sqrt(variance / count) };
}

/** The mean of what each question gained; the questions are the same, so most of the chance cancels. */
export function estimateGain(values: readonly number[], baseline: readonly number[]): Estimate {
  return estimateMean(values.map((value, i) => value - baseline[i]!));
}
