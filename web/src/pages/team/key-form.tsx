import { useState } from 'preact/hooks';
import type { AddAPIKeyResponse } from '../../../../src/schemas/accounts.ts';
import type { APIKeyRestriction, DBAPIKeyPermission } from '../../../../src/schemas/admin.ts';
import { now } from '../../browser/clock.ts';
import { Button } from '../../components/button.tsx';
import { CodeArea } from '../../components/code-area.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Field, RadioGroup } from '../../components/field.tsx';
import { TextField } from '../../components/text-field.tsx';
import { addKey, changeKey, type TeamApiKey } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { CollectionPicker } from '../collection-picker.tsx';

const dayMs = 86_400_000;
const expiryOptions = [
  ['never', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
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
      title={before === null ? 'Create key' : `Edit ${before.name}`}
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
          legend="Permission"
          name="permission"
          value={permission}
          options={[
            ['all', 'Read and write'],
            ['read_only', 'Read only'],
          ]}
          onChange={setPermission}
        />
        {before === null && <ExpiryField expiry={expiry} onChange={setExpiry} />}
        <details class="more" open={before !== null && before.restriction !== null}>
          <summary>Restrict access</summary>
          <div class="stack">
            <CollectionPicker selected={names} onChange={setNames} />
            <FilterField text={filter} error={parsedFilter.error} onChange={setFilter} />
          </div>
        </details>
        <OriginsField before={before} text={origins} onChange={setOrigins} />
        <ErrorMessage error={submission.error} />
        <DialogActions>
          <Button onClick={onClose} disabled={submission.isBusy}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={submission.isBusy} disabled={!isReady}>
            {before === null ? 'Create key' : 'Save'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function NameField({ name, onChange }: { readonly name: string; readonly onChange: (name: string) => void }) {
  return (
    <TextField
      label="Name"
      hint="Identifies the client that uses the key."
      required
      maxLength={255}
      autoComplete="off"
      placeholder="Website"
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
    <Field label="Expires">
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
  const hint = (
    <>
      Web pages of these origins can use the key, one per line, for example{' '}
      <code>https://www.example.com</code>. Their visitors can read the key.
    </>
  );
  return (
    <details class="more" open={before !== null && before.allowed_origins.length > 0}>
      <summary>Web pages</summary>
      <Field label="Allowed origins" hint={hint}>
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
      label="Metadata filter"
      hint={
        <>
          The key can access only documents that match this filter, for example{' '}
          <code>{'{"tenant": "acme"}'}</code>. Leave empty for all documents.
        </>
      }
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
      return invalid('The filter must be a JSON object.');
    return { filter: value as ParsedFilter['filter'], error: null };
  } catch {
    return invalid('Invalid JSON.');
  }
}
