import { useState } from 'preact/hooks';
import { Checkbox, Field } from '../components/field.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { formatCount } from '../format/numbers.ts';
import { useLoad } from '../server/load.ts';
import { listModels } from '../server/retrieval.ts';
import { FilterFields } from './filter-builder.tsx';
import { noReranker, searchQuery, updateQuery } from './search-query.ts';
import { type ComparedSettings, countOptions, type ResultKind, resultsMax } from './search-settings.ts';

interface QueryOptionsProps {
  readonly filterError: string | null;
  /** Null while unknown. */
  readonly collection: string | null;
}

/** Settings of a query, and of the one that it is compared with. */
export function QueryOptions({ filterError, collection }: QueryOptionsProps) {
  const { kind, reranker, latency, isPrecise, compared } = searchQuery.value;
  return (
    <div class="options">
      <ResultsField />
      <SettingsFields kind={kind} settings={{ reranker, latency, isPrecise }} onChange={updateQuery} />
      <FilterFields error={filterError} />
      <Checkbox
        label="Compare settings"
        hint="Shows two lists side by side"
        checked={compared !== null}
        onChange={(isOn) => updateQuery({ compared: isOn ? otherSettings(kind) : null })}
      />
      {compared !== null && (
        <fieldset class="compared-settings">
          <legend>Second search</legend>
          <SettingsFields
            kind={kind}
            settings={compared}
            onChange={(changes) => updateQuery({ compared: { ...compared, ...changes } })}
          />
        </fieldset>
      )}
      <MoreOptions collection={collection} />
    </div>
  );
}

interface PanelProps {
  readonly collection: string | null;
}

const Panel = lazyPart<PanelProps>(() =>
  import('./search-options-panel.tsx').then(({ SearchOptionsPanel }) => SearchOptionsPanel),
);

/** Options that most queries do not need. They are open if one is set. */
function MoreOptions({ collection }: PanelProps) {
  const setCount = countOptions(searchQuery.value);
  const [isOpen, setOpen] = useState(setCount > 0);
  return (
    <details class="more" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Options
        {setCount > 0 && <span class="muted"> · {formatCount(setCount)} set</span>}
      </summary>
      {isOpen && <Panel collection={collection} />}
    </details>
  );
}

/** Settings that differ from the current ones in one point. */
function otherSettings(kind: ResultKind): ComparedSettings {
  const { reranker, latency, isPrecise } = searchQuery.peek();
  return kind === 'snippets'
    ? { reranker, latency, isPrecise: !isPrecise }
    : { reranker, isPrecise, latency: latency === 'low' ? 'high' : 'low' };
}

interface SettingsFieldsProps {
  readonly kind: ResultKind;
  readonly settings: ComparedSettings;
  readonly onChange: (changes: Partial<ComparedSettings>) => void;
}

function SettingsFields({ kind, settings, onChange }: SettingsFieldsProps) {
  return (
    <>
      <RerankerField reranker={settings.reranker} onChange={(reranker) => onChange({ reranker })} />
      <div class="checks">
        {kind === 'snippets' && (
          <Checkbox
            label="Precise snippets"
            hint="About 200 characters instead of 2,000"
            checked={settings.isPrecise}
            onChange={(isPrecise) => onChange({ isPrecise })}
          />
        )}
        <Checkbox
          label="Deeper search"
          hint="More accurate, slower (latency_mode: high)"
          checked={settings.latency === 'high'}
          onChange={(isHigh) => onChange({ latency: isHigh ? 'high' : 'low' })}
        />
      </div>
    </>
  );
}

function ResultsField() {
  const { kind, k } = searchQuery.value;
  const clampResults = (typed: number) => Math.max(1, Math.min(resultsMax[kind], Math.trunc(typed || 1)));
  return (
    <Field label="Results">
      {(controlProps) => (
        <input
          {...controlProps}
          type="number"
          min={1}
          max={resultsMax[kind]}
          value={k}
          onChange={(event) => updateQuery({ k: clampResults(event.currentTarget.valueAsNumber) })}
        />
      )}
    </Field>
  );
}

/**
 * Selects one of the server's rerankers, including those the operator added. While they load, the selected one
 * is listed.
 */
interface RerankerFieldProps {
  readonly reranker: string;
  readonly onChange: (reranker: string) => void;
}

function RerankerField({ reranker, onChange }: RerankerFieldProps) {
  const models = useLoad(listModels, []);
  const defaultReranker = models.data?.default_reranker ?? null;
  const known = models.data?.rerankers ?? [];
  const isListed = reranker === '' || reranker === noReranker || known.includes(reranker);
  return (
    <Field label="Reranker" error={models.error === null ? null : 'The rerankers could not be loaded.'}>
      {(controlProps) => (
        <select {...controlProps} value={reranker} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{defaultReranker === null ? 'None' : `Default: ${defaultReranker}`}</option>
          {defaultReranker !== null && <option value={noReranker}>None</option>}
          {[...(isListed ? [] : [reranker]), ...known].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
