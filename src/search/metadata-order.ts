import { compareStrings } from '../core/compare-strings.ts';
import { compareInstants, type Instant, parseInstant } from '../core/instants.ts';
import type { SortField } from '../index/sort.ts';
import type { Metadata } from '../storage/metadata-codec.ts';

/** Sort key of a document; null if it has no value that has an order. */
export type SortValue = string | number | boolean | Instant | null;

/** Returns the sort key of a document. Lists and points have no order. */
export function sortValueOf(metadata: Metadata, { attribute, isDate }: SortField): SortValue {
  // Own properties only: `constructor` is an attribute name like any other.
  const value = Object.hasOwn(metadata, attribute) ? metadata[attribute]! : null;
  if (isDate) return typeof value === 'string' ? parseInstant(value) : null;
  return typeof value === 'object' ? null : value;
}

/** Order of types, as in the attribute index of the engine. */
const typeOrder = ['string', 'number', 'boolean', 'object'];

/** Compares ascending: strings, then numbers, then booleans. Documents without a key come last in both directions. */
export function compareSortValues(a: SortValue, b: SortValue, isDescending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = compareValues(a, b);
  return isDescending ? -order : order;
}

function compareValues(a: NonNullable<SortValue>, b: NonNullable<SortValue>): number {
  if (typeof a !== typeof b) return typeOrder.indexOf(typeof a) - typeOrder.indexOf(typeof b);
  if (typeof a === 'string') return compareStrings(a, b as string);
  if (typeof a === 'object') return compareInstants(a, b as Instant);
  return a === b ? 0 : a < (b as typeof a) ? -1 : 1;
}

/** Returns the items in the order of the fields; ties keep their order. */
export function sortByMetadata<T>(
  items: readonly T[],
  fields: readonly SortField[],
  metadataOf: (item: T) => Metadata,
): T[] {
  const keyed = items.map((item) => {
    const metadata = metadataOf(item);
    return { item, keys: fields.map((field) => sortValueOf(metadata, field)) };
  });
  keyed.sort((a, b) => {
    for (const [i, { isDescending }] of fields.entries()) {
      const order = compareSortValues(a.keys[i]!, b.keys[i]!, isDescending);
      if (order !== 0) return order;
    }
    return 0;
  });
  return keyed.map(({ item }) => item);
}
