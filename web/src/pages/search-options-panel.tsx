import { Button } from '../components/button.tsx';
import { Checkbox, Field } from '../components/field.tsx';
import { useLoad } from '../server/load.ts';
import { getCollectionInfo, listDocuments } from '../server/retrieval.ts';
import { texts } from '../texts/en/search-options.ts';
import { counted, fill } from '../texts/format-text.ts';
import { collectionChanges } from './collection-changes.ts';
import { openCurations } from './curations-overlay.tsx';
import { canDiversify, findOptionsError } from './search-option-fields.ts';
import { searchQuery, updateQuery } from './search-query.ts';
import { clampGroupSize, groupSizeMax, type SortChoice, sortLevelsMax } from './search-settings.ts';
import { openSynonyms } from './synonyms-overlay.tsx';

/** Id of the list of metadata fields that the inputs of this page suggest. */
const fieldListId = 'metadata-fields';
/** Documents from which fields are suggested. */
const sampledDocuments = 100;

/** Options of a search by metadata, of its marks and its order, and the synonyms and rules of the collection. */
export function SearchOptionsPanel({ collection }: { readonly collection: string | null }) {
  const { hasHighlights, kind } = searchQuery.value;
  return (
    <div class="option-fields">
      <FacetsField />
      <SortFields />
      <BoostFields />
      <GroupFields />
      <DiversityField />
      {kind !== 'documents' && (
        <Checkbox
          label={texts.highlights}
          hint={texts.marksThePositionsThatThe}
          checked={hasHighlights}
          onChange={(isOn) => updateQuery({ hasHighlights: isOn })}
        />
      )}
      {collection !== null && <CollectionRules key={collection} collection={collection} />}
      {collection !== null && <FieldList collection={collection} />}
    </div>
  );
}

function FacetsField() {
  const { facets } = searchQuery.value;
  return (
    <Field label={texts.facets} hint={texts.countsOfDocumentsByMetadata} error={findOptionsError({ facets })}>
      {(control) => (
        <input
          {...control}
          type="text"
          placeholder="author, year"
          maxLength={4_096}
          spellcheck={false}
          list={fieldListId}
          value={facets}
          onInput={(event) => updateQuery({ facets: event.currentTarget.value })}
        />
      )}
    </Field>
  );
}

/** One more level than there are, up to the maximum. An empty level between others stays while it is edited. */
function SortFields() {
  const { sort } = searchQuery.value;
  const levels = [...sort, { field: '', isDescending: false }].slice(0, sortLevelsMax);
  const replace = (position: number, level: SortChoice) => {
    const next = levels.map((each, i) => (i === position ? level : each));
    updateQuery({ sort: next.slice(0, next.findLastIndex(({ field }) => field !== '') + 1) });
  };
  return (
    <fieldset class="sort-fields">
      <legend>{texts.sortBy}</legend>
      {levels.map(({ field, isDescending }, i) => (
        <div key={i} class="field pair-row">
          <input
            type="text"
            aria-label={fill(texts.sortFieldI, { i: i + 1 })}
            placeholder={i === 0 ? texts.bestMatch : texts.thenBy}
            maxLength={256}
            spellcheck={false}
            list={fieldListId}
            value={field}
            onInput={(event) => replace(i, { field: event.currentTarget.value, isDescending })}
          />
          <select
            aria-label={fill(texts.orderI, { i: i + 1 })}
            disabled={field === ''}
            value={String(isDescending)}
            onChange={(event) => replace(i, { field, isDescending: event.currentTarget.value === 'true' })}
          >
            <option value="false">{texts.ascending}</option>
            <option value="true">{texts.descending}</option>
          </select>
        </div>
      ))}
    </fieldset>
  );
}

