import { type RandomStream, randomStream } from '../harness/random.ts';

/**
 * Unit vectors distributed like text embeddings: around topics, which are distributed around themes. `easy`:
 * topics of equal size, well separated, with isotropic noise. `hard`: topics of very unequal size (Zipf) that
 * overlap, a few dimensions with far larger variance than the rest (as in real models; this degrades codes
 * with a single scale), and questions that are further from their topic than its documents.
 */
export const difficulties = ['easy', 'hard'] as const;
export type Difficulty = (typeof difficulties)[number];

export interface ClusteredVectorsOptions {
  readonly seed: number;
  readonly rows: number;
  readonly dimensions: number;
  readonly difficulty: Difficulty;
}

const rowsPerTopic = 100;
const topicsMin = 16;
const topicsPerTheme = 12;
/**
 * Length of a topic's offset relative to its theme, and of the noise relative to the topic, for whole
 * vectors.
 */
const shapes = {
  easy: { topicSpread: 1.5, noise: 0.7, questionNoise: 0.7, spectrum: 0, zipf: 0 },
  hard: { topicSpread: 0.7, noise: 0.9, questionNoise: 1.1, spectrum: 0.45, zipf: 0.8 },
} as const;

/** Ids of random streams, disjoint from those of the corpus. */
const streams = { theme: 11, topic: 12, row: 13, question: 14 } as const;

export class ClusteredVectors {
  readonly #options: ClusteredVectorsOptions;
  readonly #topics: number;
  readonly #scales: Float64Array;
  /** Cumulative probabilities of the topics. */
  readonly #shares: Float64Array;
  readonly #centers: (Float64Array | undefined)[];

  constructor(options: ClusteredVectorsOptions) {
    const { spectrum, zipf } = shapes[options.difficulty];
    this.#options = options;
    this.#topics = Math.max(topicsMin, Math.ceil(options.rows / rowsPerTopic));
    this.#centers = new Array(this.#topics);
    this.#scales = dimensionScales(options.dimensions, spectrum);
    this.#shares = new Float64Array(this.#topics);
    let sum = 0;
    for (let topic = 0; topic < this.#topics; topic++) {
      sum += (topic + 1) ** -zipf;
      this.#shares[topic] = sum;
    }
    for (let topic = 0; topic < this.#topics; topic++) this.#shares[topic]! /= sum;
  }

  /** Yields all rows, block by block. */
  *rows(blockRows: number): Generator<Float32Array> {
    const { rows, difficulty } = this.#options;
    for (let first = 0; first < rows; first += blockRows) {
      const count = Math.min(blockRows, rows - first);
      yield this.#block(streams.row, first, count, shapes[difficulty].noise);
    }
  }

  /** Returns questions about the same topics; none of them is a row. */
  questions(count: number): Float32Array {
    return this.#block(streams.question, 0, count, shapes[this.#options.difficulty].questionNoise);
  }

  #block(stream: number, first: number, count: number, noise: number): Float32Array {
    const { seed, dimensions } = this.#options;
    const block = new Float32Array(count * dimensions);
    for (let i = 0; i < count; i++) {
      const random = randomStream(seed, stream, first + i);
      const center = this.#center(this.#topicOf(random()));
      const row = block.subarray(i * dimensions, (i + 1) * dimensions);
      addNormalNoise(row, center, noise, this.#scales, random);
    }
    return block;
  }

  #topicOf(draw: number): number {
    let [low, high] = [0, this.#topics - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#shares[middle]! > draw) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #center(topic: number): Float64Array {
    const known = this.#centers[topic];
    if (known !== undefined) return known;
    const { seed, dimensions, difficulty } = this.#options;
    const none = new Float64Array(dimensions);
    const theme = new Float64Array(dimensions);
    const random = randomStream(seed, streams.theme, Math.floor(topic / topicsPerTheme));
    addNormalNoise(theme, none, 1, this.#scales, random);
    const center = new Float64Array(dimensions);
    const own = randomStream(seed, streams.topic, topic);
    addNormalNoise(center, theme, shapes[difficulty].topicSpread, this.#scales, own);
    this.#centers[topic] = center;
    return center;
  }
}

/**
 * Returns scales with root mean square 1; `spectrum` 0 makes all dimensions equal, higher values let a few of
 * them dominate.
 */
function dimensionScales(dimensions: number, spectrum: number): Float64Array {
  // The strong dimensions are distributed by a step that is coprime to common numbers of dimensions.
  const scales = Float64Array.from(
    { length: dimensions },
    (_, i) => (1 + ((i * 7_919) % dimensions)) ** -spectrum,
  );
  const meanSquare = scales.reduce((sum, scale) => sum + scale * scale, 0) / dimensions;
  return scales.map((scale) => scale / Math.sqrt(meanSquare));
}

/** Sets `out` to `center` plus normal noise of length about `spread`, scaled to length 1. */
function addNormalNoise(
  out: Float32Array | Float64Array,
  center: Float64Array,
  spread: number,
  scales: Float64Array,
  random: RandomStream,
): void {
  const dimensions = out.length;
  const deviation = spread / Math.sqrt(dimensions);
  let squares = 0;
  for (let i = 0; i < dimensions; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - random()));
    const angle = 2 * Math.PI * random();
    const a = center[i]! + radius * Math.cos(angle) * scales[i]!;
    out[i] = a;
    squares += a * a;
    if (i + 1 === dimensions) break;
    const b = center[i + 1]! + radius * Math.sin(angle) * scales[i + 1]!;
    out[i + 1] = b;
    squares += b * b;
  }
  const scale = 1 / Math.sqrt(squares);
  for (let i = 0; i < dimensions; i++) out[i]! *= scale;
}
