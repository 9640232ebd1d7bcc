import type { FilterNode } from '../index/collection-index.ts';

/** Returns a filter for the documents that match both filters; null matches all. */
export function intersectFilters(filter: FilterNode | null, other: FilterNode): FilterNode {
  return filter === null ? other : { kind: 'and', nodes: [filter, other] };
}
