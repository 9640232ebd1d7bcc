import type { FacetResponse } from '../../../src/schemas/facets.ts';
import type { TopSnippetsRequest } from '../../../src/schemas/queries.ts';
import { formatCount } from '../format/numbers.ts';
import { parseJson } from '../format/parse-json.ts';
import {
  type FacetRange,
  hasConditions,
  rangeConditions,
  rangesOf,
  toggleConditions,
  valueConditions,
} from './search-option-fields.ts';
import { findFilterError, searchQuery, updateQuery } from './search-query.ts';

interface FacetsProps {
  readonly facets: readonly FacetResponse[];
  /** Facets of the request, which has the types of the bounds of ranges. */
  readonly requested: TopSnippetsRequest['facets'];
  readonly onFilter: () => void;
}

/** Counts of documents by metadata. Each value adds a condition to the filter of the query, or removes it. */
export function Facets({ facets, requested, onFilter }: FacetsProps) {
  return (
    <div class="facets">
      {facets.map(({ field, values, num_values: valueCount, ranges }) => (
        <fieldset key={field}>
          <legend>{field}</legend>
          {values?.map(({ value, count }) => (
            <FacetButton
              key={`${typeof value} ${value}`}
              label={String(value)}
              count={count}
              conditions={valueConditions(field, value)}
              onFilter={onFilter}
            />
          ))}
          {ranges?.map(({ count }, i) => {
            const range = rangesOf(requested, field)[i] ?? {};
            return (
              <FacetButton
                key={i}
                label={rangeLabel(range)}
                count={count}
                conditions={rangeConditions(field, range)}
                onFilter={onFilter}
              />
            );
          })}
          {values?.length === 0 && <span class="muted">No values</span>}
          {values !== undefined && valueCount !== undefined && valueCount > values.length && (
            <span class="muted">and {formatCount(valueCount - values.length)} more</span>
          )}
        </fieldset>
      ))}
    </div>
  );
}

interface FacetButtonProps {
  readonly label: string;
  readonly count: number;
  readonly conditions: readonly object[];
  readonly onFilter: () => void;
}

function FacetButton({ label, count, conditions, onFilter }: FacetButtonProps) {
  const { filter } = searchQuery.value;
  const { value } = parseJson(filter === '' ? 'null' : filter);
  return (
    <button
      type="button"
      class="facet-value"
      aria-pressed={hasConditions(value, conditions)}
      // A filter with an error would be lost.
      disabled={findFilterError(filter) !== null}
      onClick={() => {
        const next = toggleConditions(value, conditions);
        updateQuery({ filter: next === null ? '' : JSON.stringify(next) });
        onFilter();
      }}
    >
      {label} <span class="number">{formatCount(count)}</span>
    </button>
  );
}

function rangeLabel({ from = null, to = null }: FacetRange): string {
  const text = (bound: NonNullable<FacetRange['from']>) =>
    String(typeof bound === 'object' ? bound.$date : bound);
  if (from === null) return to === null ? '' : `below ${text(to)}`;
  return to === null ? `from ${text(from)}` : `${text(from)} to below ${text(to)}`;
}
