import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { persistedSignal } from '../browser/persisted-signal.ts';
import { Field } from '../parts/field.tsx';
import { type LoadState, useLoad } from '../server/load.ts';
import { listCollections } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';

export interface CollectionSelection {
  readonly names: LoadState<readonly string[]>;
  /**
   * Collection named in the URL, else the last used one, else the first; null while unknown or if none exists.
   */
  readonly chosen: string | null;
}

/** Last used collection, prefixed with its organization. */
const lastCollection = persistedSignal('collection', 'tab');

function storageKeyOf(name: string): string {
  return `${organizationId()} ${name}`;
}

/** The collection that a page shows. It is part of the URL, so that it can be bookmarked and shared. */
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
