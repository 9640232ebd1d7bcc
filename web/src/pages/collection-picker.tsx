import { ErrorMessage } from '../components/error-message.tsx';
import { Checkbox } from '../components/field.tsx';
import { useLoad } from '../server/load.ts';
import { listCollections } from '../server/retrieval.ts';
import { texts } from '../texts/en/collections.ts';

interface CollectionPickerProps {
  /** Null for all collections. */
  readonly selected: readonly string[] | null;
  readonly onChange: (selected: readonly string[] | null) => void;
}

/** Selects all collections or some of them. Selected collections are listed even if they no longer exist. */
export function CollectionPicker({ selected, onChange }: CollectionPickerProps) {
  const list = useLoad(listCollections, []);
  const all = [...new Set([...(selected ?? []), ...(list.data?.collection_names ?? [])])].sort();
  return (
    <>
      <Checkbox
        label={texts.limitToSelectedCollections}
        checked={selected !== null}
        onChange={(isSome) => onChange(isSome ? [] : null)}
      />
      {selected !== null && (
        <div class="picks" role="group" aria-label={texts.collections}>
          {all.map((each) => (
            <Checkbox
              key={each}
              label={each}
              checked={selected.includes(each)}
              onChange={(isIn) =>
                onChange(isIn ? [...selected, each] : selected.filter((other) => other !== each))
              }
            />
          ))}
          {list.data !== undefined && all.length === 0 && (
            <p class="hint">{texts.thereAreNoCollectionsYet}</p>
          )}
          <ErrorMessage error={list.error} />
        </div>
      )}
    </>
  );
}
