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

/** Whether a schedule has times, which depend on a time zone. */
export function hasTimes(schedule: string): boolean {
  return /[: ]/.test(schedule);
}

interface ScheduleFieldProps {
  readonly schedule: string;
  readonly timeZone: string;
  readonly onChange: (change: { readonly schedule?: string; readonly timeZone?: string }) => void;
}

/** Selects a usual schedule, or another one as text. */
export function ScheduleField({ schedule, timeZone, onChange }: ScheduleFieldProps) {
  const isUsual = schedules.some(([value]) => value === schedule);
  return (
    <>
      <Field label="Runs">
        {(control) => (
          <select
            {...control}
            value={isUsual ? schedule : ''}
            onChange={(event) => onChange({ schedule: event.currentTarget.value })}
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
          hint="An interval (30m, 12h, 7d), a time of day (02:30), or a cron expression (0 3 * * MON-FRI)."
          required
          pattern="[1-9][0-9]{0,3}[mhd]|([01][0-9]|2[0-3]):[0-5][0-9]|\S+( +\S+){4}"
          autoComplete="off"
          spellcheck={false}
          placeholder="02:30"
          value={schedule}
          onChange={(text) => onChange({ schedule: text })}
        />
      )}
      {hasTimes(schedule) && (
        <TextField
          label="Time zone"
          required
          autoComplete="off"
          spellcheck={false}
          placeholder="Europe/Berlin"
          value={timeZone}
          onChange={(text) => onChange({ timeZone: text })}
        />
      )}
    </>
  );
}
