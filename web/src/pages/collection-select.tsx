import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { persistedSignal } from '../browser/persisted-signal.ts';
import { Field } from '../parts/field.tsx';
import { type LoadState, useLoad } from '../server/load.ts';
import { listCollections } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';

export interface CollectionSelection {
  readonly names: LoadState<readonly string[]>;
  /** The one that the address says, else the one worked in last, else the first; null while not known, or none. */
  readonly chosen: string | null;
}

/** The collection that somebody worked in last, behind the organisation that it belongs to. */
const lastCollection = persistedSignal('collection', 'tab');

function storageKeyOf(name: string): string {
  return `${organizationId()} ${name}`;
}

/** The collection that a page shows; it stands in the address, so that it can be kept and sent. */
export function useCollection(): CollectionSelection {
  const { query } = useLocation();
  const names = useLoad<readonly string[]>(
    async (abort) => (await listCollections(abort)).collection_names,
    [],
  );
  const all = names.data ?? [];
  const chosen =
    query.collection ?? all.find((name) => storageKeyOf(name) === lastCollection.value) ?? all[0] ?? null;
  useEffect(() => {
    if (chosen !== null && all.includes(chosen)) lastCollection.value = storageKeyOf(chosen);
  }, [chosen, names.data]);
  return { names, chosen };
}

interface CollectionFieldProps {
  readonly names: readonly string[];
  readonly chosen: string | null;
  readonly onChoose: (name: string) => void;
}

export function CollectionField({ names, chosen, onChoose }: CollectionFieldProps) {
  const all = chosen === null || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <Field label="Collection">
      {(control) => (
        <select {...control} value={chosen ?? ''} onChange={(event) => onChoose(event.currentTarget.value)}>
          {all.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
