import type { Pooling } from './local-model.ts';
import type { BatchOutput } from './token-graph.ts';

/** Returns the number of components per text. Errors: Error that describes the shape if it is wrong. */
export function getPooledWidth({ shape, lengths }: BatchOutput, pooling: Pooling, output: string): number {
  const rank = pooling === 'none' ? 2 : 3;
  const hasAllRows = shape.length === rank && shape[0] === lengths.length && shape.at(-1)! > 0;
  const hasAllTokens = pooling === 'none' || shape[1]! >= Math.max(...lengths);
  if (hasAllRows && hasAllTokens) return shape.at(-1)!;
  const expectedShape = pooling === 'none' ? '[texts, dimensions]' : '[texts, tokens, dimensions]';
  throw new Error(`output "${output}" has shape [${shape.join(', ')}]; expected ${expectedShape}`);
}

/** Row of a batch output that is pooled. */
export interface PoolingTarget {
  readonly row: number;
  readonly width: number;
  /** Number of leading tokens that the averaging and maximum poolings exclude. */
  readonly skipped: number;
}

/** Combines the token vectors of a text into one, as sentence-transformers does (`models/Pooling.py`). */
export function poolTokens(
  { data, shape, lengths }: BatchOutput,
  pooling: Pooling,
  target: PoolingTarget,
): Float32Array {
  const { row, width } = target;
  if (pooling === 'none') return data.subarray(row * width, (row + 1) * width);
  const start = row * shape[1]! * width;
  const length = lengths[row]!;
  const token = (at: number) => data.subarray(start + at * width, start + (at + 1) * width);
  if (pooling === 'cls') return token(0);
  if (pooling === 'last') return token(length - 1);
  // If truncation left only the prompt, all tokens count.
  const first = target.skipped < length ? target.skipped : 0;
  if (pooling === 'max') {
    const maximum = token(first).slice();
    for (let at = first + 1; at < length; at += 1)
      for (let i = 0; i < width; i += 1) maximum[i] = Math.max(maximum[i]!, token(at)[i]!);
    return maximum;
  }
  const weightOf = (at: number) => (pooling === 'weighted-mean' ? at + 1 : 1);
  const sum = new Float64Array(width);
  let weights = 0;
  for (let at = first; at < length; at += 1) {
    const weight = weightOf(at);
    const vector = token(at);
    weights += weight;
    for (let i = 0; i < width; i += 1) sum[i]! += weight * vector[i]!;
  }
  const divisor = pooling === 'mean-sqrt-length' ? Math.sqrt(weights) : weights;
  return Float32Array.from(sum, (component) => component / divisor);
}
