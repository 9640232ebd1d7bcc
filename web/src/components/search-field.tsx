import { Field } from './field.tsx';

/** Input that filters a list while the user types. */
export function SearchField(field: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
}) {
  return (
    <Field label={field.label} hint={field.hint}>
      {(control) => (
        <input
          {...control}
          type="search"
          class="narrow"
          value={field.value}
          onInput={(event) => field.onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
