import type { FilterNode } from '../index/collection-index.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';
import { intersectFilters } from './intersect-filters.ts';
import type { QueryCuration } from './query-request.ts';

/** Rule that pins and hides documents in the results of some queries. */
interface Curation {
  readonly queries: readonly string[];
  readonly pinned?: readonly string[];
  readonly hidden?: readonly string[];
}

/** Rules by the form in which their queries are compared. Built once for each array of rules. */
const rulesCache = new WeakMap<readonly Curation[], ReadonlyMap<string, Curation>>();

/** Returns the form in which queries are compared: words, without case, accents, punctuation and repeated spaces. */
export function toCuratedQuery(query: string): string {
  return toUnstemmedWords(query).join(' ');
}

/** Returns the rule for a query. At most one applies, because a query occurs in one rule only. */
export function findCuration(curations: readonly Curation[], query: string): Curation | undefined {
  const cached = rulesCache.get(curations);
  const rules =
    cached ??
    new Map(
      curations.flatMap((curation) => curation.queries.map((each) => [toCuratedQuery(each), curation])),
    );
  if (cached === undefined) rulesCache.set(curations, rules);
  return rules.get(toCuratedQuery(query));
}

/** Returns the filter of a query without its hidden documents. */
export function withoutHidden(filter: FilterNode | null, curation: QueryCuration | null): FilterNode | null {
  if (curation === null || curation.hidden.length === 0) return filter;
  return intersectFilters(filter, { kind: 'version', operator: 'not_in', versions: curation.hidden });
}
