import { useState } from 'preact/hooks';
import type { AddAPIKeyResponse } from '../../../../src/schemas/accounts.ts';
import type { APIKeyRestriction, DBAPIKeyPermission } from '../../../../src/schemas/admin.ts';
import { now } from '../../browser/clock.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Check, Choice, Field } from '../../parts/field.tsx';
import { Trouble } from '../../parts/trouble.tsx';
import { useDoing } from '../../server/doing.ts';
import { useLoad } from '../../server/load.ts';
import { listCollections } from '../../server/retrieval.ts';
import { addKey, changeKey, type Key } from '../../server/team.ts';

const dayMs = 86_400_000;
const ends = [
  ['never', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
] as const;
type End = (typeof ends)[number][0];

interface KeyFormProps {
  /** The key to change; null for a new one. */
  readonly before: Key | null;
  readonly onClose: () => void;
  /** The new key, null after a change. */
  readonly onDone: (made: AddAPIKeyResponse | null) => void;
}

/** Makes a key, or changes what one may do. */
export function KeyForm({ before, onClose, onDone }: KeyFormProps) {
  const [name, setName] = useState(before?.name ?? '');
  const [permission, setPermission] = useState<DBAPIKeyPermission>(before?.permission ?? 'all');
  const [end, setEnd] = useState<End>('never');
  const [names, setNames] = useState<readonly string[] | null>(before?.restriction?.collection_names ?? null);
  const [filter, setFilter] = useState(filterText(before));
  const read = readFilter(filter);
  const doing = useDoing(async () => {
    const restriction = { collection_names: names && [...names], filter: read.filter };
    if (before !== null) {
      await changeKey({ api_key_id: before.id, name, permission, restriction });
      return onDone(null);
    }
    const isBound = names !== null || read.filter !== null;
    const more = {
      ...(end === 'never' ? {} : { expires_at: new Date(now() + Number(end) * dayMs).toISOString() }),
      ...(isBound ? { restriction } : {}),
    };
    onDone(await addKey({ name, permission, ...more }));
  });
  const isReady = read.error === null && names?.length !== 0;
  return (
    <Dialog
      title={before === null ? 'Create a key' : `Change ${before.name}`}
      onClose={onClose}
      // A key that is made meanwhile would be shown to nobody.
      mayClose={!doing.isBusy}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) doing.start();
        }}
      >
        <NameField name={name} onChange={setName} />
        <Choice
          legend="What it may do"
          name="permission"
          value={permission}
          words={[
            ['all', 'Read and write'],
            ['read_only', 'Read only'],
          ]}
          onChange={setPermission}
        />
        {before === null && <EndField end={end} onChange={setEnd} />}
        <details class="more" open={before !== null && before.restriction !== null}>
          <summary>Restrict what it sees</summary>
          <div class="stack">
            <Collections chosen={names} onChange={setNames} />
            <FilterField text={filter} fault={read.error} onChange={setFilter} />
          </div>
        </details>
        <Trouble error={doing.error} />
        <DialogActions>
          <Button onClick={onClose} disabled={doing.isBusy}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={doing.isBusy} disabled={!isReady}>
            {before === null ? 'Create key' : 'Save'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function NameField({ name, onChange }: { readonly name: string; readonly onChange: (name: string) => void }) {
  return (
    <Field label="Name" hint="What uses it, so that you know it later.">
      {(control) => (
        <input
          {...control}
          type="text"
          required
          maxLength={255}
          autoComplete="off"
          placeholder="Website"
          value={name}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function EndField({ end, onChange }: { readonly end: End; readonly onChange: (end: End) => void }) {
  return (
    <Field label="Ends">
      {(control) => (
        <select {...control} value={end} onChange={(event) => onChange(event.currentTarget.value as End)}>
          {ends.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface FilterFieldProps {
  readonly text: string;
  readonly fault: string | null;
  readonly onChange: (text: string) => void;
}

function FilterField({ text, fault, onChange }: FilterFieldProps) {
  return (
    <Field
      label="Only documents whose metadata match"
      hint={
        <>
          A filter as queries take it, for example <code>{'{"tenant": "acme"}'}</code>. Empty for all.
        </>
      }
      error={fault}
    >
      {(control) => (
        <textarea
          {...control}
          class="mono"
          rows={2}
          spellcheck={false}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface CollectionsProps {
  /** Null for all. */
  readonly chosen: readonly string[] | null;
  readonly onChange: (chosen: readonly string[] | null) => void;
}

/** All collections, or some of them; what is chosen is listed even when it does not exist any more. */
function Collections({ chosen, onChange }: CollectionsProps) {
  const list = useLoad(listCollections, []);
  const all = [...new Set([...(chosen ?? []), ...(list.data?.collection_names ?? [])])].sort();
  return (
    <>
      <Check
        label="Only some collections"
        checked={chosen !== null}
        onChange={(isSome) => onChange(isSome ? [] : null)}
      />
      {chosen !== null && (
        <div class="picks" role="group" aria-label="Collections">
          {all.map((each) => (
            <Check
              key={each}
              label={each}
              checked={chosen.includes(each)}
              onChange={(isIn) =>
                onChange(isIn ? [...chosen, each] : chosen.filter((other) => other !== each))
              }
            />
          ))}
          {list.data !== undefined && all.length === 0 && <p class="hint">There are no collections yet.</p>}
          <Trouble error={list.error} />
        </div>
      )}
    </>
  );
}

function filterText(key: Key | null): string {
  const filter = key?.restriction?.filter ?? null;
  return filter === null ? '' : JSON.stringify(filter);
}

interface ReadFilter {
  readonly filter: APIKeyRestriction['filter'];
  readonly error: string | null;
}

/** Whether it is a filter at all; what it means the server says. */
function readFilter(text: string): ReadFilter {
  if (text.trim() === '') return { filter: null, error: null };
  const wrong = (error: string): ReadFilter => ({ filter: null, error });
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return wrong('A filter is a JSON object.');
    return { filter: value as ReadFilter['filter'], error: null };
  } catch {
    return wrong('This is not JSON yet.');
  }
}
