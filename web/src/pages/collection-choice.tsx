import { useLocation } from 'preact-iso';
import { Field } from '../parts/field.tsx';
import { type Loaded, useLoad } from '../server/load.ts';
import { listCollections } from '../server/retrieval.ts';

export interface ChosenCollection {
  readonly names: Loaded<readonly string[]>;
  /** The one that the address says, else the first; null while not known and where there is none. */
  readonly chosen: string | null;
}

/** The collection that a page shows; it stands in the address, so that it can be kept and sent. */
export function useCollection(): ChosenCollection {
  const { query } = useLocation();
  const names = useLoad<readonly string[]>(
    async (abort) => (await listCollections(abort)).collection_names,
    [],
  );
  return { names, chosen: query.collection ?? names.data?.[0] ?? null };
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
