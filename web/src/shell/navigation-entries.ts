import { hasRole } from '../pages/team/roles.tsx';
import { type DashboardRoute, routes } from '../routes.tsx';

type Navigation = NonNullable<DashboardRoute['navigation']>;

export interface NavigationEntry extends Pick<Navigation, 'icon' | 'group'> {
  readonly to: string;
  readonly name: string;
}

/** Pages of the navigation that the user may open, in order. */
export function navigationEntries(): NavigationEntry[] {
  return routes.flatMap(({ path: to, navigation: entry, audience }) =>
    entry !== undefined &&
    (audience !== undefined || hasRole(entry.minRole ?? 'MEMBER')) &&
    entry.isShown?.() !== false
      ? [{ to, name: entry.name(), icon: entry.icon, group: entry.group }]
      : [],
  );
}
