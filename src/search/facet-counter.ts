import { AppError } from '../core/app-error.ts';
import { compareStrings } from '../core/compare-strings.ts';
import { compareInstants, type Instant, parseInstant } from '../core/instants.ts';
import type { FacetBound, FacetRange, FacetRequest, FacetResult } from '../index/facets.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import { compareSortValues } from './metadata-order.ts';

type Scalar = string | number | boolean;

/** Estimated memory of one value in a map, besides its characters. */
const valueBytes = 64;

/**
 * Counts documents by values of their metadata, one after the other, with the results of `CollectionIndex.countFacets`:
 * for lists of documents that no index holds. Holds each different value of a field.
 */
export class FacetCounter {
  readonly #facets: readonly FacetRequest[];
  readonly #bytesMax: number;
  readonly #counts: readonly Map<Scalar, number>[];
  readonly #rangeCounts: readonly number[][];
  #bytes = 0;

  constructor(facets: readonly FacetRequest[], bytesMax: number) {
    this.#facets = facets;
    this.#bytesMax = bytesMax;
    this.#counts = facets.map(() => new Map());
    this.#rangeCounts = facets.map(({ ranges }) => ranges.map(() => 0));
  }

  /** Errors: 400 if the different values are too many. */
  add(metadata: Metadata): void {
    for (const [i, { attribute, ranges }] of this.#facets.entries()) {
      const values = scalarsOf(metadata, attribute);
      if (ranges.length === 0) for (const value of values) this.#count(attribute, this.#counts[i]!, value);
      else
        for (const [at, range] of ranges.entries())
          if (values.some((value) => isInRange(value, range))) this.#rangeCounts[i]![at]! += 1;
    }
  }

  results(): FacetResult[] {
    return this.#facets.map(({ ranges, valuesMax }, i) => {
      if (ranges.length > 0)
        return {
          distinct: 0,
          counts: this.#rangeCounts[i]!.map((documents) => ({ value: null, documents })),
        };
      const counts = [...this.#counts[i]!].map(([value, documents]) => ({ value, documents }));
      counts.sort((a, b) => b.documents - a.documents || compareSortValues(a.value, b.value, false));
      return { distinct: counts.length, counts: counts.slice(0, valuesMax) };
    });
  }

  #count(attribute: string, counts: Map<Scalar, number>, value: Scalar): void {
    const known = counts.get(value);
    counts.set(value, (known ?? 0) + 1);
    if (known !== undefined) return;
    this.#bytes += valueBytes + (typeof value === 'string' ? 2 * value.length : 0);
    if (this.#bytes <= this.#bytesMax) return;
    throw new AppError(
      'bad_request',
      `The facets of this list have more than ${Math.round(this.#bytesMax / 2 ** 20)} MiB of distinct values; the limit was reached at ${JSON.stringify(attribute)}. Use ranges, or facets of top-documents without a query.`,
    );
  }
}

/** The values of a field that are counted: each value of a list once, and no points. */
function scalarsOf(metadata: Metadata, attribute: string): readonly Scalar[] {
  const value = Object.hasOwn(metadata, attribute) ? metadata[attribute]! : [];
  if (typeof value !== 'object') return [value];
  return 'lat' in value ? [] : [...new Set(value)];
}

function isInRange(value: Scalar, { from, to }: FacetRange): boolean {
  return (
    (from === null || (compareToBound(value, from) ?? -1) >= 0) &&
    (to === null || (compareToBound(value, to) ?? 1) < 0)
  );
}

/** Returns the order of a value relative to a bound; null if they have different types. */
function compareToBound(value: Scalar, bound: FacetBound): number | null {
  if (typeof bound === 'object') {
    const instant: Instant | null = typeof value === 'string' ? parseInstant(value) : null;
    return instant === null ? null : compareInstants(instant, bound.instant);
  }
  if (typeof bound === 'number') return typeof value === 'number' ? value - bound : null;
  return typeof value === 'string' ? compareStrings(value, bound) : null;
}
