import { AppError } from '../core/app-error.ts';
import type { FieldTypes } from '../core/metadata-types.ts';
import { orderLimits } from '../core/order-limits.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import { isFieldName } from './field-name.ts';
import { sortValueOf } from './metadata-order.ts';

/** Grouping as requests write it. */
export interface GroupOptions {
  readonly field: string;
  readonly size?: number | null;
}

/** Results with the same value of a field form a group. */
export interface GroupBy {
  readonly attribute: string;
  /** Maximum number of results of a group. */
  readonly size: number;
}

/** Value of a group, and the number of its results, which follow those of the groups before. */
export interface ResultGroup {
  /** Null for results without a value. */
  readonly value: string | number | boolean | null;
  readonly results: number;
}

/** Parses the grouping of a request; null for none. Errors: 400. */
export function parseGroupBy(
  groupBy: GroupOptions | null | undefined,
  schema: FieldTypes | undefined,
): GroupBy | null {
  if (groupBy == null) return null;
  const { field } = groupBy;
  const size = groupBy.size ?? orderLimits.groupSizeDefault;
  if (!isFieldName(field))
    reject('field must be the name of a metadata field: letters, digits, "-" and "_".');
  if (field.startsWith('list:')) reject('a list has several values; use another field.');
  const declared = schema !== undefined && Object.hasOwn(schema, field) ? schema[field] : undefined;
  if (declared === 'geo')
    reject(`the field ${JSON.stringify(field)} has points, which form no groups; use another field.`);
  if (size < 1 || size > orderLimits.groupSizeMax)
    reject(`size is ${size}; it must be from 1 to ${orderLimits.groupSizeMax}.`);
  return { attribute: field, size };
}

function groupValueOf(metadata: Metadata, { attribute }: GroupBy): ResultGroup['value'] {
  return sortValueOf(metadata, { attribute, isDescending: false, isDate: false }) as ResultGroup['value'];
}

/**
 * Returns the first results of the first `k` groups, group by group. Groups are in the order of their first results.
 */
export function groupResults<T>(
  ordered: readonly T[],
  groupBy: GroupBy,
  k: number,
  metadataOf: (item: T) => Metadata,
): T[] {
  const groups = new Map<ResultGroup['value'], T[]>();
  for (const item of ordered) {
    const value = groupValueOf(metadataOf(item), groupBy);
    const group = groups.get(value);
    if (group === undefined && groups.size < k) groups.set(value, [item]);
    else if (group !== undefined && group.length < groupBy.size) group.push(item);
  }
  return [...groups.values()].flat();
}

/** Returns the groups of results that are in the order of `groupResults`. */
export function listGroups(results: readonly Metadata[], groupBy: GroupBy): ResultGroup[] {
  const counts = new Map<ResultGroup['value'], number>();
  for (const metadata of results) {
    const value = groupValueOf(metadata, groupBy);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].map(([value, count]) => ({ value, results: count }));
}

function reject(problem: string): never {
  throw new AppError('bad_request', `group_by is not valid: ${problem}`);
}
