import { editDistance } from '../core/edit-distance.ts';

/** Returns the name with the smallest edit distance to `input`, or null if none is close enough. */
export function findNearestName(input: string, names: readonly string[]): string | null {
  const distanceMax = Math.max(2, Math.floor(input.length / 3));
  let best: string | null = null;
  let bestDistance = distanceMax + 1;
  for (const name of names) {
    const distance = editDistance(input.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}
