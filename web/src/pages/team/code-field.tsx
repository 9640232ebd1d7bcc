import { TextField } from '../../components/text-field.tsx';

interface CodeFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (code: string) => void;
  readonly isOptional?: boolean;
}

/** Input for a code of an authenticator app; password managers can fill it in. */
export function CodeField({ label, hint, value, onChange, isOptional = false }: CodeFieldProps) {
  return (
    <TextField
      label={label}
      hint={hint}
      autoComplete="one-time-code"
      spellcheck={false}
      maxLength={64}
      required={!isOptional}
      value={value}
      onChange={onChange}
    />
  );
}
