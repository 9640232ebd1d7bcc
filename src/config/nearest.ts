/** The name that takes the fewest edits to get from `given`, or null when none is close enough to be meant. */
export function nearestName(given: string, names: readonly string[]): string | null {
  const distanceMax = Math.max(2, Math.floor(given.length / 3));
  let best: string | null = null;
  let bestDistance = distanceMax + 1;
  for (const name of names) {
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(left: string, right: string): number {
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
