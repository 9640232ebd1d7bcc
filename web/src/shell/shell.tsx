import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { isNavigationCollapsed } from '../browser/media.ts';
import { hasRole } from '../pages/team/roles.tsx';
import { routes } from '../routes.tsx';
import { Icon } from './icons.tsx';
import { OrganizationSwitcher } from './organization-switcher.tsx';
import { UserMenu } from './user-menu.tsx';

const groups = ['Retrieval', 'Organization', 'Server'] as const;

/** Layout with the navigation next to the page; on narrow screens it is collapsed above the page. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip" href="#page">
        Skip to content
      </a>
      {isNavigationCollapsed.value ? <TopBar /> : <SideBar />}
      <main id="page" class="page" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function SideBar() {
  return (
    <aside class="side">
      <OrganizationSwitcher />
      <Navigation />
      <UserMenu />
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
    const closeOnOutsideClick = ({ target }: Event) => {
      if (target instanceof Node && details.current?.contains(target) === false) close();
    };
    document.addEventListener('pointerdown', closeOnOutsideClick);
    return () => document.removeEventListener('pointerdown', closeOnOutsideClick);
  }, []);
  return (
    <header class="top">
      <details
        ref={details}
        class="drawer"
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || event.defaultPrevented || details.current?.open !== true) return;
          // An open menu inside it closes first.
          if (details.current.querySelector(':popover-open') !== null) return;
          close();
          details.current.querySelector('summary')?.focus();
        }}
      >
        <summary aria-label="Menu">
          <Icon name="menu" />
        </summary>
        <div class="drawer-panel">
          <Navigation onChoose={close} />
          <UserMenu />
        </div>
      </details>
      <OrganizationSwitcher />
    </header>
  );
}

interface NavigationProps {
  /** Called even if the chosen page is already shown. */
  readonly onChoose?: () => void;
}

function Navigation({ onChoose }: NavigationProps) {
  const { path } = useLocation();
  const currentPath = path === '/app/document' ? '/app/documents' : path;
  const isCurrent = (to: string) => to.replace(/\/$/, '') === currentPath.replace(/\/$/, '');
  return (
    <nav class="navigation" aria-label="Pages">
      {groups.map((group) => {
        const entries = routes.flatMap(({ path: to, navigation: entry, audience }) =>
          entry?.group === group &&
          (audience !== undefined || hasRole(entry.minRole ?? 'MEMBER')) &&
          entry.isShown?.() !== false
            ? [{ to, ...entry }]
            : [],
        );
        if (entries.length === 0) return null;
        return (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {entries.map(({ to, name, icon: picture }) => (
                <li key={to}>
                  <a href={to} aria-current={isCurrent(to) ? 'page' : undefined} onClick={onChoose}>
                    <Icon name={picture} />
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
