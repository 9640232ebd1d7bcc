import { texts } from '../texts/en/components.ts';
import { fill } from '../texts/format-text.ts';
import { TextField } from './text-field.tsx';

interface ConfirmationFieldProps {
  /** Text to type. */
  readonly requiredText: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Field in which a name is typed before something is deleted. */
export function ConfirmationField({ requiredText, value, onChange }: ConfirmationFieldProps) {
  return (
    <TextField
      label={fill(texts.typeRequiredTextToConfirm, { requiredText })}
      autoComplete="off"
      spellcheck={false}
      value={value}
      onChange={onChange}
    />
  );
}
