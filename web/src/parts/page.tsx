import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** Where the dashboard was opened; on every later page the focus is where it begins, so that readers begin there. */
let entryPath = window.location.pathname;
let hasNavigated = false;

/** For an address that leads on to another one by itself: that is where the dashboard was opened. */
export function setEntryPath(path: string): void {
  entryPath = path;
}

interface PageProps {
  readonly title: string;
  readonly subtitle?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Where it begins, when that is not its heading. */
  readonly initialFocus?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}

/** What every page begins with: its name, a line about it, and what one can do. */
export function Page({ title, subtitle, actions, initialFocus, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    // Who was quick may have left the first page before it was there.
    hasNavigated ||= window.location.pathname !== entryPath;
    if (hasNavigated) (initialFocus?.current ?? heading.current)?.focus({ preventScroll: true });
    hasNavigated = true;
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
          {subtitle !== undefined && <p class="lead">{subtitle}</p>}
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
