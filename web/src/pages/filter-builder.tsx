import { useId, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Field, RadioGroup } from '../components/field.tsx';
import { parseJson } from '../format/parse-json.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/search-options.ts';
import { fill } from '../texts/format-text.ts';
import {
  adaptRow,
  emptyRow,
  type FilterOperator,
  type FilterRow,
  type FilterRows,
  fromFilter,
  operatorsOf,
  takesList,
  toFilter,
  type ValueType,
  valueTypes,
} from './filter-rows.ts';
import { searchQuery, updateQuery } from './search-query.ts';

/** Maximum number of conditions of the builder. */
const rowsMax = 20;

/** Filter of the query, as conditions or as JSON. */
export function FilterFields({ error }: { readonly error: string | null }) {
  const id = useId();
  const { filter } = searchQuery.value;
  const [mode, setMode] = useState<'builder' | 'json'>(() =>
    error === null && readRows(filter) !== null ? 'builder' : 'json',
  );
  return (
    <fieldset class="filter-fields" aria-labelledby={id}>
      <div class="filter-head">
        <span id={id} class="label">
          {texts.filterByMetadata}
        </span>
        <RadioGroup
          legend={texts.filterEditor}
          name="filter-editor"
          value={mode}
          options={[
            ['builder', texts.conditions],
            ['json', 'JSON'],
          ]}
          onChange={setMode}
        />
      </div>
      {mode === 'json' ? <JsonField error={error} /> : <FilterBuilder error={error} />}
    </fieldset>
  );
}

function readRows(filter: string): FilterRows | null {
  if (filter.trim() === '') return { match: 'all', rows: [] };
  const { value, error } = parseJson(filter);
  return error === null ? fromFilter(value) : null;
}

function JsonField({ error }: { readonly error: string | null }) {
  return (
    <Field label={texts.filterAsJson} hint={texts.exampleAuthorAdaLeaveEmpty} error={error}>
      {(control) => (
        <CodeArea
          control={control}
          rows={3}
          placeholder='{"year": {"$gte": "2024"}}'
          value={searchQuery.value.filter}
          onChange={(filter) => updateQuery({ filter })}
        />
      )}
    </Field>
  );
}

function FilterBuilder({ error }: { readonly error: string | null }) {
  const { filter } = searchQuery.value;
  /** Rows without a field are not part of the filter, so they are kept here. */
  const [draft, setDraft] = useState<FilterRows | null>(() => readRows(filter));
  const shown = draft !== null && toText(draft) === filter ? draft : readRows(filter);
  if (shown === null) return <p class="hint">{texts.thisFilterCannotBeShown}</p>;
  const apply = (next: FilterRows) => {
    setDraft(next);
    updateQuery({ filter: toText(next) });
  };
  const { match, rows } = shown;
  const replaceRow = (position: number, row: FilterRow) =>
    apply({ match, rows: rows.map((each, i) => (i === position ? row : each)) });
  return (
    <>
      {rows.length > 1 && (
        <RadioGroup
          legend={texts.match}
          name="filter-match"
          value={match}
          options={[
            ['all', texts.allConditions],
            ['any', texts.anyCondition],
          ]}
          onChange={(next) => apply({ match: next, rows })}
        />
      )}
      {rows.length > 0 && (
        <ul class="filter-rows">
          {rows.map((row, i) => (
            <FilterRowFields
              key={i}
              row={row}
              number={i + 1}
              onChange={(next) => replaceRow(i, next)}
              onRemove={() => apply({ match, rows: rows.filter((_, position) => position !== i) })}
            />
          ))}
        </ul>
      )}
      <div class="row">
        <Button
          class="small"
          disabled={rows.length >= rowsMax}
          onClick={() => apply({ match, rows: [...rows, emptyRow] })}
        >
          <Icon name="plus" />
          {texts.addCondition}
        </Button>
      </div>
      {error !== null && (
        <p class="hint wrong" role="alert">
          {error}
        </p>
      )}
      {filter !== '' && <output class="filter-json mono">{filter}</output>}
    </>
  );
}

function toText(rows: FilterRows): string {
  const filter = toFilter(rows);
  return filter === undefined ? '' : JSON.stringify(filter);
}

interface FilterRowFieldsProps {
  readonly row: FilterRow;
  readonly number: number;
  readonly onChange: (row: FilterRow) => void;
  readonly onRemove: () => void;
}

function FilterRowFields({ row, number, onChange, onRemove }: FilterRowFieldsProps) {
  return (
    <li class="field">
      <input
        type="text"
        aria-label={fill(texts.fieldNumber, { number })}
        placeholder="year"
        maxLength={256}
        spellcheck={false}
        value={row.field}
        onInput={(event) => onChange(adaptRow({ ...row, field: event.currentTarget.value }))}
      />
      <select
        aria-label={fill(texts.operatorNumber, { number })}
        value={row.operator}
        onChange={(event) => onChange({ ...row, operator: event.currentTarget.value as FilterOperator })}
      >
        {operatorsOf(row).map(([operator, name]) => (
          <option key={operator} value={operator}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label={fill(texts.typeNumber, { number })}
        // Lists contain text only.
        disabled={row.field.startsWith('list:')}
        value={row.type}
        onChange={(event) => onChange(adaptRow({ ...row, type: event.currentTarget.value as ValueType }))}
      >
        {valueTypes.map(([type, name]) => (
          <option key={type} value={type}>
            {name}
          </option>
        ))}
      </select>
      <ValueInput row={row} number={number} onChange={(value) => onChange({ ...row, value })} />
      <button
        type="button"
        class="icon-button"
        aria-label={fill(texts.removeConditionNumber, { number })}
        onClick={onRemove}
      >
        <span aria-hidden="true">×</span>
      </button>
    </li>
  );
}

/** Values without commas, and with them for operators that take several. */
const placeholders: Readonly<Record<ValueType, readonly [string, string]>> = {
  text: ['2024', '2024, 2025'],
  number: ['2024', '2024, 2025'],
  boolean: ['', ''],
  date: ['2026-03-31', '2026-03-31, 2026-04-30'],
};

interface ValueInputProps {
  readonly row: FilterRow;
  readonly number: number;
  readonly onChange: (value: string) => void;
}

function ValueInput({ row: { type, operator, value }, number, onChange }: ValueInputProps) {
  const label = fill(texts.valueNumber, { number });
  if (type === 'boolean')
    return (
      <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="true">{texts.yes}</option>
        <option value="false">{texts.no}</option>
      </select>
    );
  return (
    <input
      type="text"
      aria-label={label}
      inputMode={type === 'number' ? 'decimal' : 'text'}
      placeholder={placeholders[type][takesList(operator) ? 1 : 0]}
      maxLength={4_096}
      spellcheck={false}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
