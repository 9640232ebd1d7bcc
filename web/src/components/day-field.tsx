import { TextField } from './text-field.tsx';

interface DayFieldProps {
  readonly label: string;
  /** `YYYY-MM-DD`, or empty. */
  readonly value: string;
  readonly onChange: (day: string) => void;
}

export function DayField({ label, value, onChange }: DayFieldProps) {
  return <TextField label={label} type="date" value={value} onChange={onChange} />;
}
