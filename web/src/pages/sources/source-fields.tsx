import { Checkbox, Field } from '../../components/field.tsx';
import { TextField, type TextFieldProps } from '../../components/text-field.tsx';
import { texts } from '../../texts/en/sources.ts';
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
  ['15m', texts.every15Minutes],
  ['1h', texts.everyHour],
  ['6h', texts.every6Hours],
  ['1d', texts.everyDay],
  ['off', texts.onlyOnRequest],
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
      <Field label={texts.runs}>
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
            <option value="">{texts.other}</option>
          </select>
        )}
      </Field>
      {!isUsual && (
        <TextField
          label={texts.schedule}
          hint={texts.anInterval30m12h7d}
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
          label={texts.timeZone}
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
