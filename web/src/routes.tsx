import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { lazy, useLocation } from 'preact-iso';
import { LoadError } from './parts/error-message.tsx';
import { setEntryPath } from './parts/page.tsx';
import { isAdministratorSignedIn } from './server/administrator-session.ts';
import { isReachable } from './server/api-call.ts';
import { waitForReconnect } from './server/reachability.ts';
import { isBillingEnabled } from './server/session.ts';
import type { TeamRole } from './server/team.ts';
import type { IconName } from './shell/icons.tsx';

/** Every page of the dashboard. A page is loaded when it is first shown. */

export interface DashboardRoute {
  readonly path: string;
  /** In the navigation, under this name and picture; pages without are reached from others. */
  readonly navigation?: {
    readonly name: string;
    readonly icon: IconName;
    readonly group: 'Search' | 'Organisation' | 'Server';
    /** Only for those who may do at least as much in the organisation. */
    readonly minRole?: TeamRole;
    /** Left out while it says no. */
    readonly isShown?: () => boolean;
  };
  /** Whom it is for: members of an organisation (usual), whoever signed in, or anybody. */
  readonly audience?: 'person' | 'anybody';
  readonly component: ComponentType;
}

/**
 * A page that cannot be loaded is tried again when the server answers. When it still does not come, perhaps because the
 * server has a newer version by now, it says so and can be had anew.
 */
function lazyPage(load: () => Promise<ComponentType>): ComponentType {
  const retryWhenReachable = async () => {
    isReachable.value = false;
    await waitForReconnect();
    return load();
  };
  return lazy(() =>
    load()
      .catch(retryWhenReachable)
      .catch((error: unknown): ComponentType => {
        return () => <LoadError error={error} onRetry={() => window.location.reload()} />;
      }),
  );
}

/** Who is signed in already has no need of the page that others see there. */
function RedirectToOverview() {
  const { route } = useLocation();
  useEffect(() => {
    setEntryPath('/app/');
    route('/app/', true);
  }, []);
  return null;
}

export const routes: readonly DashboardRoute[] = [
  { path: '/app/sign-in', audience: 'person', component: RedirectToOverview },
  {
    path: '/app/',
    navigation: { name: 'Overview', icon: 'overview', group: 'Search' },
    component: lazyPage(() => import('./pages/overview.tsx').then(({ Overview }) => Overview)),
  },
  {
    path: '/app/collections',
    navigation: { name: 'Collections', icon: 'collections', group: 'Search' },
    component: lazyPage(() => import('./pages/collections.tsx').then(({ Collections }) => Collections)),
  },
  {
    path: '/app/documents',
    navigation: { name: 'Documents', icon: 'documents', group: 'Search' },
    component: lazyPage(() => import('./pages/documents.tsx').then(({ Documents }) => Documents)),
  },
  {
    path: '/app/document',
    component: lazyPage(() => import('./pages/document.tsx').then(({ DocumentPage }) => DocumentPage)),
  },
  {
    path: '/app/upload',
    navigation: { name: 'Upload', icon: 'upload', group: 'Search' },
    component: lazyPage(() => import('./pages/upload.tsx').then(({ UploadPage }) => UploadPage)),
  },
  {
    path: '/app/playground',
    navigation: { name: 'Playground', icon: 'playground', group: 'Search' },
    component: lazyPage(() => import('./pages/playground.tsx').then(({ Playground }) => Playground)),
  },
  {
    path: '/app/keys',
    navigation: { name: 'API keys', icon: 'keys', group: 'Organisation' },
    component: lazyPage(() => import('./pages/team/keys.tsx').then(({ KeysPage }) => KeysPage)),
  },
  {
    path: '/app/members',
    navigation: { name: 'Members', icon: 'members', group: 'Organisation' },
    component: lazyPage(() => import('./pages/team/members.tsx').then(({ MembersPage }) => MembersPage)),
  },
  {
    path: '/app/usage',
    navigation: { name: 'Usage', icon: 'usage', group: 'Organisation' },
    component: lazyPage(() => import('./pages/team/usage.tsx').then(({ UsagePage }) => UsagePage)),
  },
  {
    path: '/app/audit',
    navigation: { name: 'Audit log', icon: 'audit', group: 'Organisation', minRole: 'OWNER' },
    component: lazyPage(() => import('./pages/team/audit.tsx').then(({ AuditPage }) => AuditPage)),
  },
  {
    path: '/app/billing',
    navigation: {
      name: 'Billing',
      icon: 'billing',
      group: 'Organisation',
      minRole: 'ADMIN',
      isShown: () => isBillingEnabled.value,
    },
    component: lazyPage(() => import('./pages/team/billing.tsx').then(({ BillingPage }) => BillingPage)),
  },
  {
    path: '/app/organization',
    navigation: { name: 'Settings', icon: 'settings', group: 'Organisation' },
    component: lazyPage(() =>
      import('./pages/team/organization.tsx').then(({ OrganizationPage }) => OrganizationPage),
    ),
  },
  {
    path: '/app/organizations',
    audience: 'person',
    component: lazyPage(() =>
      import('./pages/team/organizations.tsx').then(({ OrganizationsPage }) => OrganizationsPage),
    ),
  },
  {
    path: '/app/settings',
    audience: 'person',
    component: lazyPage(() => import('./pages/team/settings.tsx').then(({ SettingsPage }) => SettingsPage)),
  },
  {
    path: '/app/second-factor',
    audience: 'anybody',
    component: lazyPage(() =>
      import('./pages/second-factor.tsx').then(({ SecondFactorPage }) => SecondFactorPage),
    ),
  },
  {
    path: '/app/join',
    audience: 'person',
    component: lazyPage(() => import('./pages/team/join.tsx').then(({ JoinPage }) => JoinPage)),
  },
  {
    path: '/app/marketplace',
    audience: 'person',
    component: lazyPage(() =>
      import('./pages/team/marketplace.tsx').then(({ MarketplacePage }) => MarketplacePage),
    ),
  },
  {
    path: '/app/admin',
    audience: 'anybody',
    navigation: {
      name: 'Administration',
      icon: 'administration',
      group: 'Server',
      isShown: () => isAdministratorSignedIn.value,
    },
    component: lazyPage(() => import('./pages/team/admin.tsx').then(({ AdminPage }) => AdminPage)),
  },
];
