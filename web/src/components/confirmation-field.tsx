import { Field } from './field.tsx';

interface ConfirmationFieldProps {
  /** Text to type. */
  readonly requiredText: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Field in which a name is typed before something is deleted. */
export function ConfirmationField({ requiredText, value, onChange }: ConfirmationFieldProps) {
  return (
    <Field label={`Type “${requiredText}” to confirm`}>
      {(control) => (
        <input
          {...control}
          type="text"
          autoComplete="off"
          spellcheck={false}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
