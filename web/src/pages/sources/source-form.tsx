import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CodeArea } from '../../components/code-area.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { Checkbox, Field } from '../../components/field.tsx';
import { TextField } from '../../components/text-field.tsx';
import { ApiError } from '../../server/api-call.ts';
import { addCollection } from '../../server/retrieval.ts';
import { addSource, type SourceInfo, type SourceKind, updateSource } from '../../server/sources.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/sources.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { CollectionField } from '../collection-select.tsx';
import { hasTimes, ScheduleField, SourceFields } from './source-fields.tsx';
import {
  formValuesOf,
  type SourceFormValues,
  sourceKindDescriptions,
  toCredentials,
  toSettings,
} from './source-kinds.ts';

/** Options that a source receives when it is started after its dry run. */
export interface PendingStart {
  readonly schedule: string;
  readonly isWatched: boolean;
}

export interface NewSource {
  readonly name: string;
  /** Null if the source runs already. */
  readonly pending: PendingStart | null;
}

interface SourceFormProps {
  /** The source to edit; null for a new one. */
  readonly before: SourceInfo | null;
  /** Kind that a new source has at first. */
  readonly firstKind?: SourceKind;
  /** Collections to choose from, for a new source. Without any, the form creates one. */
  readonly collections: readonly string[];
  readonly onClose: () => void;
  /** Receives the new source; null after an edit. */
  readonly onDone: (created: NewSource | null) => void;
}

/** Form that creates or edits a source. */
export function SourceForm({
  before,
  firstKind = 'directory',
  collections,
  onClose,
  onDone,
}: SourceFormProps) {
  const form = useSourceForm(before, before?.kind ?? firstKind, collections);
  const { kind, fields, change } = form;
  const description = sourceKindDescriptions[kind];
  const submission = useAsyncAction(async () => onDone(await form.save()));
  return (
    <Dialog
      title={
        before === null ? texts.addSource : fill(texts.editSourceName, { sourceName: before.source_name })
      }
      onClose={onClose}
      mayClose={!submission.isBusy}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (form.metadataError === null) submission.start();
        }}
      >
        {before === null && <NewSourceFields form={form} collections={collections} />}
        <SourceFields
          fields={description.fields}
          values={fields.settings}
          onChange={(settings) => change({ settings })}
        />
        <ScheduleField schedule={fields.schedule} timeZone={fields.timeZone} onChange={change} />
        {description.canWatch && (
          <Checkbox
            label={texts.runAfterEachChange}
            hint={texts.theFolderIsWatchedThe}
            checked={fields.isWatched}
            onChange={(isWatched) => change({ isWatched })}
          />
        )}
        {description.credentials.length > 0 && (
          <Credentials form={form} hasCredentials={before?.has_credentials === true} />
        )}
        <MoreSettings form={form} isNew={before === null} />
        {before === null && (
          <Checkbox
            label={texts.showWhatTheFirstRun}
            checked={fields.isReviewed}
            onChange={(isReviewed) => change({ isReviewed })}
          />
        )}
        <DialogActions error={submission.error}>
          <Button onClick={onClose} disabled={submission.isBusy}>
            {texts.cancel}
          </Button>
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            {before === null ? texts.addSource : texts.save}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface FormFields {
  readonly name: string;
  readonly collection: string;
  readonly prefix: string;
  readonly settings: SourceFormValues;
  readonly credentials: Readonly<Record<string, string>>;
  readonly schedule: string;
  readonly timeZone: string;
  readonly isWatched: boolean;
  /** JSON text. */
  readonly metadata: string;
  /** Whether the first run waits until the user has seen its changes. */
  readonly isReviewed: boolean;
}

type SourceFormState = ReturnType<typeof useSourceForm>;

function useSourceForm(before: SourceInfo | null, firstKind: SourceKind, collections: readonly string[]) {
  const [kind, setKind] = useState(firstKind);
  const [fields, setFields] = useState<FormFields>({
    name: '',
    collection: collections[0] ?? '',
    prefix: '',
    settings: formValuesOf(kind, before),
    credentials: {},
    schedule: before?.schedule ?? '1h',
    timeZone: before?.time_zone ?? 'UTC',
    isWatched: before?.watch ?? false,
    metadata: formatMetadata(before),
    isReviewed: true,
  });
  const change = (changed: Partial<FormFields>) => setFields((old) => ({ ...old, ...changed }));
  const chooseKind = (chosen: SourceKind) => {
    setKind(chosen);
    change({ settings: formValuesOf(chosen, null), credentials: {}, isWatched: false });
  };
  const parsed = parseMetadata(fields.metadata);
  const save = async (): Promise<NewSource | null> => {
    const { name, collection, prefix, schedule, isWatched, isReviewed } = fields;
    const { canWatch } = sourceKindDescriptions[kind];
    const credentials = toCredentials(kind, fields.credentials);
    const more = credentials === null ? {} : { credentials };
    const toOptions = (options: PendingStart) => ({
      schedule: options.schedule,
      ...(hasTimes(schedule) ? { time_zone: fields.timeZone } : {}),
      ...(canWatch ? { watch: options.isWatched } : {}),
    });
    const settings = { [kind]: toSettings(kind, fields.settings) };
    const { metadata } = parsed;
    if (before !== null) {
      // A source reads all items again after a change of its settings or its metadata.
      const hasNewSettings = JSON.stringify(fields.settings) !== JSON.stringify(formValuesOf(kind, before));
      await updateSource({
        source_name: before.source_name,
        ...toOptions({ schedule, isWatched }),
        ...(hasNewSettings ? settings : {}),
        ...(fields.metadata === formatMetadata(before) ? {} : { metadata }),
        ...more,
      });
      return null;
    }
    // Without a schedule, the source does not run before it is started.
    const options = toOptions(isReviewed ? { schedule: 'off', isWatched: false } : { schedule, isWatched });
    if (collections.length === 0) await createMissingCollection(collection);
    const identity = { source_name: name, collection_name: collection, prefix };
    await addSource({ ...identity, ...settings, ...options, metadata, ...more });
    return { name, pending: isReviewed ? { schedule, isWatched } : null };
  };
  return { kind, chooseKind, fields, change, metadataError: parsed.error, save };
}

