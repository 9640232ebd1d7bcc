import type { StatusResponse } from '../../schemas/status.ts';
import type { ApiClient } from '../api-client.ts';

/** An imported document that is searched for after the import. */
export interface ImportSample {
  readonly path: string;
  readonly query: string;
  /** Vector of the document, if it was supplied. */
  readonly vector: readonly number[] | null;
}

/** Comparison of a source with the collection after an import. */
export interface ImportComparison {
  /** Null if the source does not report it. */
  readonly source_documents: number | null;
  readonly collection_documents: number;
  readonly searches: number;
  /** Searches whose results contain the document that they were made from. */
  readonly found: number;
}

const resultsMax = 10;
const queryUnitsMax = 300;
/** A collection with supplied vectors has no model to embed a query. */
const lexicalOnly = { lexical: 1, vector: 0 };

/** Returns a sample of a document; null for one without text. */
export function toSample(path: string, document: Readonly<Record<string, unknown>>): ImportSample | null {
  const { text, pages } = document.content as { text?: unknown; pages?: unknown };
  const start: unknown = Array.isArray(pages) ? pages.find((page) => String(page).trim() !== '') : text;
  if (typeof start !== 'string' || !/\p{L}{3}/u.test(start)) return null;
  const first: unknown = Array.isArray(document.vectors) ? document.vectors[0] : null;
  const vector = Array.isArray(first) ? (first as number[]) : null;
  return { path, query: start.slice(0, queryUnitsMax).toWellFormed(), vector };
}

/** Compares counts, and searches for the samples. */
export async function compareImport(
  api: ApiClient,
  collection: string,
  { total, samples }: { readonly total: number | null; readonly samples: readonly ImportSample[] },
): Promise<ImportComparison> {
  const request = { collection_name: collection };
  const { num_documents, embedding_model } = await api.call<StatusResponse>('status/get-status', request);
  let found = 0;
  for (const { path, query, vector } of samples) {
    const byWords = embedding_model === 'own' ? { query, weights: lexicalOnly } : { query };
    const search = vector === null ? byWords : { query: '', query_vector: vector };
    const { results } = await api.call<{ results: readonly { path: string }[] }>('queries/top-documents', {
      ...request,
      ...search,
      k: resultsMax,
    });
    if (results.some((result) => result.path === path)) found += 1;
  }
  return { source_documents: total, collection_documents: num_documents, searches: samples.length, found };
}
