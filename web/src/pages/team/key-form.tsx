import { useState } from 'preact/hooks';
import type { AddAPIKeyResponse } from '../../../../src/schemas/accounts.ts';
import type { APIKeyRestriction, DBAPIKeyPermission } from '../../../../src/schemas/admin.ts';
import { now } from '../../browser/clock.ts';
import { Button } from '../../components/button.tsx';
import { CodeArea } from '../../components/code-area.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { Field, RadioGroup } from '../../components/field.tsx';
import { TextField } from '../../components/text-field.tsx';
import { addKey, changeKey, type TeamApiKey } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/keys.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { CollectionPicker } from '../collection-picker.tsx';

const dayMs = 86_400_000;
const expiryOptions = [
  ['never', texts.never],
  ['7', texts.in7Days],
  ['30', texts.in30Days],
  ['90', texts.in90Days],
  ['365', texts.inAYear],
] as const;
type ExpiryOption = (typeof expiryOptions)[number][0];

interface KeyFormProps {
  /** The key to edit; null for a new one. */
  readonly before: TeamApiKey | null;
  readonly onClose: () => void;
  /** Receives the new key, or null after an edit. */
  readonly onDone: (created: AddAPIKeyResponse | null) => void;
}

/** Form that creates a key or edits its permissions. */
export function KeyForm({ before, onClose, onDone }: KeyFormProps) {
  const [name, setName] = useState(before?.name ?? '');
  const [permission, setPermission] = useState<DBAPIKeyPermission>(before?.permission ?? 'all');
  const [expiry, setExpiry] = useState<ExpiryOption>('never');
  const [names, setNames] = useState<readonly string[] | null>(before?.restriction?.collection_names ?? null);
  const [filter, setFilter] = useState(filterText(before));
  const [origins, setOrigins] = useState(before?.allowed_origins.join('\n') ?? '');
  const parsedFilter = parseFilterText(filter);
  const submission = useAsyncAction(async () => {
    const restriction = { collection_names: names && [...names], filter: parsedFilter.filter };
    const values = { name, permission, allowed_origins: parseLines(origins) };
    if (before !== null) {
      await changeKey({ api_key_id: before.id, ...values, restriction });
      return onDone(null);
    }
    const isBound = names !== null || parsedFilter.filter !== null;
    const more = {
      ...(expiry === 'never' ? {} : { expires_at: new Date(now() + Number(expiry) * dayMs).toISOString() }),
      ...(isBound ? { restriction } : {}),
    };
    onDone(await addKey({ ...values, ...more }));
  });
  const isReady = parsedFilter.error === null && names?.length !== 0;
  return (
    <Dialog
      title={before === null ? texts.createKey : fill(texts.editName, { name: before.name })}
      onClose={onClose}
      // Closing now would lose the secret of a key that is being created.
      mayClose={!submission.isBusy}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) submission.start();
        }}
      >
        <NameField name={name} onChange={setName} />
        <RadioGroup
          legend={texts.permission}
          name="permission"
          value={permission}
          options={[
            ['all', texts.readAndWrite],
            ['read_only', texts.readOnly],
          ]}
          onChange={setPermission}
        />
        {before === null && <ExpiryField expiry={expiry} onChange={setExpiry} />}
        <details class="more" open={before !== null && before.restriction !== null}>
          <summary>{texts.restrictAccess}</summary>
          <div class="stack">
            <CollectionPicker selected={names} onChange={setNames} />
            <FilterField text={filter} error={parsedFilter.error} onChange={setFilter} />
          </div>
        </details>
        <OriginsField before={before} text={origins} onChange={setOrigins} />
        <DialogActions error={submission.error}>
          <Button onClick={onClose} disabled={submission.isBusy}>
            {texts.cancel}
          </Button>
          <Button type="submit" tone="primary" busy={submission.isBusy} disabled={!isReady}>
            {before === null ? texts.createKey : texts.save}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function NameField({ name, onChange }: { readonly name: string; readonly onChange: (name: string) => void }) {
  return (
    <TextField
      label={texts.name}
      hint={texts.identifiesTheClientThatUses}
      required
      maxLength={255}
      autoComplete="off"
      placeholder={texts.website}
      value={name}
      onChange={onChange}
    />
  );
}

function ExpiryField({
  expiry,
  onChange,
}: {
  readonly expiry: ExpiryOption;
  readonly onChange: (end: ExpiryOption) => void;
}) {
  return (
    <Field label={texts.expires}>
      {(control) => (
        <select
          {...control}
          value={expiry}
          onChange={(event) => onChange(event.currentTarget.value as ExpiryOption)}
        >
          {expiryOptions.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface OriginsFieldProps {
  /** The key to edit; null for a new one. */
  readonly before: TeamApiKey | null;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

function OriginsField({ before, text, onChange }: OriginsFieldProps) {
  const hint = <>{rich(texts.webPagesOfTheseOrigins, { example: <code>https://www.example.com</code> })}</>;
  return (
    <details class="more" open={before !== null && before.allowed_origins.length > 0}>
      <summary>{texts.webPages}</summary>
      <Field label={texts.allowedOrigins} hint={hint}>
        {(control) => <CodeArea control={control} rows={2} value={text} onChange={onChange} />}
      </Field>
    </details>
  );
}

function parseLines(text: string): string[] {
  return text.split(/\s+/).filter((line) => line !== '');
}

interface FilterFieldProps {
  readonly text: string;
  readonly error: string | null;
  readonly onChange: (text: string) => void;
}

function FilterField({ text, error, onChange }: FilterFieldProps) {
  return (
    <Field
      label={texts.metadataFilter}
      hint={<>{rich(texts.theKeyCanAccessOnly, { example: <code>{'{"tenant": "acme"}'}</code> })}</>}
      error={error}
    >
      {(control) => <CodeArea control={control} rows={2} value={text} onChange={onChange} />}
    </Field>
  );
}

function filterText(key: TeamApiKey | null): string {
  const filter = key?.restriction?.filter ?? null;
  return filter === null ? '' : JSON.stringify(filter);
}

interface ParsedFilter {
  readonly filter: APIKeyRestriction['filter'];
  readonly error: string | null;
}

/** Checks only that the filter is a JSON object; the server validates its content. */
function parseFilterText(text: string): ParsedFilter {
  if (text.trim() === '') return { filter: null, error: null };
  const invalid = (error: string): ParsedFilter => ({ filter: null, error });
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return invalid(texts.theFilterMustBeA);
    return { filter: value as ParsedFilter['filter'], error: null };
  } catch {
    return invalid(texts.invalidJson);
  }
}
