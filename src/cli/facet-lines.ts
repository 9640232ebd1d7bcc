import type { FacetResponse } from '../schemas/facets.ts';
import { displayWidth, toPrintable } from './text-layout.ts';

/** Returns the lines of the counts of one field, below its name: the count, then the value. */
export function facetLines({ field, values = [], num_values: distinct = 0 }: FacetResponse): string[] {
  const width = Math.max(0, ...values.map(({ count }) => displayWidth(String(count))));
  const more = distinct > values.length ? [`  (${distinct - values.length} more values)`] : [];
  return [
    toPrintable(field),
    ...values.map(({ value, count }) => `  ${String(count).padStart(width)}  ${toPrintable(String(value))}`),
    ...(values.length === 0 ? ['  (no values)'] : more),
  ];
}
