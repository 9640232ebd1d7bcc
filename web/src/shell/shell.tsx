import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { isNavigationCollapsed } from '../browser/media.ts';
import { texts } from '../texts/en/shell.ts';
import { Icon } from './icons.tsx';
import { listPageOf } from './list-page.ts';
import { navigationEntries } from './navigation-entries.ts';
import { OrganizationSwitcher } from './organization-switcher.tsx';
import { openOverlay, paletteKeys } from './overlay-state.ts';
import { Overlays } from './overlays.tsx';
import { UserMenu } from './user-menu.tsx';

/** Layout with the navigation next to the page; on narrow screens it is collapsed above the page. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip" href="#page">
        {texts.skipToContent}
      </a>
      {isNavigationCollapsed.value ? <TopBar /> : <SideBar />}
      <main id="page" class="page" tabIndex={-1}>
        {children}
      </main>
      <Overlays />
    </div>
  );
}

function SideBar() {
  return (
    <aside class="side">
      <OrganizationSwitcher />
      <PaletteButton />
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
        <summary aria-label={texts.menu}>
          <Icon name="menu" />
        </summary>
        <div class="drawer-panel">
          <PaletteButton onChoose={close} />
          <Navigation onChoose={close} />
          <UserMenu />
        </div>
      </details>
      <OrganizationSwitcher />
    </header>
  );
}

function PaletteButton({ onChoose }: NavigationProps) {
  return (
    <button
      type="button"
      class="palette-button"
      onClick={() => {
        onChoose?.();
        openOverlay('palette');
      }}
    >
      <Icon name="search" />
      <span>{texts.goTo}</span>
      <kbd>{paletteKeys}</kbd>
    </button>
  );
}

interface NavigationProps {
  /** Called even if the chosen page is already shown. */
  readonly onChoose?: () => void;
}

function Navigation({ onChoose }: NavigationProps) {
  const { path } = useLocation();
  const currentPath = listPageOf(path);
  const all = navigationEntries();
  const groups = [
    ['retrieval', texts.retrieval],
    ['organization', texts.organization],
    ['server', texts.server],
  ] as const;
  const isCurrent = (to: string) => to.replace(/\/$/, '') === currentPath.replace(/\/$/, '');
  return (
    <nav class="navigation" aria-label={texts.pages}>
      {groups.map(([group, name]) => {
        const entries = all.filter((entry) => entry.group === group);
        if (entries.length === 0) return null;
        return (
          <section key={group} aria-label={name}>
            <h2>{name}</h2>
            <ul>
              {entries.map(({ to, name: page, icon: picture }) => (
                <li key={to}>
                  <a href={to} aria-current={isCurrent(to) ? 'page' : undefined} onClick={onChoose}>
                    <Icon name={picture} />
                    {page}
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
