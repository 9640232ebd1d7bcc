import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { persistedSignal } from '../browser/persisted-signal.ts';
import { Field } from '../components/field.tsx';
import { type LoadState, useLoad } from '../server/load.ts';
import { listCollections } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';
import { texts } from '../texts/en/collections.ts';

export interface CollectionSelection {
  readonly names: LoadState<readonly string[]>;
  /**
   * Collection named in the URL, else the last used one, else the first; null while unknown or if none exists.
   */
  readonly selected: string | null;
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
  const selected =
    query.collection ?? all.find((name) => storageKeyOf(name) === lastCollection.value) ?? all[0] ?? null;
  useEffect(() => {
    if (selected !== null && all.includes(selected)) lastCollection.value = storageKeyOf(selected);
  }, [selected, names.data]);
  return { names, selected };
}

interface CollectionFieldProps {
  readonly names: readonly string[];
  readonly selected: string | null;
  readonly onChoose: (name: string) => void;
}

export function CollectionField({ names, selected, onChoose }: CollectionFieldProps) {
  const all = selected === null || names.includes(selected) ? names : [selected, ...names];
  return (
    <Field label={texts.collection}>
      {(control) => (
        <select {...control} value={selected ?? ''} onChange={(event) => onChoose(event.currentTarget.value)}>
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