/** It exists already if the source was rejected after the collection was created. */
async function createMissingCollection(name: string): Promise<void> {
  try {
    await addCollection({ collection_name: name });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
  }
}

interface NewSourceFieldsProps {
  readonly form: SourceFormState;
  readonly collections: readonly string[];
}

function NewSourceFields({ form: { kind, chooseKind, fields, change }, collections }: NewSourceFieldsProps) {
  return (
    <>
      <TextField
        label={texts.name}
        hint={texts.itCannotBeChangedLater}
        required
        maxLength={256}
        autoComplete="off"
        spellcheck={false}
        placeholder="handbook-files"
        value={fields.name}
        onChange={(text) => change({ name: text })}
      />
      {collections.length === 0 ? (
        <TextField
          label={texts.newCollection}
          hint={texts.theDocumentsOfTheSource}
          required
          autoComplete="off"
          spellcheck={false}
          placeholder="handbook"
          value={fields.collection}
          onChange={(collection) => change({ collection })}
        />
      ) : (
        <CollectionField
          names={collections}
          selected={fields.collection}
          onChoose={(collection) => change({ collection })}
        />
      )}
      <Field label={texts.kind}>
        {(control) => (
          <select
            {...control}
            value={kind}
            onChange={(event) => chooseKind(event.currentTarget.value as SourceKind)}
          >
            {Object.entries(sourceKindDescriptions).map(([value, { name }]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}

interface MoreSettingsProps {
  readonly form: SourceFormState;
  readonly isNew: boolean;
}

function MoreSettings({ form: { kind, fields, change, metadataError }, isNew }: MoreSettingsProps) {
  const hint = <>{rich(texts.aJsonObjectForExample, { example: <code>{'{"team": "sales"}'}</code> })}</>;
  return (
    <details class="more">
      <summary>{texts.moreSettings}</summary>
      <div class="stack">
        <SourceFields
          fields={sourceKindDescriptions[kind].moreFields}
          values={fields.settings}
          onChange={(settings) => change({ settings })}
        />
        {isNew && <PrefixField prefix={fields.prefix} onChange={(prefix) => change({ prefix })} />}
        <Field label={texts.metadataOfAllDocuments} hint={hint} error={metadataError}>
          {(control) => (
            <CodeArea
              control={control}
              rows={2}
              value={fields.metadata}
              onChange={(metadata) => change({ metadata })}
            />
          )}
        </Field>
      </div>
    </details>
  );
}

interface CredentialsProps {
  readonly form: SourceFormState;
  readonly hasCredentials: boolean;
}

function Credentials({ form: { kind, fields, change }, hasCredentials }: CredentialsProps) {
  return (
    <details class="more">
      <summary>{texts.credentials}</summary>
      <div class="stack">
        <p class="hint">{hasCredentials ? texts.credentialsAreStoredLeaveThe : texts.forOriginsThatAreNot}</p>
        <SourceFields
          isSecret
          fields={sourceKindDescriptions[kind].credentials}
          values={fields.credentials}
          onChange={(credentials) => change({ credentials: credentials as FormFields['credentials'] })}
        />
      </div>
    </details>
  );
}

function PrefixField({
  prefix,
  onChange,
}: {
  readonly prefix: string;
  readonly onChange: (prefix: string) => void;
}) {
  return (
    <TextField
      label={texts.pathPrefixOfItsDocuments}
      hint={texts.itCannotBeChangedLater}
      autoComplete="off"
      spellcheck={false}
      placeholder="handbook/"
      value={prefix}
      onChange={onChange}
    />
  );
}

type Metadata = SourceInfo['metadata'];

function formatMetadata(source: SourceInfo | null): string {
  return source === null || Object.keys(source.metadata).length === 0 ? '' : JSON.stringify(source.metadata);
}

/** Checks only that the text is a JSON object; the server validates its content. */
function parseMetadata(text: string): { readonly metadata: Metadata; readonly error: string | null } {
  if (text.trim() === '') return { metadata: {}, error: null };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { metadata: value as Metadata, error: null };
    return { metadata: {}, error: texts.theMetadataMustBeA };
  } catch {
    return { metadata: {}, error: texts.invalidJson };
  }
}
