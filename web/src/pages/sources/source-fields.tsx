import { Checkbox, Field } from '../../components/field.tsx';
import { TextField, type TextFieldProps } from '../../components/text-field.tsx';
import type { SourceField, SourceFormValues } from './source-kinds.ts';

interface SourceFieldsProps {
  readonly fields: readonly SourceField[];
  readonly values: SourceFormValues;
  readonly onChange: (values: SourceFormValues) => void;
  /** The fields are secrets. */
  readonly isSecret?: boolean;
}

/** Controls for the settings or the credentials of a source. */
export function SourceFields({ fields, values, onChange, isSecret = false }: SourceFieldsProps) {
  return (
    <>
      {fields.map(({ name, label, type, hint, placeholder, isRequired = false }) =>
        type === 'switch' ? (
          <Checkbox
            key={name}
            label={label}
            checked={values[name] === true}
            onChange={(isOn) => onChange({ ...values, [name]: isOn })}
          />
        ) : (
          <TextField
            key={name}
            label={label}
            hint={hint}
            autoComplete="off"
            {...typeAttributes(type, isSecret)}
            required={isRequired}
            maxLength={4_096}
            spellcheck={false}
            placeholder={placeholder}
            value={String(values[name] ?? '')}
            onChange={(text) => onChange({ ...values, [name]: text })}
          />
        ),
      )}
    </>
  );
}

function typeAttributes(type: SourceField['type'], isSecret: boolean): Partial<TextFieldProps> {
  if (isSecret) return { type: 'password', autoComplete: 'new-password' };
  if (type === 'number') return { type, min: 0, step: 'any' };
  return type === 'url' ? { type } : { type: 'text' };
}

const schedules = [
  ['15m', 'Every 15 minutes'],
  ['1h', 'Every hour'],
  ['6h', 'Every 6 hours'],
  ['1d', 'Every day'],
  ['off', 'Only on request'],
] as const;

interface ScheduleFieldProps {
  readonly schedule: string;
  readonly onChange: (schedule: string) => void;
}

/** Selects a usual schedule, or another one as text. */
export function ScheduleField({ schedule, onChange }: ScheduleFieldProps) {
  const isUsual = schedules.some(([value]) => value === schedule);
  return (
    <>
      <Field label="Runs">
        {(control) => (
          <select
            {...control}
            value={isUsual ? schedule : ''}
            onChange={(event) => onChange(event.currentTarget.value)}
          >
            {schedules.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
            <option value="">Other…</option>
          </select>
        )}
      </Field>
      {!isUsual && (
        <TextField
          label="Schedule"
          hint="An interval (30m, 12h, 7d), or a time of day in UTC (02:30)."
          required
          pattern="[1-9][0-9]{0,3}[mhd]|([01][0-9]|2[0-3]):[0-5][0-9]"
          autoComplete="off"
          placeholder="02:30"
          value={schedule}
          onChange={onChange}
        />
      )}
    </>
  );
}
