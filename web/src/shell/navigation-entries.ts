import { hasRole } from '../pages/team/roles.tsx';
import { type DashboardRoute, routes } from '../routes.tsx';

export type NavigationEntry = NonNullable<DashboardRoute['navigation']> & { readonly to: string };

/** Pages of the navigation that the user may open, in order. */
export function navigationEntries(): NavigationEntry[] {
  return routes.flatMap(({ path: to, navigation: entry, audience }) =>
    entry !== undefined &&
    (audience !== undefined || hasRole(entry.minRole ?? 'MEMBER')) &&
    entry.isShown?.() !== false
      ? [{ to, ...entry }]
      : [],
  );
}
