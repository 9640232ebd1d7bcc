/**
 * Number of insertions, deletions, substitutions and transpositions of adjacent characters (optimal string
 * alignment).
 */
export function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let least = Math.min(
        rows[row - 1]![column]! + 1,
        current[column - 1]! + 1,
        rows[row - 1]![column - 1]! + (same ? 0 : 1),
      );
      if (
        row > 1 &&
        column > 1 &&
        left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1]
      ) {
        least = Math.min(least, rows[row - 2]![column - 2]! + 1);
      }
      current.push(least);
    }
    rows.push(current);
  }
  return rows[left.length]![right.length]!;
}
