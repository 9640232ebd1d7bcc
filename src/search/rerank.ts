import { limits } from '../core/limits.ts';
import { runOrDegrade } from './degraded-models.ts';
import { blend } from './fuse.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';
import { rerankDepth } from './search-depth.ts';

/** An item in the final order. */
export interface RankedItem<Item> {
  readonly item: Item;
  readonly score: number;
  readonly fused: number;
  /** Null for an item without a reranker score. */
  readonly rerank: number | null;
}

/** Properties of an item that reranking uses. */
export interface RerankAccess<Item> {
  /** Returns the text that a reranker reads. */
  readonly textOf: (item: Item) => string;
  /** Returns the score before reranking, 0..1. */
  readonly fusedOf: (item: Item) => number;
}

/**
 * Blends reranker scores into the best items if a reranker is requested; the others follow in their order.
 */
export async function rerank<Item>(
  components: SearchComponents,
  query: PreparedQuery,
  items: readonly Item[],
  { textOf, fusedOf }: RerankAccess<Item>,
): Promise<RankedItem<Item>[]> {
  const keepOrder = () => items.map((item) => toRankedItem(item, fusedOf(item), fusedOf(item)));
  const { k, reranker } = query.request;
  if (reranker === null || items.length === 0) return keepOrder();
  const pool = items.slice(0, Math.max(rerankDepth, Math.min(k, limits.topSnippetsMax)));
  const scores = await scoreTexts(components, query, { reranker, texts: pool.map(textOf) });
  if (scores === null) return keepOrder();
  const weight = components.models.rerankWeight(reranker, query.text);
  const blended = blend(scores, Float32Array.from(pool, fusedOf), weight);
  const ranked: RankedItem<Item>[] = pool
    .map((item, i) => ({ item, score: blended[i]!, fused: fusedOf(item), rerank: scores[i]! }))
    .sort((a, b) => b.score - a.score);
  return appendUnranked(ranked, items.slice(pool.length), fusedOf);
}

/** Appends items without a reranker score in their order, with scores below those of the ranked ones. */
export function appendUnranked<Item>(
  ranked: readonly RankedItem<Item>[],
  rest: readonly Item[],
  fusedOf: (item: Item) => number,
): RankedItem<Item>[] {
  const floor = ranked.at(-1)?.score ?? 1;
  return [...ranked, ...rest.map((item) => toRankedItem(item, floor * fusedOf(item), fusedOf(item)))];
}

function toRankedItem<Item>(item: Item, score: number, fused: number): RankedItem<Item> {
  return { item, score, fused, rerank: null };
}

/** Returns one score in 0..1 per text; null when the model is unavailable and the query may degrade. */
async function scoreTexts(
  components: SearchComponents,
  { text, recorder, yieldToEventLoop }: PreparedQuery,
  { reranker, texts }: { readonly reranker: string; readonly texts: readonly string[] },
): Promise<Float32Array | null> {
  const run = () => components.models.rerank(reranker, text, texts);
  const scores = await recorder.measure('rerank', () =>
    runOrDegrade(components, recorder, { part: 'rerank', run }),
  );
  const pause = yieldToEventLoop();
  if (pause !== null) await pause;
  if (scores !== null) recorder.reranked += texts.length;
  return scores;
}
