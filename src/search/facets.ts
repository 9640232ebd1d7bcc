import { AppError } from '../core/app-error.ts';
import { compareStrings } from '../core/compare-strings.ts';
import { compareInstants, parseInstant } from '../core/instants.ts';
import { isObject } from '../core/is-object.ts';
import { limits } from '../core/limits.ts';
import type { FieldTypes } from '../core/metadata-types.ts';
import type { FacetBound, FacetDate, FacetRange, FacetRequest, FacetResult } from '../index/facets.ts';
import { callIndex } from './call-index.ts';
import { isFieldName } from './field-name.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';

/** A field, or a field with options, as requests write it. */
export type FacetField = string | Readonly<Record<string, unknown>>;

/**
 * Parses the facets of a request. Bounds of ranges of fields that the schema of the collection declares as dates are
 * dates. Errors: 400 with the position of the problem.
 */
export function parseFacets(
  facets: readonly FacetField[] | null | undefined,
  schema?: FieldTypes,
): readonly FacetRequest[] | null {
  if (facets == null || facets.length === 0) return null;
  if (facets.length > limits.facetsMax)
    reject('facets', `it has ${facets.length} entries; at most ${limits.facetsMax} are allowed.`);
  return facets.map((facet, i) => {
    const path = `facets[${i}]`;
    if (typeof facet === 'string')
      return { ...parseName(facet, path), valuesMax: limits.facetValuesDefault, ranges: [] };
    const [[name, options] = ['', undefined], ...others] = Object.entries(facet);
    if (others.length > 0) reject(path, 'an object must have one field.');
    const isDate = schema !== undefined && Object.hasOwn(schema, name) && schema[name] === 'date';
    return { ...parseName(name, path), ...parseOptions({ name, isDate }, options, path) };
  });
}

function parseName(attribute: string, path: string): { readonly attribute: string } {
  if (isFieldName(attribute)) return { attribute };
  return reject(path, 'expected the name of a metadata field: letters, digits, "-" and "_".');
}

function parseOptions(
  { name, isDate }: { readonly name: string; readonly isDate: boolean },
  options: unknown,
  path: string,
): Pick<FacetRequest, 'valuesMax' | 'ranges'> {
  if (!isObject(options)) reject(path, 'expected {"limit": 20} or {"ranges": [{"from": 0, "to": 10}]}.');
  const { limit = limits.facetValuesDefault, ranges, ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    reject(path, `${JSON.stringify(unknown.slice(0, 64))} is unknown; use limit or ranges.`);
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > limits.facetValuesMax)
    reject(path, `limit must be an integer from 1 to ${limits.facetValuesMax}.`);
  if (ranges === undefined) return { valuesMax: limit as number, ranges: [] };
  if (name.startsWith('list:')) reject(path, 'a list has no ranges; count its values without ranges.');
  if (!Array.isArray(ranges) || ranges.length < 1 || ranges.length > limits.facetRangesMax)
    reject(path, `ranges must be an array of 1 to ${limits.facetRangesMax} ranges.`);
  return {
    valuesMax: 0,
    ranges: ranges.map((range, i) => parseRange(range, isDate, `${path}.ranges[${i}]`)),
  };
}

function parseRange(range: unknown, isDate: boolean, path: string): FacetRange {
  if (!isObject(range)) reject(path, 'expected an object with "from", "to" or both.');
  const { from = null, to = null, ...others } = range;
  if (Object.keys(others).length > 0 || (from === null && to === null))
    reject(path, 'expected an object with "from", "to" or both.');
  const [first, end] = [from, to].map((bound) =>
    bound === null ? null : parseBound(bound, isDate, path),
  ) as [FacetBound | null, FacetBound | null];
  if (first !== null && end !== null && (typeof first !== typeof end || isAbove(first, end)))
    reject(path, '"from" and "to" must have the same type, and "from" must not be greater than "to".');
  return { from: first, to: end };
}

function parseBound(bound: unknown, isDate: boolean, path: string): FacetBound {
  if (isObject(bound) && Object.keys(bound).join() === '$date') return parseDate(bound.$date, path);
  if (isDate && typeof bound === 'string') return parseDate(bound, path);
  if (typeof bound === 'number' && Number.isFinite(bound)) return bound;
  if (typeof bound === 'string' && bound.isWellFormed()) return bound;
  return reject(path, 'the bounds must be numbers or strings, or dates such as {"$date": "2026-03-31"}.');
}

function parseDate(text: unknown, path: string): FacetDate {
  const instant = typeof text === 'string' ? parseInstant(text) : null;
  if (instant === null) reject(path, 'a date must be an RFC 3339 date, such as "2026-03-31".');
  return { instant, text: text as string };
}

function isAbove(from: FacetBound, to: FacetBound): boolean {
  if (typeof from === 'object') return compareInstants(from.instant, (to as FacetDate).instant) > 0;
  if (typeof from === 'number') return from > (to as number);
  return compareStrings(from, to as string) > 0;
}

function reject(path: string, problem: string): never {
  throw new AppError('bad_request', `The facets are not valid at ${path}: ${problem}`);
}

/** Counts the documents that match the filter of a query; null if it has no facets. */
export async function countFacets(
  { getIndex, findExpired }: Pick<SearchComponents, 'getIndex' | 'findExpired'>,
  { request, generation, recorder }: PreparedQuery,
): Promise<readonly FacetResult[] | null> {
  const { facets = null, collection, filter, deadlineMs, caller } = request;
  if (facets === null) return null;
  return await recorder.measure('search', async () => {
    const expired = await findExpired(collection.collectionId);
    const index = getIndex(collection.collectionId, generation);
    return await callIndex(caller, () => index.countFacets({ filter, facets, expired }, deadlineMs));
  });
}
