/** Growth of a value from the first to the last sample, by linear least squares. */
export function linearGrowth(samples: readonly (readonly [ms: number, value: number])[]): number {
  const first = samples[0]?.[0] ?? 0;
  const last = samples.at(-1)?.[0] ?? 0;
  const meanMs = mean(samples.map(([ms]) => ms));
  const meanValue = mean(samples.map(([, value]) => value));
  const variance = samples.reduce((sum, [ms]) => sum + (ms - meanMs) ** 2, 0);
  const covariance = samples.reduce((sum, [ms, value]) => sum + (ms - meanMs) * (value - meanValue), 0);
  return variance === 0 ? 0 : (covariance / variance) * (last - first);
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
