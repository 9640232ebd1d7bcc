import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** Attributes that a control must have, so that label, hint and error refer to it. */
export interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | null;
  readonly children: (controlProps: ControlProps) => ComponentChildren;
}

/** A control with its label above, and a hint or error below. */
export function Field({ label, hint, error = null, children }: FieldProps) {
  const id = useId();
  const hasNote = error !== null || hint !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': hasNote ? `${id}-note` : undefined,
        'aria-invalid': error !== null,
      })}
      {hasNote && (
        <p
          id={`${id}-note`}
          class={error === null ? 'hint' : 'hint wrong'}
          role={error === null ? undefined : 'alert'}
        >
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

interface CheckboxProps {
  readonly label: string;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Checkbox({ label, hint, checked, onChange }: CheckboxProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>
        {label}
        {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

interface RadioGroupProps<Option extends string> {
  readonly legend: string;
  readonly name: string;
  readonly value: Option;
  readonly options: readonly (readonly [Option, ComponentChildren])[];
  readonly onChange: (value: Option) => void;
}

/** Radio buttons side by side, for a few options. */
export function RadioGroup<Option extends string>({
  legend,
  name,
  value,
  options,
  onChange,
}: RadioGroupProps<Option>) {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{legend}</legend>
      {options.map(([option, label]) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
