import type { ComponentChildren } from 'preact';

interface EmptyStateProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Buttons for the next steps. */
  readonly actions?: ComponentChildren;
}

/** Placeholder for an empty list: its purpose, and how to add content. */
export function EmptyState({ title, children, actions }: EmptyStateProps) {
  return (
    <div class="empty-state">
      <h2>{title}</h2>
      <p>{children}</p>
      {actions !== undefined && <div class="row">{actions}</div>}
    </div>
  );
}
