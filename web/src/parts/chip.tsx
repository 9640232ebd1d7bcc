import type { ComponentChildren } from 'preact';

export type ChipTone = 'neutral' | 'info' | 'good' | 'warning' | 'bad';

/** A word about a state. It never says anything by its colour alone. */
export function Chip({
  tone = 'neutral',
  children,
}: {
  readonly tone?: ChipTone;
  readonly children: ComponentChildren;
}) {
  return <span class={`chip ${tone}`}>{children}</span>;
}
