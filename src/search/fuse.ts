/** Relative weights of lexical and vector search: >= 0, not both 0. A search with weight 0 is not run. */
export interface Weights {
  /** Weight of lexical search. */
  readonly lexical: number;
  /** Weight of vector search. */
  readonly vector: number;
}

/**
 * Chosen on our development collections. Reciprocal rank fusion lost to BM25 alone on most of them, so ranks
 * are not used.
 */
export const defaultWeights: Weights = { lexical: 1, vector: 0.6 };

/**
 * Returns one score in 0..1 per candidate, in input order: a linear fusion of both first-stage scores over
 * the union of both candidate lists, each divided by its maximum. The cosines of one query lie close
 * together, and their spread differs between queries; after the division both sides have the same scale.
 * `lexical`: BM25 scores >= 0. `similarity`: cosines in -1..1, or null when the query has no vector.
 */
export function fuse(
  lexical: Float32Array,
  similarity: Float32Array | null,
  weights: Weights = defaultWeights,
): Float32Array {
  const lexicalScale = reciprocalOfMax(lexical);
  const similarityScale = similarity === null ? 0 : reciprocalOfMax(similarity);
  // Normalized, since only the ratio of the weights matters.
  const largest = Math.max(weights.lexical, weights.vector);
  const [lexicalWeight, vectorWeight] = [weights.lexical / largest, weights.vector / largest];
  const fused = new Float32Array(lexical.length);
  for (let i = 0; i < fused.length; i += 1) {
    const clampedSimilarity = similarity === null ? 0 : Math.max(0, similarity[i]!);
    const weightedSum =
      lexicalWeight * lexical[i]! * lexicalScale + vectorWeight * clampedSimilarity * similarityScale;
    fused[i] = weightedSum / (lexicalWeight + vectorWeight);
  }
  return fused;
}

/** Returns the factor that scales the largest number to 1; 0 when no number is above 0. */
function reciprocalOfMax(numbers: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < numbers.length; i += 1) largest = Math.max(largest, numbers[i]!);
  return largest > 0 ? 1 / largest : 0;
}

/** Slope of the logistic function: an item one standard deviation above the mean on both sides scores 0.82. */
const blendSlope = 1.5;

/**
 * Blends reranker scores (0..1) with fused scores of the same candidates: the reranker's log-odds and the
 * fused scores are standardized, averaged and mapped to 0..1. `weight`: weight of the reranker relative to
 * the fused scores. Log-odds preserve differences among very high and very low scores.
 */
export function blend(reranked: Float32Array, fused: Float32Array, weight: number): Float32Array {
  const standardizedLogOdds = standardize(
    reranked.map((score) => Math.log((score + 1e-6) / (1 - score + 1e-6))),
  );
  const standardizedFused = standardize(fused);
  return standardizedLogOdds.map((z, i) => {
    const mean = (weight * z + standardizedFused[i]!) / (weight + 1);
    return 1 / (1 + Math.exp(-blendSlope * mean));
  });
}

function standardize(values: Float32Array): Float32Array {
  let sum = 0;
  for (const value of values) sum += value;
  const mean = values.length === 0 ? 0 : sum / values.length;
  let square = 0;
  for (const value of values) square += (value - mean) ** 2;
  const deviation = Math.sqrt(square / Math.max(1, values.length));
  return values.map((value) => (deviation > 1e-9 ? (value - mean) / deviation : 0));
}
