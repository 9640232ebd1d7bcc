import {
  durationBoundsMs,
  durationBucketOf,
  durationBuckets,
  durationPercentile,
} from '../../src/core/duration-histogram.ts';
import t from '../support/tap.ts';

function countDurations(durations: readonly number[]): number[] {
  const counts = new Array<number>(durationBuckets).fill(0);
  for (const ms of durations) counts[durationBucketOf(ms)]! += 1;
  return counts;
}

t.test('the bounds are those of the disk format', async (t) => {
  t.equal(durationBuckets, 50);
  t.same(
    [0, 1, 2, 3, 24, 48].map((i) => durationBoundsMs[i]),
    [1, 1.26, 1.587, 2, 256, 65_540],
  );
  for (const [i, bound] of durationBoundsMs.entries()) t.equal(durationBucketOf(bound), i, `${bound} ms`);
  t.same([durationBucketOf(0), durationBucketOf(1e9)], [0, 49]);
});

t.test('percentiles are within a bucket of the exact ones', async (t) => {
  t.equal(durationPercentile(countDurations([]), 0.5), null);
  for (const durations of [
    Array.from({ length: 1_000 }, (_, i) => i + 1),
    Array.from({ length: 999 }, (_, i) => 1.01 ** i),
    [3],
    [2, 2, 2, 40_000],
  ]) {
    const sorted = [...durations].sort((a, b) => a - b);
    const counts = countDurations(durations);
    for (const share of [0.01, 0.5, 0.95, 0.99, 1]) {
      const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
      const estimate = durationPercentile(counts, share)!;
      t.ok(estimate >= exact / 1.27 && estimate <= exact * 1.27, `${share}: ${estimate} of ${exact}`);
    }
  }
  t.equal(durationPercentile(countDurations([1e9]), 0.5), 65_540, 'beyond the last bound');
});
