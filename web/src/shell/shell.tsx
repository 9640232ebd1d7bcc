import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { isFolded } from '../browser/media.ts';
import { mayAs } from '../pages/team/roles.tsx';
import { routes } from '../routes.tsx';
import { OrganisationSwitcher } from './organisation-switcher.tsx';
import { PersonMenu } from './person-menu.tsx';
import { Picture } from './pictures.tsx';

const groups = ['Search', 'Organisation', 'Server'] as const;

/** Navigation beside the page; where there is no room above it, folded away. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip" href="#page">
        Skip to the page
      </a>
      {isFolded.value ? <TopBar /> : <SideBar />}
      <main id="page" class="page" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function SideBar() {
  return (
    <aside class="side">
      <OrganisationSwitcher />
      <Navigation />
      <PersonMenu />
    </aside>
  );
}

function TopBar() {
  const { url } = useLocation();
  const details = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (details.current !== null) details.current.open = false;
  };
  useEffect(close, [url]);
  useEffect(() => {
    const outside = ({ target }: Event) => {
      if (target instanceof Node && details.current?.contains(target) === false) close();
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, []);
  return (
    <header class="top">
      <details
        ref={details}
        class="drawer"
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || event.defaultPrevented || details.current?.open !== true) return;
          // A menu that is open in it closes first.
          if (details.current.querySelector(':popover-open') !== null) return;
          close();
          details.current.querySelector('summary')?.focus();
        }}
      >
        <summary aria-label="Menu">
          <Picture of="menu" />
        </summary>
        <div class="drawer-panel">
          <Navigation onChoose={close} />
          <PersonMenu />
        </div>
      </details>
      <OrganisationSwitcher />
    </header>
  );
}

interface NavigationProps {
  /** Called for the page that is there already, too. */
  readonly onChoose?: () => void;
}

function Navigation({ onChoose }: NavigationProps) {
  const { path } = useLocation();
  const here = path === '/app/document' ? '/app/documents' : path;
  const isHere = (to: string) => to.replace(/\/$/, '') === here.replace(/\/$/, '');
  return (
    <nav class="navigation" aria-label="Pages">
      {groups.map((group) => {
        const entries = routes.flatMap(({ path: to, entry, audience }) =>
          entry?.group === group &&
          (audience !== undefined || mayAs(entry.least ?? 'MEMBER')) &&
          entry.isShown?.() !== false
            ? [{ to, ...entry }]
            : [],
        );
        if (entries.length === 0) return null;
        return (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {entries.map(({ to, name, picture }) => (
                <li key={to}>
                  <a href={to} aria-current={isHere(to) ? 'page' : undefined} onClick={onChoose}>
                    <Picture of={picture} />
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}
