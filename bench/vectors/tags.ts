import { randomStream } from '../harness/random.ts';
import type { VectorFile } from './vector-file.ts';

/**
 * Filters, encoded as one byte per row with a bit per filter. An independent filter selects random rows. A
 * correlated filter selects the rows furthest in a random direction: for most questions the matching rows are
 * distant and close together, which is the hard case for filtered graph search.
 */
export interface TagFilter {
  readonly name: string;
  /** Bit of the row's byte; also the name of the attribute. */
  readonly bit: number;
  /** Share of the rows that match. */
  readonly share: number;
  readonly correlated: boolean;
}

export const filters: readonly TagFilter[] = [
  { name: '50 %', bit: 0, share: 0.5, correlated: false },
  { name: '10 %', bit: 1, share: 0.1, correlated: false },
  { name: '1 %', bit: 2, share: 0.01, correlated: false },
  { name: '.1 %', bit: 3, share: 0.001, correlated: false },
  { name: '10 % correlated', bit: 4, share: 0.1, correlated: true },
  { name: '1 % correlated', bit: 5, share: 0.01, correlated: true },
];

const streams = { lot: 21, direction: 22 } as const;

export async function makeTags(vectors: VectorFile, seed: number, blockRows: number): Promise<Uint8Array> {
  const tags = new Uint8Array(vectors.rows);
  for (const { bit, share } of filters.filter(({ correlated }) => !correlated)) {
    const random = randomStream(seed, streams.lot, bit);
    for (let row = 0; row < tags.length; row++) if (random() < share) tags[row]! |= 1 << bit;
  }
  const heights = await projectOnDirection(vectors, seed, blockRows);
  const sorted = heights.toSorted();
  for (const { bit, share } of filters.filter(({ correlated }) => correlated)) {
    const heightMin = sorted[Math.floor(tags.length * (1 - share))]!;
    for (let row = 0; row < tags.length; row++) if (heights[row]! >= heightMin) tags[row]! |= 1 << bit;
  }
  return tags;
}

async function projectOnDirection(
  vectors: VectorFile,
  seed: number,
  blockRows: number,
): Promise<Float32Array> {
  const { rows, dimensions } = vectors;
  const random = randomStream(seed, streams.direction);
  const direction = Float64Array.from({ length: dimensions }, () => random() + random() + random() - 1.5);
  const heights = new Float32Array(rows);
  for (let first = 0; first < rows; first += blockRows) {
    const count = Math.min(blockRows, rows - first);
    const block = await vectors.read(first, count);
    for (let i = 0; i < count; i++) {
      let sum = 0;
      for (let d = 0, at = i * dimensions; d < dimensions; d++, at++) sum += direction[d]! * block[at]!;
      heights[first + i] = sum;
    }
  }
  return heights;
}
