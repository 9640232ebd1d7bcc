import { editDistance } from '../base/edit-distance.ts';

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
