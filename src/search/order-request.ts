import type { FieldTypes } from '../core/metadata-types.ts';
import type { SortField } from '../index/sort.ts';
import { type BoostOptions, parseBoost, type RecencyBoost } from './recency-boost.ts';
import { type GroupBy, type GroupOptions, parseGroupBy } from './result-groups.ts';
import { parseSort, type SortLevel } from './sort.ts';

/** How the best results of a query are reordered by metadata. At least one is not null. */
export interface ResultOrder {
  readonly boost: RecencyBoost | null;
  readonly sort: readonly SortField[] | null;
  readonly groupBy: GroupBy | null;
}

/** Parses the order of a request; null for the order of the scores. Errors: 400. */
export function parseOrder(
  request: {
    readonly sort?: readonly SortLevel[] | null;
    readonly boost?: BoostOptions | null;
    readonly group_by?: GroupOptions | null;
  },
  schema: FieldTypes | undefined,
  nowMs: number,
): ResultOrder | null {
  const sort = parseSort(request.sort, schema);
  const boost = parseBoost(request.boost, schema, nowMs);
  const groupBy = parseGroupBy(request.group_by, schema);
  return sort === null && boost === null && groupBy === null ? null : { sort, boost, groupBy };
}
