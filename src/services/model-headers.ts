import type { SearchRequest } from '../search/query-request.ts';
import type { QueryOutcome } from '../search/search-result.ts';
import { type Collection, hasOwnVectors } from '../storage/collections.ts';
import type { ServiceCall } from './call.ts';

/** Headers of replies that depend on models. They are headers because the bodies have published shapes. */

/** Describes models by their names in requests; implemented in `models/catalog`. */
export interface ModelDescriptions {
  /** Errors: 404 for an unknown model, or a name of the hosted service that this server does not serve. */
  checkEmbedding(name: string): void;
  /** Same as `checkEmbedding`, for a reranker. */
  checkReranker(name: string): void;
  /** Returns `name@version`. Errors: 404 for an unknown model. */
  describeEmbedding(name: string): string;
  /** Same as `describeEmbedding`, for a reranker. */
  describeReranker(name: string): string;
  /** Whether a name of the hosted service stands for a built-in model. */
  isSubstitute(name: string): boolean;
}

/** The subset for queries, whose embedding model is that of the collection. */
export interface QueryModelDescriptions
  extends Pick<ModelDescriptions, 'checkReranker' | 'describeReranker' | 'isSubstitute'> {
  describeForCollection(reference: Collection['model']): string;
}

type HeaderCall = Pick<ServiceCall, 'setReplyHeader'>;
type NameCheck = Pick<ModelDescriptions, 'isSubstitute'>;

/** Sets the headers of a reply: the models that were used, and the name by which the last of them was chosen. */
export function setModelHeaders(
  call: HeaderCall,
  models: NameCheck,
  { used, name }: { readonly used: readonly string[]; readonly name: string | null },
): void {
  if (call.setReplyHeader === undefined) return;
  call.setReplyHeader('x-quarry-model', used.length === 0 ? 'none' : used.join(', '));
  if (name === null || !models.isSubstitute(name)) return;
  call.setReplyHeader(
    'x-quarry-warnings',
    `${name} is a built-in model of Quarry, not the model of the hosted service with this name`,
  );
}

/** Sets the headers of a query. A model that was unavailable, or vectors of the caller, are not listed. */
export function setQueryHeaders(
  call: HeaderCall,
  models: QueryModelDescriptions,
  { collection, control, reranker }: Pick<SearchRequest, 'collection' | 'control' | 'reranker'>,
  { isListing, outcome }: { readonly isListing: boolean; readonly outcome: QueryOutcome },
): void {
  if (call.setReplyHeader === undefined) return;
  const isMissing = (part: 'vector' | 'rerank') =>
    outcome.models.missing.some((missing) => missing.part === part);
  const used: string[] = [];
  const comparesVectors = !isListing && control.weights.vector > 0 && !hasOwnVectors(collection);
  if (comparesVectors && !isMissing('vector')) used.push(models.describeForCollection(collection.model));
  const isReranked = !isListing && reranker !== null && !isMissing('rerank');
  if (isReranked) used.push(models.describeReranker(reranker));
  setModelHeaders(call, models, { used, name: isReranked ? reranker : null });
}
