import type { ComponentChildren } from 'preact';

interface EmptyStateProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Buttons that lead on. */
  readonly actions?: ComponentChildren;
}

/** In the place of a list that has nothing in it: what would be here, and how to get it. */
export function EmptyState({ title, children, actions }: EmptyStateProps) {
  return (
    <div class="blank">
      <h2>{title}</h2>
      <p>{children}</p>
      {actions !== undefined && <div class="row">{actions}</div>}
    </div>
  );
}
