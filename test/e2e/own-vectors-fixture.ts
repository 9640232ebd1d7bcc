import type { Test } from '../support/tap.ts';
import type { CheckedApiClient } from './checked-api-client.ts';

/** Vectors supplied by clients, and checks of the results found with them. */

export const dimensions = 5;

/** A unique direction for each seed. */
export function vectorOf(seed: number): number[] {
  return Array.from({ length: dimensions }, (_, i) => Math.sin(1 + seed * 2.7 + i * 1.3));
}

export function base64Of(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}

export function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, i) => sum + value * other[i]!, 0);
  return dot / (Math.hypot(...one) * Math.hypot(...other));
}

export interface VectorHit {
  readonly path: string;
  readonly page_index?: number;
  readonly explain?: {
    readonly vector: { readonly similarity: number | null };
    readonly rerank: number | null;
  };
}
export interface VectorSearchReply {
  readonly results: readonly VectorHit[];
  readonly warnings?: readonly string[];
}

export function add(api: CheckedApiClient, path: string, body: object) {
  return api.call('documents/add-document', { collection_name: 'notes', path, wait: true, ...body });
}

export function ask(api: CheckedApiClient, kind: string, body: object): Promise<VectorSearchReply> {
  const request = { collection_name: 'notes', query: '', k: 50, explain: true, ...body };
  return api.call(
    `queries/top-${kind}` as 'queries/top-pages',
    request,
  ) as unknown as Promise<VectorSearchReply>;
}

export const byMeaning = { weights: { lexical: 0, vector: 1 } };

/** Checks that every result has the similarity of the vectors of document and query. */
export function checkSimilarities(
  t: Test,
  found: VectorSearchReply,
  vectors: (hit: VectorHit) => readonly number[],
  query: readonly number[],
) {
  t.equal(found.warnings, undefined);
  t.ok(found.results.length > 0);
  for (const hit of found.results) {
    const similarity = hit.explain?.vector.similarity ?? Number.NaN;
    const expected = cosine(vectors(hit), query);
    if (!(Math.abs(similarity - expected) < 0.01)) t.equal(similarity, expected, hit.path);
  }
}
