import type { ComponentChildren } from 'preact';

export type ChipTone = 'neutral' | 'info' | 'good' | 'warning' | 'bad';

/** Label of a state. The color alone never carries information. */
export function Chip({
  tone = 'neutral',
  children,
}: {
  readonly tone?: ChipTone;
  readonly children: ComponentChildren;
}) {
  return <span class={`chip ${tone}`}>{children}</span>;
}
