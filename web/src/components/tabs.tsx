import { useLayoutEffect, useRef } from 'preact/hooks';

interface Tab {
  readonly name: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

/** Links to the sections of a page, each with its own URL: one row, which scrolls if it is too narrow. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const list = useRef<HTMLUListElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  useLayoutEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[aria-current]');
    if (list.current === null || !tab) return;
    list.current.scrollLeft = tab.offsetLeft - (list.current.clientWidth - tab.offsetWidth) / 2;
  }, [current]);
  return (
    <nav class="tabs" aria-label={label}>
      <ul ref={list}>
        {tabs.map(({ name, href, isCurrent }) => (
          <li key={href}>
            <a href={href} aria-current={isCurrent ? 'page' : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
