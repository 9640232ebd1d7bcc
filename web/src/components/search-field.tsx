import { TextField } from './text-field.tsx';

/** Input that filters a list while the user types. */
export function SearchField(field: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
}) {
  return (
    <TextField
      label={field.label}
      hint={field.hint}
      type="search"
      class="narrow"
      value={field.value}
      onChange={field.onInput}
    />
  );
}
