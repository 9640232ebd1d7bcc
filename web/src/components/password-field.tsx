import { texts } from '../texts/en/components.ts';
import { TextField } from './text-field.tsx';

interface PasswordFieldProps {
  readonly label: string;
  readonly value: string;
  /** `new`: a password is chosen, so password managers suggest one. */
  readonly kind: 'current' | 'new';
  readonly onChange: (password: string) => void;
}

export function PasswordField({ label, value, kind, onChange }: PasswordFieldProps) {
  const isNew = kind === 'new';
  return (
    <TextField
      label={label}
      hint={isNew ? texts.atLeast12CharactersSeveral : undefined}
      type="password"
      autoComplete={isNew ? 'new-password' : 'current-password'}
      required
      maxLength={1_024}
      value={value}
      onChange={onChange}
    />
  );
}
