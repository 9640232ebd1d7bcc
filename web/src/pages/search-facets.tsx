import { computed } from '@preact/signals';
import type { FacetResponse } from '../../../src/schemas/facets.ts';
import type { TopSnippetsRequest } from '../../../src/schemas/queries.ts';
import { formatCount } from '../format/numbers.ts';
import { parseJson } from '../format/parse-json.ts';
import { texts } from '../texts/en/results.ts';
import { fill } from '../texts/format-text.ts';
import {
  hasConditions,
  type RequestedRange,
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

/** A value or a range of a facet. */
interface FacetOption {
  readonly key: string;
  readonly label: string;
  readonly count: number;
  /** Conditions of the documents that are counted. */
  readonly conditions: readonly object[];
}

/** Does not change while other parts of the query are typed. */
const filterText = computed(() => searchQuery.value.filter);

/** Counts of documents by metadata. Each value adds a condition to the filter of the query, or removes it. */
export function Facets({ facets, requested, onFilter }: FacetsProps) {
  const text = filterText.value;
  const { value: filter } = parseJson(text === '' ? 'null' : text);
  // A filter with an error would be lost.
  const isBroken = findFilterError(text) !== null;
  const toggle = (conditions: readonly object[]) => {
    const next = toggleConditions(filter, conditions);
    updateQuery({ filter: next === null ? '' : JSON.stringify(next) });
    onFilter();
  };
  return (
    <div class="facets">
      {facets.map((facet, i) => (
        <fieldset key={`${facet.field} ${i}`}>
          <legend>{facet.field}</legend>
          {toOptions(facet, requested).map(({ key, label, count, conditions }) => (
            <button
              key={key}
              type="button"
              class="facet-value"
              aria-pressed={hasConditions(filter, conditions)}
              disabled={isBroken}
              onClick={() => toggle(conditions)}
            >
              {label} <span class="number">{formatCount(count)}</span>
            </button>
          ))}
          <OtherValues facet={facet} />
        </fieldset>
      ))}
    </div>
  );
}

function toOptions(
  { field, values = [], ranges = [] }: FacetResponse,
  requested: FacetsProps['requested'],
): readonly FacetOption[] {
  const requestedRanges = rangesOf(requested, field);
  return [
    ...values.map(({ value, count }) => ({
      key: `${typeof value} ${value}`,
      label: String(value),
      count,
      conditions: valueConditions(field, value),
    })),
    ...ranges.map(({ count }, i) => {
      const range = requestedRanges[i] ?? {};
      return {
        key: `range ${i}`,
        label: rangeLabel(range),
        count,
        conditions: rangeConditions(field, range),
      };
    }),
  ];
}

/** Number of the values that are not listed. */
function OtherValues({ facet: { values, num_values: all = 0 } }: { readonly facet: FacetResponse }) {
  if (values === undefined) return null;
  if (values.length === 0) return <span class="muted">{texts.noValues}</span>;
  const others = all - values.length;
  return others > 0 ? (
    <span class="muted">{fill(texts.andOthersMore, { others: formatCount(others) })}</span>
  ) : null;
}

function rangeLabel({ from = null, to = null }: RequestedRange): string {
  const text = (bound: NonNullable<RequestedRange['from']>) =>
    String(typeof bound === 'object' ? bound.$date : bound);
  if (from === null) return to === null ? '' : fill(texts.belowTo, { to: text(to) });
  return to === null
    ? fill(texts.fromFrom, { from: text(from) })
    : fill(texts.fromToBelowTo, { from: text(from), to: text(to) });
}
