import type { ComponentChildren, InputHTMLAttributes, PartialInputHTMLAttributes } from 'preact';
import { Field } from './field.tsx';

type InputAttributes = Omit<
  PartialInputHTMLAttributes<HTMLInputElement>,
  'label' | 'onChange' | 'onInput' | 'role' | 'type' | 'value'
>;

export interface TextFieldProps extends InputAttributes {
  readonly type?: 'date' | 'email' | 'number' | 'password' | 'search' | 'text' | 'url';
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | null;
  readonly value: string;
  /** Called with the text at each input. */
  readonly onChange: (text: string) => void;
}

/** A labeled input. The other properties are attributes of the input; its type is `text` by default. */
export function TextField({ label, hint, error = null, onChange, ...rest }: TextFieldProps) {
  // Preact has a type of attributes for each type of inputs, and TypeScript does not distribute over them.
  const attributes = rest as InputHTMLAttributes<HTMLInputElement>;
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
