import type { FacetResponse } from '../schemas/facets.ts';
import type { SearchRequest } from '../search/query-request.ts';
import type { SearchResult } from '../search/search-result.ts';

type Requests = NonNullable<SearchRequest['facets']>;
type RangeEnd = Requests[number]['ranges'][number]['from'];

/** Converts the counts of facets to their form in replies, in the order of the request. */
export function toFacetResponses(
  requests: Requests,
  results: NonNullable<SearchResult<never>['facets']>,
): FacetResponse[] {
  return results.map(({ distinct, counts }, i) => {
    const { attribute: field, ranges } = requests[i]!;
    if (ranges.length === 0)
      return {
        field,
        values: counts.map(({ value, documents }) => ({ value: value!, count: documents })),
        num_values: distinct,
      };
    const counted = ranges.map(({ from, to }, at) => ({
      ...(from === null ? {} : { from: toResponse(from) }),
      ...(to === null ? {} : { to: toResponse(to) }),
      count: counts[at]!.documents,
    }));
    return { field, ranges: counted };
  });
}

function toResponse(bound: NonNullable<RangeEnd>): string | number {
  return typeof bound === 'object' ? bound.text : bound;
}
