/**
 * Returns the vector with `dimensions` components. Fewer: the prefix, scaled to length 1 (the model is
 * trained so that every such prefix is usable on its own). More: padded with zeros, which do not change a
 * cosine. A prefix of length 0 becomes the first axis, so that no vector contains NaN.
 */
export function toDimensions(vector: Float32Array, dimensions: number): Float32Array {
  if (dimensions === vector.length) return vector.slice();
  const resized = new Float32Array(dimensions);
  resized.set(vector.subarray(0, dimensions));
  if (dimensions > vector.length) return resized;
  const length = Math.hypot(...resized);
  if (length === 0) {
    resized[0] = 1;
    return resized;
  }
  return resized.map((component) => component / length);
}

/**
 * Returns the first `dimensions` components (at most all), scaled to length 1; undefined if their length is
 * zero or not finite.
 */
export function toUnitPrefix(vector: Float32Array, dimensions: number): Float32Array | undefined {
  const prefix = vector.slice(0, dimensions);
  let square = 0;
  for (const component of prefix) square += component * component;
  const length = Math.sqrt(square);
  if (!(length > 0 && length < Number.POSITIVE_INFINITY)) return undefined;
  for (let i = 0; i < prefix.length; i += 1) prefix[i]! /= length;
  return prefix;
}
