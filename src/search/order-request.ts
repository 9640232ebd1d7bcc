import type { FieldTypes } from '../core/metadata-types.ts';
import type { SortField } from '../index/sort.ts';
import { type BoostOptions, parseBoost, type RecencyBoost } from './recency-boost.ts';
import { parseSort, type SortLevel } from './sort.ts';

/** How the best results of a query are reordered by metadata. At least one is not null. */
export interface ResultOrder {
  readonly boost: RecencyBoost | null;
  readonly sort: readonly SortField[] | null;
}

/** Parses the order of a request; null for the order of the scores. Errors: 400. */
export function parseOrder(
  request: { readonly sort?: readonly SortLevel[] | null; readonly boost?: BoostOptions | null },
  schema: FieldTypes | undefined,
  nowMs: number,
): ResultOrder | null {
  const sort = parseSort(request.sort, schema);
  const boost = parseBoost(request.boost, schema, nowMs);
  return sort === null && boost === null ? null : { sort, boost };
}
