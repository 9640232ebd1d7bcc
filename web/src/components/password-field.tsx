import { Field } from './field.tsx';

interface PasswordFieldProps {
  readonly label: string;
  readonly value: string;
  /** `new`: a password is chosen, so password managers suggest one. */
  readonly kind: 'current' | 'new';
  readonly onChange: (password: string) => void;
}

export function PasswordField({ label, value, kind, onChange }: PasswordFieldProps) {
  const hint = kind === 'new' ? { hint: 'At least 12 characters. Several unrelated words are good.' } : {};
  return (
    <Field label={label} {...hint}>
      {(control) => (
        <input
          {...control}
          type="password"
          autoComplete={kind === 'new' ? 'new-password' : 'current-password'}
          required
          maxLength={1_024}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
