/**
 * The vector with `dimensions` components. Fewer: the first ones, scaled back to length 1 (the model is trained so that
 * every such prefix stands alone). More: zeros behind, which change no cosine. A prefix without length becomes the
 * first axis, so that no vector is ever NaN.
 */
export function toDimensions(vector: Float32Array, dimensions: number): Float32Array {
  if (dimensions === vector.length) return vector.slice();
  const changed = new Float32Array(dimensions);
  changed.set(vector.subarray(0, dimensions));
  if (dimensions > vector.length) return changed;
  const length = Math.hypot(...changed);
  if (length === 0) {
    changed[0] = 1;
    return changed;
  }
  return changed.map((component) => component / length);
}
