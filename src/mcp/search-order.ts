import type { FacetResponse } from '../schemas/facets.ts';
import { GroupBy, RecencyBoost, SortField } from '../schemas/query-order.ts';
import { type Static, Type } from '../schemas/typebox.ts';
import type { TokenBudget } from './token-budget.ts';

/** Arguments of the search tool that order and group its results by metadata, and count values. */
export const searchOrderFields = {
  sort: Type.Optional(
    Type.Array(SortField, {
      description:
        'Order of the best snippets by metadata instead of relevance, for example newest first: [{"field": "published", "order": "desc"}].',
    }),
  ),
  boost: Type.Optional(RecencyBoost),
  group_by: Type.Optional(GroupBy),
  facets: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Names of metadata fields whose most frequent values are counted, over all documents that match the filter.',
    }),
  ),
};

type SearchOrder = {
  readonly [Name in keyof typeof searchOrderFields]?: Static<(typeof searchOrderFields)[Name]>;
};

/** Returns the fields of a query request. */
export function toOrderFields({
  sort,
  boost,
  group_by,
  facets,
}: { readonly [Name in keyof SearchOrder]: SearchOrder[Name] | undefined }): SearchOrder {
  return {
    ...(sort === undefined ? {} : { sort }),
    ...(boost === undefined ? {} : { boost }),
    ...(group_by === undefined ? {} : { group_by }),
    ...(facets === undefined ? {} : { facets }),
  };
}

/** Returns one line per field that fits the budget. */
export function renderFacets(facets: readonly FacetResponse[], budget: TokenBudget): string {
  const lines = facets.map(({ field, values = [], num_values: distinct = 0 }) => {
    const counts = values.map(({ value, count }) => `${JSON.stringify(value)} (${count})`);
    return `Values of ${field} (${distinct}): ${counts.join(', ')}`;
  });
  return lines
    .map((line, i) =>
      budget.spend(line) ? line : `Values of ${facets[i]!.field} do not fit; raise max_tokens.`,
    )
    .map((line) => `\n\n${line}`)
    .join('');
}
