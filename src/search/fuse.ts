/** What each side of a search counts beside the other: >= 0, not both 0. A side of 0 is not asked. */
export interface Weights {
  /** The words of a passage. */
  readonly lexical: number;
  /** Its meaning. */
  readonly vector: number;
}

/**
 * Reciprocal rank fusion lost to BM25 alone on most of our development collections, so ranks play no part; these
 * weights won.
 */
export const defaultWeights: Weights = { lexical: 1, vector: 0.6 };

/**
 * Scores in 0..1, one per candidate, in the order given: linear fusion of both first-stage scores over the union of both
 * candidate lists, each divided by its largest. Cosines of one query lie close together, and how close differs from query
 * to query: divided, the two sides count alike for all of them.
 * `lexical`: BM25 scores >= 0. `similarity`: cosines in -1..1, or null when the query has no vector.
 */
export function fuse(
  lexical: Float32Array,
  similarity: Float32Array | null,
  weights: Weights = defaultWeights,
): Float32Array {
  const lexicalScale = reciprocalOfMax(lexical);
  const similarityScale = similarity === null ? 0 : reciprocalOfMax(similarity);
  // However large or small they are, only how they compare counts.
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

/** What makes the largest of these numbers 1; 0 when none is above 0. */
function reciprocalOfMax(numbers: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < numbers.length; i += 1) largest = Math.max(largest, numbers[i]!);
  return largest > 0 ? 1 / largest : 0;
}

/** How steeply the blend becomes a score: an item one deviation above the others on both sides scores .82. */
const blendSlope = 1.5;

/**
 * Joins reranker scores (0..1) with fused scores over the same candidates: the reranker's log-odds and the fused
 * scores, both standardised, averaged and squeezed into 0..1; `weight` is what the reranker counts beside the fused
 * scores. Log-odds keep it from flattening among the very good and the very bad.
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
