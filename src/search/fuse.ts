/**
 * Linear fusion of the two first-stage scores over the union of both candidate lists, as measured in our ranking
 * notes: lexical score divided by its maximum, plus a weighted cosine. Reciprocal rank fusion lost to BM25 alone on
 * most collections, so ranks play no part.
 */
export const vectorWeight = 0.8;

/**
 * Scores in 0..1, one per candidate, in the order given.
 * `lexical`: BM25 scores >= 0. `similarity`: cosines in -1..1, or null when the query has no vector.
 */
export function fuse(lexical: Float32Array, similarity: Float32Array | null): Float32Array {
  let best = 0;
  for (let i = 0; i < lexical.length; i += 1) best = Math.max(best, lexical[i]!);
  const fused = new Float32Array(lexical.length);
  for (let i = 0; i < fused.length; i += 1) {
    const words = best > 0 ? lexical[i]! / best : 0;
    const meaning = similarity === null ? 0 : Math.max(0, similarity[i]!);
    fused[i] = (words + vectorWeight * meaning) / (1 + vectorWeight);
  }
  return fused;
}

/** How steeply the blend becomes a score: an item one deviation above the others on both sides scores .82. */
const blendSlope = 0.75;

/**
 * Joins reranker scores (0..1) with fused scores over the same candidates: the reranker's log-odds and the fused
 * scores, both standardised, added and squeezed into 0..1. A reranker alone did worse than this sum on our
 * development collections; log-odds keep it from flattening among the very good and the very bad.
 */
export function blend(reranked: Float32Array, fused: Float32Array): Float32Array {
  const odds = standardise(reranked.map((score) => Math.log((score + 1e-6) / (1 - score + 1e-6))));
  const first = standardise(fused);
  return odds.map((z, i) => 1 / (1 + Math.exp(-blendSlope * (z + first[i]!))));
}

function standardise(values: Float32Array): Float32Array {
  let sum = 0;
  for (const value of values) sum += value;
  const mean = values.length === 0 ? 0 : sum / values.length;
  let square = 0;
  for (const value of values) square += (value - mean) ** 2;
  const deviation = Math.sqrt(square / Math.max(1, values.length));
  return values.map((value) => (deviation > 1e-9 ? (value - mean) / deviation : 0));
}
