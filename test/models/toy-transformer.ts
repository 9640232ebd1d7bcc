/**
 * Causal transformer with fixed random weights: a small network in place of open weights that tests cannot download.
 * Its last hidden state depends on each token and on the order, as that of a language model does.
 */

/** Special tokens, which follow the 256 bytes, and the word whose logit is the score of a pair. */
export const tokens = { start: 256, end: 257, added: 258, yes: 259 } as const;
const vocabularySize = 260;
const hiddenSize = 32;
const layersCount = 2;
/** Components of an embedding, as those of zembed-1. */
export const embeddingSize = 2_560;
const specialTokens: Readonly<Record<string, number>> = {
  '<|im_start|>': tokens.start,
  '<|im_end|>': tokens.end,
};

/** Deterministic numbers from -1 to 1 (mulberry32). */
export function randomNumbers(seed: number, count: number): Float64Array {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}

/** Returns row x matrix [row.length x columns]. */
export function multiply(row: Float64Array, matrix: ArrayLike<number>, columns: number): Float64Array {
  const product = new Float64Array(columns);
  for (let i = 0; i < row.length; i += 1)
    for (let j = 0; j < columns; j += 1) product[j]! += row[i]! * matrix[i * columns + j]!;
  return product;
}

const square = (seed: number) => randomNumbers(seed, hiddenSize * hiddenSize).map((value) => value / 3);
const embeddings = randomNumbers(1, vocabularySize * hiddenSize);
const layers = Array.from({ length: layersCount }, (_, i) => ({
  query: square(10 * i + 2),
  key: square(10 * i + 3),
  value: square(10 * i + 4),
  mix: square(10 * i + 5),
}));
const output = randomNumbers(7, hiddenSize * embeddingSize);

function normalize(row: Float64Array): Float64Array {
  const scale = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / row.length);
  return row.map((value) => value / scale);
}

const add = (left: Float64Array, right: Float64Array) => left.map((value, i) => value + right[i]!);

const dot = (left: Float64Array, right: Float64Array) =>
  left.reduce((sum, value, i) => sum + value * right[i]!, 0);

/** Causal attention of one head: each token sees itself and earlier tokens. */
function attend(rows: readonly Float64Array[], layer: (typeof layers)[number]): Float64Array[] {
  const keys = rows.map((row) => multiply(row, layer.key, hiddenSize));
  const values = rows.map((row) => multiply(row, layer.value, hiddenSize));
  return rows.map((row, at) => {
    const query = multiply(row, layer.query, hiddenSize);
    const weights = keys.slice(0, at + 1).map((key) => Math.exp(dot(query, key) / Math.sqrt(hiddenSize)));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const seen = new Float64Array(hiddenSize);
    weights.forEach((weight, i) => {
      for (let j = 0; j < hiddenSize; j += 1) seen[j]! += (weight / total) * values[i]![j]!;
    });
    return seen;
  });
}

/** Returns the hidden state of the last token. */
function run(ids: readonly number[]): Float64Array {
  let rows = ids.map((id, at) =>
    embeddings
      .slice(id * hiddenSize, (id + 1) * hiddenSize)
      .map((value, i) => value + 0.3 * Math.sin((at + 1) / 10 ** (i / 8))),
  );
  for (const layer of layers) {
    const seen = attend(rows.map(normalize), layer);
    rows = rows.map((row, i) => add(row, seen[i]!));
    rows = rows.map((row) => add(row, multiply(normalize(row), layer.mix, hiddenSize).map(Math.tanh)));
  }
  return normalize(rows.at(-1)!);
}

/** Splits a text into bytes and special tokens. */
export function tokenize(text: string): number[] {
  return text
    .split(/(<\|im_start\|>|<\|im_end\|>)/)
    .flatMap((part) => specialTokens[part] ?? [...Buffer.from(part)]);
}

/** Returns the embedding of a sequence, which is not normalized. */
export function embedTokens(ids: readonly number[]): Float64Array {
  return multiply(run(ids), output, embeddingSize);
}

/** Returns the logit of `Yes` after a sequence. */
export function yesLogit(ids: readonly number[]): number {
  const yes = embeddings.slice(tokens.yes * hiddenSize, (tokens.yes + 1) * hiddenSize);
  return dot(run(ids), yes);
}
