import { AppError } from '../core/app-error.ts';
import type { FieldTypes } from '../core/metadata-types.ts';
import { orderLimits } from '../core/order-limits.ts';
import type { SortField } from '../index/sort.ts';
import { isFieldName } from './field-name.ts';

export type { SortField } from '../index/sort.ts';

/** One level of an order as requests write it. */
export interface SortLevel {
  readonly field: string;
  readonly order?: 'asc' | 'desc';
  readonly type?: 'date';
}

/**
 * Parses the order of a request; null for none. Strings of fields that the schema of the collection declares as dates are
 * dates. Errors: 400 with the position of the problem.
 */
export function parseSort(
  levels: readonly SortLevel[] | null | undefined,
  schema: FieldTypes | undefined,
): readonly SortField[] | null {
  if (levels == null || levels.length === 0) return null;
  if (levels.length > orderLimits.sortFieldsMax)
    reject('sort', `it has ${levels.length} fields; use at most ${orderLimits.sortFieldsMax}.`);
  const names = new Set<string>();
  return levels.map(({ field, order, type }, i) => {
    const path = `sort[${i}]`;
    if (!isFieldName(field))
      reject(path, 'field must be the name of a metadata field: letters, digits, "-" and "_".');
    if (field.startsWith('list:')) reject(path, 'a list has no order; use another field.');
    if (names.has(field)) reject(path, `the field ${JSON.stringify(field)} occurs twice; name it once.`);
    names.add(field);
    const declared = schema !== undefined && Object.hasOwn(schema, field) ? schema[field] : undefined;
    if (declared === 'geo')
      reject(path, `the field ${JSON.stringify(field)} has points, which have no order; use another field.`);
    return { attribute: field, isDescending: order === 'desc', isDate: (type ?? declared) === 'date' };
  });
}

function reject(path: string, problem: string): never {
  throw new AppError('bad_request', `The order is not valid at ${path}: ${problem}`);
}
