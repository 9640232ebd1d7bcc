import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../texts/en/components.ts';
import { SharedFailures } from './error-message.tsx';
import { LoadScopeProvider } from './load-scope.tsx';

/**
 * Path at which the dashboard was opened. On every later page, the focus moves to its start, so that screen
 * readers begin there.
 */
let entryPath = window.location.pathname;
let hasNavigated = false;

/** Updates the entry path after a redirect. */
export function setEntryPath(path: string): void {
  entryPath = path;
}

interface PageProps {
  /** Links to the pages above this one, which are shown above the title. */
  readonly crumbs?: readonly { readonly title: string; readonly href: string }[];
  readonly title: string;
  readonly subtitle?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Element that receives the initial focus, if not the heading. */
  readonly initialFocus?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}

/** Page layout: title, subtitle, actions and content. */
export function Page({ crumbs, title, subtitle, actions, initialFocus, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    // The user may have left the first page before it was loaded.
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
          {crumbs !== undefined && <Crumbs crumbs={crumbs} />}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {subtitle !== undefined && <p class="lead">{subtitle}</p>}
        </div>
        {actions !== undefined && <div class="row">{actions}</div>}
      </header>
      <LoadScopeProvider name={title} kind="page">
        <SharedFailures />
        {children}
      </LoadScopeProvider>
    </>
  );
}

function Crumbs({ crumbs }: { readonly crumbs: NonNullable<PageProps['crumbs']> }) {
  return (
    <nav class="crumbs" aria-label={texts.breadcrumb}>
      <ol>
        {crumbs.map(({ title, href }) => (
          <li key={href}>
            <a href={href}>{title}</a>
          </li>
        ))}
      </ol>
    </nav>
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
      {title === undefined ? (
        children
      ) : (
        <LoadScopeProvider name={title} kind="card">
          {children}
        </LoadScopeProvider>
      )}
    </section>
  );
}
