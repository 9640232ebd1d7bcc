import { Button } from '../components/button.tsx';
import { Checkbox, Field } from '../components/field.tsx';
import { formatCounted } from '../format/numbers.ts';
import { useLoad } from '../server/load.ts';
import { getCollectionInfo, listDocuments } from '../server/retrieval.ts';
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
          label="Highlights"
          hint="Marks the positions that the API returns, for at most 128 results"
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
    <Field
      label="Facets"
      hint="Counts of documents by metadata fields, separated by commas, or the JSON of the API"
      error={findOptionsError({ facets })}
    >
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
      <legend>Sort by</legend>
      {levels.map(({ field, isDescending }, i) => (
        <div key={i} class="field pair-row">
          <input
            type="text"
            aria-label={`Sort field ${i + 1}`}
            placeholder={i === 0 ? 'Best match' : 'Then by'}
            maxLength={256}
            spellcheck={false}
            list={fieldListId}
            value={field}
            onInput={(event) => replace(i, { field: event.currentTarget.value, isDescending })}
          />
          <select
            aria-label={`Order ${i + 1}`}
            disabled={field === ''}
            value={String(isDescending)}
            onChange={(event) => replace(i, { field, isDescending: event.currentTarget.value === 'true' })}
          >
            <option value="false">Ascending</option>
            <option value="true">Descending</option>
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
        label="Prefer recent documents"
        hint="A metadata field with dates"
        value={boostField}
        onChange={(field) => updateQuery({ boostField: field })}
      />
      {boostField !== '' && (
        <div class="pair-row">
          <Field label="Half-life" hint="s, m, h, d, w or y">
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
            label="Weight"
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
        label="Group by"
        hint="The best results of each value of a metadata field"
        value={groupField}
        onChange={(field) => updateQuery({ groupField: field })}
      />
      {groupField !== '' && (
        <Field label="Results per group">
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
      label="Diversity"
      hint={
        isPossible
          ? '0 orders by score, 1 by difference from other results'
          : 'Not available with sort fields or groups'
      }
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
          placeholder="Off"
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

function ShareField({ label, hint = '0 to 1', isDisabled = false, value, onChange }: ShareFieldProps) {
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
  const line = (title: string, unit: string, count = 0) => (
    <span>
      {title}{' '}
      {info.data !== undefined && (
        <span class="muted">{count === 0 ? 'none' : formatCounted(count, unit)}</span>
      )}
    </span>
  );
  return (
    <>
      <div class="row between">
        {line('Synonyms', 'list', info.data?.synonyms?.length)}
        <Button class="small" onClick={() => openSynonyms(collection)}>
          Edit synonyms
        </Button>
      </div>
      <div class="row between">
        {line('Pinned and hidden', 'rule', info.data?.curations?.length)}
        <Button class="small" onClick={() => openCurations(collection)}>
          Edit rules
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
