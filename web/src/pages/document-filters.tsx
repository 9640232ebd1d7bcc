import { useEffect, useRef, useState } from 'preact/hooks';
import { type FileTypeName, fileTypes } from '../../../src/core/file-types.ts';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { isNarrow } from '../browser/media.ts';
import { Button } from '../components/button.tsx';
import { DayField } from '../components/day-field.tsx';
import { Field, RadioGroup } from '../components/field.tsx';
import { TextField } from '../components/text-field.tsx';
import { formatCount } from '../format/numbers.ts';
import { texts } from '../texts/en/documents.ts';
import { fill } from '../texts/format-text.ts';
import { CollectionField } from './collection-select.tsx';
import {
  type AddedRange,
  addedRanges,
  type DocumentQuery,
  hasFilters,
  type StateGroup,
} from './document-query.ts';

const debounceMs = 250;

interface DocumentFiltersProps {
  readonly names: readonly string[];
  readonly query: DocumentQuery;
  readonly status: StatusResponse | undefined;
  readonly onChange: (change: Partial<DocumentQuery>) => void;
  readonly onCollection: (name: string) => void;
}

/** Collection, filters and, where the list has no headings, the order. */
export function DocumentFilters({ names, query, status, onChange, onCollection }: DocumentFiltersProps) {
  const { type, added, sort, isDescending } = query;
  const [isOpen, setOpen] = useState(false);
  const setCount = [type !== '', added !== '', sort !== 'path' || isDescending].filter(Boolean).length;
  // On narrow screens all fields would move the list below the first screen.
  const isFolded = isNarrow.value && !isOpen;
  return (
    <>
      <div class="filters">
        <CollectionField names={names} selected={query.collection} onChoose={onCollection} />
        <PathField text={query.text} onChange={(text) => onChange({ text })} />
        {isNarrow.value && (
          <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {setCount === 0 ? texts.filters : fill(texts.filtersCountSet, { count: formatCount(setCount) })}
          </Button>
        )}
        {!isFolded && <TypeAndDateFields query={query} onChange={onChange} />}
      </div>
      <div class="filter-states">
        <StateFilter
          show={query.show}
          // The status counts all documents of the collection, and counts of a filter would read all of them.
          counts={hasFilters(query) ? null : status}
          onChoose={(show) => onChange({ show })}
        />
        {isNarrow.value && isOpen && <SortField query={query} onChange={onChange} />}
      </div>
    </>
  );
}

type QueryFieldsProps = Pick<DocumentFiltersProps, 'query' | 'onChange'>;

function TypeAndDateFields({ query: { type, added, from, to }, onChange }: QueryFieldsProps) {
  return (
    <>
      <Field label={texts.type}>
        {(control) => (
          <select
            {...control}
            value={type}
            onChange={(event) => onChange({ type: event.currentTarget.value as FileTypeName | '' })}
          >
            <option value="">{texts.allTypes}</option>
            {Object.entries(fileTypes).map(([value, { name }]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={texts.added}>
        {(control) => (
          <select
            {...control}
            value={added}
            onChange={(event) => onChange({ added: event.currentTarget.value as AddedRange | '' })}
          >
            <option value="">{texts.anyTime}</option>
            {Object.entries(addedRanges).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {added === 'range' && (
        <>
          <DayField label={texts.from} value={from} onChange={(day) => onChange({ from: day })} />
          <DayField label={texts.to} value={to} onChange={(day) => onChange({ to: day })} />
        </>
      )}
    </>
  );
}

/** Applies the text after typing has paused. */
function PathField({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const applied = useRef(text);
  /** Other filters may change before the text is applied. */
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (text !== applied.current) setTyped(text); // changed by a link or the history
    applied.current = text;
  }, [text]);
  useEffect(() => {
    if (typed === applied.current) return;
    const timer = setTimeout(() => {
      applied.current = typed;
      latest.current(typed);
    }, debounceMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <TextField
      label={texts.searchPaths}
      type="search"
      autoComplete="off"
      spellcheck={false}
      placeholder={texts.partOfAPath}
      value={typed}
      onChange={setTyped}
    />
  );
}

interface StateFilterProps {
  readonly show: StateGroup;
  /** Undefined while they load; null if they are not shown. */
  readonly counts: StatusResponse | undefined | null;
  readonly onChoose: (show: StateGroup) => void;
}

function StateFilter({ show, counts, onChoose }: StateFilterProps) {
  const optionLabel = (name: string, number: number | undefined) => (
    <>
      {name}
      {counts !== null && (
        <>
          {' '}
          <span class="tally">{number === undefined ? '–' : formatCount(number)}</span>
        </>
      )}
    </>
  );
  const pending = counts ? counts.num_parsing_documents + counts.num_indexing_documents : undefined;
  return (
    <RadioGroup
      legend={texts.documentsToShow}
      name="filter"
      value={show}
      options={[
        ['all', optionLabel(texts.all, counts?.num_documents)],
        ['indexed', optionLabel(texts.indexed, counts?.num_indexed_documents)],
        ['pending', optionLabel(texts.inProgress, pending)],
        ['failed', optionLabel(texts.failed, counts?.num_failed_documents)],
      ]}
      onChange={onChoose}
    />
  );
}

/** Orders to choose where the list has no column headings. */
const orders = [
  ['path', '', texts.path],
  ['created_at', 'desc', texts.newestFirst],
  ['created_at', '', texts.oldestFirst],
  ['size', 'desc', texts.largestFirst],
  ['size', '', texts.smallestFirst],
  ['num_pages', 'desc', texts.mostPagesFirst],
  ['index_status', '', texts.state],
] as const;

function SortField({ query, onChange }: QueryFieldsProps) {
  const current = orders.findIndex(
    ([sort, order]) => sort === query.sort && (order === 'desc') === query.isDescending,
  );
  return (
    <Field label={texts.order}>
      {(control) => (
        <select
          {...control}
          value={String(current)}
          onChange={({ currentTarget }) => {
            const [sort, order] = orders[Number(currentTarget.value)]!;
            onChange({ sort, isDescending: order === 'desc' });
          }}
        >
          {current === -1 && <option value="-1">{texts.other}</option>}
          {orders.map(([, , name], i) => (
            <option key={name} value={String(i)}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