function BoostFields() {
  const { boostField, halfLife, boostWeight } = searchQuery.value;
  return (
    <>
      <FieldName
        label={texts.preferRecentDocuments}
        hint={texts.aMetadataFieldWithDates}
        value={boostField}
        onChange={(field) => updateQuery({ boostField: field })}
      />
      {boostField !== '' && (
        <div class="pair-row">
          <Field label={texts.halfLife} hint={texts.halfLifeUnits}>
            {(control) => (
              <input
                {...control}
                type="text"
                placeholder="30d"
                maxLength={32}
                pattern="\d+(\.\d+)?(s|m|h|d|w|y)"
                value={halfLife}
                onInput={(event) => updateQuery({ halfLife: event.currentTarget.value })}
              />
            )}
          </Field>
          <ShareField
            label={texts.weight}
            value={boostWeight}
            onChange={(weight) => updateQuery({ boostWeight: weight })}
          />
        </div>
      )}
    </>
  );
}

function GroupFields() {
  const { groupField, groupSize } = searchQuery.value;
  return (
    <>
      <FieldName
        label={texts.groupBy}
        hint={texts.theBestResultsOfEach}
        value={groupField}
        onChange={(field) => updateQuery({ groupField: field })}
      />
      {groupField !== '' && (
        <Field label={texts.resultsPerGroup}>
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={groupSizeMax}
              value={groupSize}
              onChange={(event) =>
                updateQuery({ groupSize: clampGroupSize(event.currentTarget.valueAsNumber) })
              }
            />
          )}
        </Field>
      )}
    </>
  );
}

function DiversityField() {
  const { diversity } = searchQuery.value;
  const isPossible = canDiversify(searchQuery.value);
  return (
    <ShareField
      label={texts.diversity}
      hint={isPossible ? texts.n0OrdersByScore1 : texts.notAvailableWithSortFields}
      isDisabled={!isPossible}
      value={diversity}
      onChange={(next) => updateQuery({ diversity: next })}
    />
  );
}

interface FieldNameProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Name of a metadata field. */
function FieldName({ label, hint, value, onChange }: FieldNameProps) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          type="text"
          placeholder={texts.off}
          maxLength={256}
          spellcheck={false}
          list={fieldListId}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ShareFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly isDisabled?: boolean;
  /** 0 to 1. */
  readonly value: number;
  readonly onChange: (value: number) => void;
}

function ShareField({ label, hint = texts.n0To1, isDisabled = false, value, onChange }: ShareFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          type="number"
          min={0}
          max={1}
          step={0.1}
          disabled={isDisabled}
          value={value}
          onChange={(event) => onChange(Math.max(0, Math.min(1, event.currentTarget.valueAsNumber || 0)))}
        />
      )}
    </Field>
  );
}

/** Synonyms of the collection, and its rules that pin and hide documents. */
function CollectionRules({ collection }: { readonly collection: string }) {
  const info = useLoad(
    async (abort) => (await getCollectionInfo(collection, abort)).collection,
    [collection, collectionChanges.value],
  );
  const line = (title: string, count: number | undefined, counted: string) => (
    <span>
      {title}{' '}
      {info.data !== undefined && (
        <span class="muted">{count === undefined || count === 0 ? texts.none : counted}</span>
      )}
    </span>
  );
  const lists = info.data?.synonyms?.length;
  const rules = info.data?.curations?.length;
  return (
    <>
      <div class="row between">
        {line(texts.synonyms, lists, counted(texts.countLists, lists ?? 0))}
        <Button class="small" onClick={() => openSynonyms(collection)}>
          {texts.editSynonyms}
        </Button>
      </div>
      <div class="row between">
        {line(texts.pinnedAndHidden, rules, counted(texts.countRules, rules ?? 0))}
        <Button class="small" onClick={() => openCurations(collection)}>
          {texts.editRules}
        </Button>
      </div>
    </>
  );
}

/** Suggests the fields of the first documents, and those that the schema of the collection declares. */
function FieldList({ collection }: { readonly collection: string }) {
  const names = useLoad(
    async (abort) => {
      const [{ documents }, { collection: info }] = await Promise.all([
        listDocuments({ collection_name: collection, limit: sampledDocuments }, abort),
        getCollectionInfo(collection, abort),
      ]);
      const found = documents.flatMap(({ metadata }) => Object.keys(metadata ?? {}));
      return [...new Set([...Object.keys(info.metadata_schema ?? {}), ...found])].sort();
    },
    [collection],
  );
  return (
    <datalist id={fieldListId}>
      {names.data?.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
