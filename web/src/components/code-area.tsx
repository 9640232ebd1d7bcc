import type { ComponentProps } from 'preact';

interface CodeAreaProps {
  /** Attributes from the `Field` around it. */
  readonly control: ComponentProps<'textarea'>;
  readonly rows: number;
  readonly value: string;
  readonly placeholder?: string;
  readonly onChange: (value: string) => void;
}

/** Text field of several lines for JSON and other code. */
export function CodeArea({ control, rows, value, placeholder, onChange }: CodeAreaProps) {
  return (
    <textarea
      {...control}
      class="mono"
      rows={rows}
      spellcheck={false}
      placeholder={placeholder}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
