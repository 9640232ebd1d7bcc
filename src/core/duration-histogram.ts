/** Histogram of durations in buckets of constant relative width. Shared by the server and the dashboard. */

/**
 * Upper bounds of the buckets in milliseconds, inclusive: 1 to 65,540, each 26 % above the one before. A last bucket
 * has no bound. They are part of the disk format: never change them.
 */
export const durationBoundsMs: readonly number[] = Array.from({ length: 49 }, (_, i) =>
  Number((2 ** (i / 3)).toPrecision(4)),
);

export const durationBuckets = durationBoundsMs.length + 1;

/** Returns the position of the bucket of a duration. */
export function durationBucketOf(ms: number): number {
  const bucket = durationBoundsMs.findIndex((bound) => ms <= bound);
  return bucket === -1 ? durationBoundsMs.length : bucket;
}

/** A bucket of a histogram in a reply. */
interface DurationBucket {
  /** Upper bound, one of `durationBoundsMs`; null for none. */
  readonly le_ms: number | null;
  readonly count: number;
}

/** Adds histograms: returns the number of durations per bucket. */
export function countDurations(histograms: readonly (readonly DurationBucket[])[]): number[] {
  const counts = new Array<number>(durationBuckets).fill(0);
  for (const { le_ms: bound, count } of histograms.flat())
    counts[bound === null ? durationBuckets - 1 : durationBoundsMs.indexOf(bound)]! += count;
  return counts;
}

/**
 * Returns the duration in milliseconds that a share (0 to 1) of the durations does not exceed, interpolated within its
 * bucket; null without durations. `counts`: number of durations per bucket. Above the last bound, the bound is returned.
 */
export function durationPercentile(counts: readonly number[], share: number): number | null {
  const rank = share * counts.reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const lower = durationBoundsMs[bucket - 1] ?? 0;
      const upper = durationBoundsMs[bucket] ?? lower;
      return lower + (upper - lower) * ((rank - below) / count);
    }
    below += count;
  }
  return null;
}
