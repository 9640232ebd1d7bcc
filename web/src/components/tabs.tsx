interface Tab {
  readonly name: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

/** Links to the sections of a page, each with its own URL. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
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
