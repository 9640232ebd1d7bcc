import type * as wire from '../../../src/schemas/queries.ts';
import { texts } from '../texts/en/search-options.ts';
import { fill } from '../texts/format-text.ts';
import type { ResultKind, SearchOptions } from './search-settings.ts';

/** Fields of the API for the options of a search. Options that are not used add no field. */

type OptionFields = Pick<
  wire.TopSnippetsRequest,
  'sort' | 'boost' | 'facets' | 'group_by' | 'diversity' | 'highlights' | 'similar_to'
>;

export function toOptionFields(kind: ResultKind, options: SearchOptions): OptionFields {
  const { boostField, halfLife, boostWeight, groupField, groupSize, similarTo } = options;
  const sort = options.sort.filter(({ field }) => field.trim() !== '');
  const { fields: facets } = parseFacetFields(options.facets);
  return {
    ...(similarTo === null
      ? {}
      : {
          similar_to: {
            path: similarTo.path,
            ...(similarTo.start === null ? {} : { start_index: similarTo.start }),
          },
        }),
    ...(sort.length === 0
      ? {}
      : {
          sort: sort.map(({ field, isDescending }) => ({
            field: field.trim(),
            ...(isDescending ? { order: 'desc' as const } : {}),
          })),
        }),
    ...(boostField.trim() === ''
      ? {}
      : {
          boost: {
            field: boostField.trim(),
            half_life: halfLife.trim(),
            ...(boostWeight === 1 ? {} : { weight: boostWeight }),
          },
        }),
    ...(facets.length === 0 ? {} : { facets }),
    ...(groupField.trim() === ''
      ? {}
      : {
          group_by: { field: groupField.trim(), ...(groupSize === 3 ? {} : { size: groupSize }) },
        }),
    ...(options.diversity > 0 && canDiversify(options) ? { diversity: options.diversity } : {}),
    ...(options.hasHighlights && kind !== 'documents' ? { highlights: true } : {}),
  };
}

/** The API orders or groups results, or makes them diverse. */
export function canDiversify({ sort, groupField }: Pick<SearchOptions, 'sort' | 'groupField'>): boolean {
  return groupField.trim() === '' && sort.every(({ field }) => field.trim() === '');
}

/** Returns the error in the options, or null. The server checks the rest. */
export function findOptionsError({ facets }: Pick<SearchOptions, 'facets'>): string | null {
  const { error } = parseFacetFields(facets);
  return error === null ? null : fill(texts.thisIsNotValidJson, { error });
}

type FacetFields = NonNullable<wire.TopSnippetsRequest['facets']>;

/** Reads names separated by commas, or JSON. With an error, there are no fields. */
function parseFacetFields(text: string): { readonly fields: FacetFields; readonly error: string | null } {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) {
    try {
      const value: unknown = JSON.parse(trimmed);
      return { fields: (Array.isArray(value) ? value : [value]) as FacetFields, error: null };
    } catch (error) {
      return { fields: [], error: error instanceof Error ? error.message : String(error) };
    }
  }
  const names = trimmed.split(',').map((name) => name.trim());
  return { fields: names.filter((name) => name !== ''), error: null };
}

/** Returns the conditions for documents with a value of a facet. */
export function valueConditions(field: string, value: string | number | boolean): readonly object[] {
  return [{ [field]: field.startsWith('list:') ? { $in: [value] } : { $eq: value } }];
}

/** A bound of a range of a facet, as the request writes it. */
type FacetBound = string | number | { readonly $date: string };

export interface RequestedRange {
  readonly from?: FacetBound | null;
  /** Exclusive. */
  readonly to?: FacetBound | null;
}

/** Returns the conditions for documents in a range of a facet, one per bound, as the filter builder writes them. */
export function rangeConditions(
  field: string,
  { from = null, to = null }: RequestedRange,
): readonly object[] {
  return [
    ...(from === null ? [] : [{ [field]: { $gte: from } }]),
    ...(to === null ? [] : [{ [field]: { $lt: to } }]),
  ];
}

/** Ranges of a field in the facets of a request; empty if it has none. */
export function rangesOf(facets: OptionFields['facets'], field: string): readonly RequestedRange[] {
  for (const facet of facets ?? []) {
    const options = typeof facet === 'string' ? undefined : facet[field];
    if (options !== undefined)
      return (options as { readonly ranges?: readonly RequestedRange[] }).ranges ?? [];
  }
  return [];
}

/** Whether a filter requires all of the conditions of a facet. `filter`: null for none. */
export function hasConditions(filter: unknown, conditions: readonly object[]): boolean {
  const parts = partsOf(filter);
  return conditions.every((condition) => parts.some((part) => isSame(part, condition)));
}

/** Adds conditions that all documents must meet to a filter, or removes them; null for no filter. */
export function toggleConditions(filter: unknown, conditions: readonly object[]): unknown {
  const others = partsOf(filter).filter((part) => !conditions.some((condition) => isSame(part, condition)));
  const next = hasConditions(filter, conditions) ? others : [...others, ...conditions];
  return next.length <= 1 ? (next[0] ?? null) : { $and: next };
}

/** Filters that must all match. */
function partsOf(filter: unknown): readonly unknown[] {
  if (typeof filter !== 'object' || filter === null || Object.keys(filter).length === 0) return [];
  const { $and: parts, ...others } = filter as { readonly $and?: unknown };
  return Array.isArray(parts) && Object.keys(others).length === 0 ? parts : [filter];
}

/** The builder and this module write the keys of a condition in the same order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
