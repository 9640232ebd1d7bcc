import type { ComponentChildren, ComponentProps } from 'preact';
import { Field } from './field.tsx';

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'label' | 'onChange' | 'onInput' | 'value'> {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | null;
  readonly value: string;
  /** Called with the text at each input. */
  readonly onChange: (text: string) => void;
}

/** A labeled input. The other properties are attributes of the input; its type is `text` by default. */
export function TextField({ label, hint, error = null, onChange, ...attributes }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          type="text"
          {...attributes}
          {...control}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
