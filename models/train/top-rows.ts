/** Returns the rows of the `count` highest scores, best first; ties in ascending order of rows. */
export function topRows(scores: Float32Array, count: number): number[] {
  const sorted = scores.slice().sort();
  const lowestScore = sorted[Math.max(0, sorted.length - count)]!;
  const rows: number[] = [];
  for (const [row, score] of scores.entries()) if (score >= lowestScore) rows.push(row);
  rows.sort((a, b) => scores[b]! - scores[a]! || a - b);
  return rows.slice(0, count);
}
