import { signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** How many pages were shown; where every one but the first begins takes the focus, so that readers begin there. */
const shown = signal(0);

interface PageProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Where it begins, when that is not its heading. */
  readonly start?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}

/** What every page begins with: its name, a line about it, and what one can do. */
export function Page({ title, lead, actions, start, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (shown.peek() > 0) (start?.current ?? heading.current)?.focus({ preventScroll: true });
    shown.value += 1;
  }, []);
  useEffect(() => {
    document.title = `${title} · Quarry`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div class="row">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface CardProps {
  readonly title?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Card({ title, actions, children }: CardProps) {
  return (
    <section class="card">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}
