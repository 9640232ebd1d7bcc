import { useState } from 'preact/hooks';
import { isSingleColumn } from '../browser/media.ts';
import { Checkbox, Field } from '../components/field.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { formatCount } from '../format/numbers.ts';
import { useLoad } from '../server/load.ts';
import { listModels } from '../server/retrieval.ts';
import { texts } from '../texts/en/search-options.ts';
import { fill } from '../texts/format-text.ts';
import { FilterFields } from './filter-builder.tsx';
import { noReranker, searchQuery, updateQuery } from './search-query.ts';
import {
  type ComparedSettings,
  countOptions,
  countSettings,
  type ResultKind,
  resultsMax,
} from './search-settings.ts';

interface QueryOptionsProps {
  readonly filterError: string | null;
  /** Null while unknown. */
  readonly collection: string | null;
}

/** Settings of a query, and of the one that it is compared with. */
export function QueryOptions({ filterError, collection }: QueryOptionsProps) {
  const { kind, reranker, latency, isPrecise, compared } = searchQuery.value;
  const setCount = countSettings(searchQuery.value);
  const [isOpen, setOpen] = useState(false);
  // On narrow screens the results are below the form: without a fold, they would be several screens below.
  const isFolded = isSingleColumn.value;
  return (
    <details
      class={isFolded ? 'options more' : 'options'}
      open={!isFolded || isOpen}
      onToggle={(event) => {
        if (isSingleColumn.peek()) setOpen(event.currentTarget.open);
      }}
    >
      <summary hidden={!isFolded}>
        {texts.filtersAndSettings}
        {setCount > 0 && (
          <span class="muted">{fill(texts.setCountSet, { setCount: formatCount(setCount) })}</span>
        )}
      </summary>
      <div class="options-body">
        <ResultsField />
        <SettingsFields kind={kind} settings={{ reranker, latency, isPrecise }} onChange={updateQuery} />
        <FilterFields error={filterError} />
        <Checkbox
          label={texts.compareSettings}
          hint={texts.showsTwoListsSideBy}
          checked={compared !== null}
          onChange={(isOn) => updateQuery({ compared: isOn ? otherSettings(kind) : null })}
        />
        {compared !== null && (
          <fieldset class="compared-settings">
            <legend>{texts.secondSearch}</legend>
            <SettingsFields
              kind={kind}
              settings={compared}
              onChange={(changes) => updateQuery({ compared: { ...compared, ...changes } })}
            />
          </fieldset>
        )}
        <MoreOptions collection={collection} />
      </div>
    </details>
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
        {texts.options}
        {setCount > 0 && (
          <span class="muted">{fill(texts.setCountSet, { setCount: formatCount(setCount) })}</span>
        )}
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
            label={texts.preciseSnippets}
            hint={texts.about200CharactersInsteadOf}
            checked={settings.isPrecise}
            onChange={(isPrecise) => onChange({ isPrecise })}
          />
        )}
        <Checkbox
          label={texts.deeperSearch}
          hint={texts.moreAccurateSlowerLatencyMode}
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
    <Field label={texts.results}>
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
    <Field label={texts.reranker} error={models.error === null ? null : texts.theRerankersCouldNotBe}>
      {(controlProps) => (
        <select {...controlProps} value={reranker} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">
            {defaultReranker === null ? texts.none2 : fill(texts.defaultDefaultReranker, { defaultReranker })}
          </option>
          {defaultReranker !== null && <option value={noReranker}>{texts.none2}</option>}
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
