import { type FineSpec, WrittenReply } from '../index/written-reply.ts';
import type { FoundHits, PreparedQuery } from './prepared-query.ts';
import type { SearchRequest } from './query-request.ts';
import type { ReplyFormat } from './reply-parts.ts';
import type { SearchComponents } from './search-components.ts';
import { searchIndex } from './search-index.ts';

/** The first search for a reply, and how its fine chunks are scored (null: it has none). */
export interface WritePlan {
  readonly depth: number;
  readonly fine: FineSpec | null;
}

/** Maximum number of results of a written reply: the cost of writing it on the main thread. */
const writtenResultsMax = 128;

/** Whether the engine can write the reply of a query: its results are the best rows, and nothing explains them. */
export function isWritable({
  k,
  reranker,
  isWide,
  explain,
  trace = null,
  hasHighlights = false,
  hasRectangles = false,
  otherQueries = [],
  members = null,
  excluded = null,
  diversity = 0,
  control,
  facets = null,
  order = null,
  page = null,
  curation = null,
  asOf = null,
}: SearchRequest): boolean {
  const isPlain =
    reranker === null &&
    !isWide &&
    !explain &&
    !hasHighlights &&
    !hasRectangles &&
    otherQueries.length === 0 &&
    members === null &&
    excluded === null &&
    diversity === 0 &&
    trace === null &&
    control.operators === null &&
    facets === null &&
    order === null &&
    page === null &&
    curation === null &&
    asOf === null;
  const isUnlimited = control.minScore === 0 && !Number.isFinite(control.maxPerDocument);
  return isPlain && isUnlimited && k <= writtenResultsMax;
}

/**
 * Searches the shards and has the engine write the reply. Returns the hits if that needs parts that are not cached, or a
 * deeper search.
 */
export async function searchAndWrite(
  { getIndex }: Pick<SearchComponents, 'getIndex'>,
  { request, vector, generation, lexicalQuery, weights }: PreparedQuery,
  { depth, fine }: WritePlan,
  format: ReplyFormat,
): Promise<WrittenReply | FoundHits> {
  const { collection, k: results, filter, deadlineMs, caller, yieldToEventLoop } = request;
  const index = getIndex(collection.collectionId, generation);
  // Not a copy of the request with more fields, which took 7 us.
  const search = { vector, lexicalQuery, filter, depth, deadlineMs, caller, yieldToEventLoop };
  const found = await searchIndex(search, (query) =>
    index.searchAndWrite(query, { results, weights, fine, ...format }),
  );
  return found instanceof WrittenReply ? found : { depth, hits: found };
}
