/**
 * Damping of the first ranks, from the first publication of the method (Cormack, Clarke and Büttcher, 2009) and usual
 * since.
 */
const rankOffset = 60;

/**
 * Merges ranked lists of the same kind of items by reciprocal rank: ranks compare across queries, whose scores do not.
 * The score of an item is the sum of 1 / (60 + rank) over the lists that contain it, as a share of the score of an item
 * that is first in all lists, so it is in 0..1. `keyOf` identifies an item; of equal items, the one with the best rank
 * is returned. Ties keep the order of the lists.
 */
export function fuseByReciprocalRank<Item extends { readonly score: number }>(
  lists: readonly (readonly Item[])[],
  keyOf: (item: Item) => string,
): Item[] {
  const fused = new Map<string, { item: Item; bestRank: number; sum: number }>();
  for (const list of lists) {
    for (const [i, item] of list.entries()) {
      const rank = i + 1;
      const share = 1 / (rankOffset + rank);
      const key = keyOf(item);
      const known = fused.get(key);
      if (known === undefined) fused.set(key, { item, bestRank: rank, sum: share });
      else {
        known.sum += share;
        if (rank < known.bestRank) [known.item, known.bestRank] = [item, rank];
      }
    }
  }
  const best = lists.length / (rankOffset + 1);
  return Array.from(fused.values(), ({ item, sum }) => ({ ...item, score: Math.min(1, sum / best) })).sort(
    (a, b) => b.score - a.score,
  );
}
