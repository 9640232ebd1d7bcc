import { queryLimits } from '../core/query-limits.ts';
import { readFineChunks } from './chunk-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';
import type { Hit, HitLocation } from './search-result.ts';

/** Number of best hits from which diverse ones are chosen: `poolPerResult` of each result, within bounds. */
const poolMin = 64;
const poolPerResult = 4;

/** Returns the number of hits that `diversify` needs for `k` results. */
export function poolSizeForDiversity(k: number): number {
  return Math.max(k, Math.min(queryLimits.diverseCandidatesMax, Math.max(poolMin, poolPerResult * k)));
}

/**
 * Returns `k` hits by maximal marginal relevance (Carbonell and Goldstein, 1998), in the order in which they are chosen:
 * each has the highest (1 - diversity) * score - diversity * similarity, where similarity is its largest cosine to a hit
 * chosen before, at least 0. `diversity`: 0..1. The scores do not change. Vectors are those stored with fine chunks.
 */
export async function diversify<H extends Hit>(
  components: Pick<SearchComponents, 'reader' | 'decodeVectors'>,
  query: Pick<PreparedQuery, 'request' | 'recorder' | 'generation'>,
  hits: readonly H[],
  { k, diversity }: { readonly k: number; readonly diversity: number },
): Promise<H[]> {
  const vectors = await readVectors(components, query, hits);
  const { yieldToEventLoop } = query.request;
  const left = new Set(hits.keys());
  const closest = new Float32Array(hits.length);
  const chosen: H[] = [];
  while (chosen.length < k && left.size > 0) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    const best = findBest(left, (i) => (1 - diversity) * hits[i]!.score - diversity * closest[i]!);
    left.delete(best);
    chosen.push(hits[best]!);
    for (const i of left) closest[i] = Math.max(closest[i]!, cosine(vectors[best]!, vectors[i]!));
  }
  return chosen;
}

/** Returns the item with the highest value, the first of several. */
function findBest(items: Iterable<number>, scoreOf: (item: number) => number): number {
  let best = -1;
  let highest = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = scoreOf(item);
    if (value > highest) [best, highest] = [item, value];
  }
  return best;
}

/** Returns the vector of each hit, of unit length; null if none is stored. */
async function readVectors(
  components: Pick<SearchComponents, 'reader' | 'decodeVectors'>,
  query: Pick<PreparedQuery, 'request' | 'recorder' | 'generation'>,
  hits: readonly Hit[],
): Promise<(Float32Array | null)[]> {
  const { collection, yieldToEventLoop } = query.request;
  const located = hits.flatMap(({ origin: { location } }, i) => (location === null ? [] : [{ i, location }]));
  const fineChunks = await readFineChunks(
    components,
    query,
    located.map(({ location }) => location),
  );
  const vectors = new Array<Float32Array | null>(hits.length).fill(null);
  for (const [at, { i, location }] of located.entries()) {
    const codes = fineChunks[at]?.codes;
    if (codes === undefined) continue;
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    const rows = components.decodeVectors(codes, collection.dimensions);
    vectors[i] = toUnitVector(rows, collection.dimensions, location);
  }
  return vectors;
}

/** Returns the vector of a fine chunk, or of a coarse chunk: the sum of those of its fine chunks. */
function toUnitVector(rows: Float32Array, dimensions: number, { fineChunk }: HitLocation): Float32Array {
  const first = fineChunk ?? 0;
  const end = fineChunk === null ? rows.length / dimensions : fineChunk + 1;
  const sum = new Float32Array(dimensions);
  for (let row = first; row < end; row += 1)
    for (let i = 0; i < dimensions; i += 1) sum[i] = sum[i]! + rows[row * dimensions + i]!;
  const length = Math.sqrt(dotProduct(sum, sum));
  return length === 0 ? sum : sum.map((component) => component / length);
}

function cosine(one: Float32Array | null, other: Float32Array | null): number {
  return one === null || other === null ? 0 : dotProduct(one, other);
}

function dotProduct(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < one.length; i += 1) sum += one[i]! * other[i]!;
  return sum;
}
