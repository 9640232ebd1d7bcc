import { LatencyHistogram } from '../../bench/harness/histogram.ts';
import { randomStream } from '../../bench/harness/random.ts';
import t from '../support/tap.ts';

/** Latencies over six orders of magnitude, like those of a server under load. */
function latencies(count: number, seed: number): number[] {
  const random = randomStream(seed);
  return Array.from({ length: count }, () => 10 ** (random() * 6 - 2));
}

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

t.test('quantiles are those of the sorted values, at most 0.1 % and 1 us higher, never lower', async (t) => {
  for (const seed of [1, 2, 3]) {
    const values = latencies(20_000, seed);
    const sorted = values.toSorted((a, b) => a - b);
    const histogram = histogramOf(values);
    for (const quantile of [0, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999]) {
      const exact = sorted[Math.max(0, Math.ceil(quantile * sorted.length - 1e-9) - 1)] ?? 0;
      const found = histogram.quantileMs(quantile) ?? Number.NaN;
      const words = `seed ${seed}, quantile ${quantile}: ${found} for ${exact}`;
      t.ok(found >= exact && found <= exact * 1.001 + 0.001, words);
    }
  }
});

t.test('count, mean and maximum are exact', async (t) => {
  const values = latencies(1_000, 4);
  const histogram = histogramOf(values);
  t.equal(histogram.values, 1_000);
  t.equal(histogram.mostMs, Math.max(...values));
  t.ok(Math.abs((histogram.meanMs ?? 0) - values.reduce((sum, value) => sum + value, 0) / 1_000) < 1e-6);
});

t.test('a quantile beyond the last value is not reported', async (t) => {
  t.equal(histogramOf([]).quantileMs(0.5), null);
  t.equal(histogramOf([]).mostMs, null);
  t.equal(histogramOf(latencies(99, 5)).quantileMs(0.99), null);
  t.type(histogramOf(latencies(100, 5)).quantileMs(0.99), 'number');
  t.equal(histogramOf(latencies(999, 5)).quantileMs(0.999), null);
});

t.test('a quantile never exceeds the maximum, not even beyond the last step', async (t) => {
  const hours = 10 * 3_600_000;
  const histogram = histogramOf([1, 1, hours, hours]);
  t.equal(histogram.quantileMs(0.5), 1);
  t.ok((histogram.quantileMs(0.75) ?? Number.POSITIVE_INFINITY) <= hours);
  t.equal(histogram.mostMs, hours);
});

t.test('joined histograms equal one histogram of all values', async (t) => {
  const [first, second] = [latencies(5_000, 6), latencies(5_000, 7)];
  const joined = histogramOf(first);
  joined.add(histogramOf(second).counts());
  const whole = histogramOf([...first, ...second]);
  t.equal(joined.values, whole.values);
  t.equal(joined.mostMs, whole.mostMs);
  for (const quantile of [0.01, 0.5, 0.99]) {
    t.equal(joined.quantileMs(quantile), whole.quantileMs(quantile), `${quantile}`);
  }
});

t.test('a negative latency violates an assertion', async (t) => {
  t.throws(() => new LatencyHistogram().record(-1), /not negative/);
  t.throws(() => new LatencyHistogram().record(Number.NaN), /not negative/);
});
