import type { ComponentChildren } from 'preact';

export type ChipTone = 'neutral' | 'info' | 'good' | 'warning' | 'bad';

/** Label of a state that can change by itself. The color alone never carries information. */
export function Chip({
  tone = 'neutral',
  children,
}: {
  readonly tone?: ChipTone;
  readonly children: ComponentChildren;
}) {
  return <span class={`chip ${tone}`}>{children}</span>;
}

/** Label of a property: a role, a plan, a permission. */
export function Tag({
  tone = 'neutral',
  children,
}: {
  readonly tone?: ChipTone;
  readonly children: ComponentChildren;
}) {
  return <span class={`chip tag ${tone}`}>{children}</span>;
}
