import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { lazy, useLocation } from 'preact-iso';
import { leadsOnTo } from './parts/page.tsx';
import { NotLoaded } from './parts/trouble.tsx';
import { administratorIsIn } from './server/administrator-in.ts';
import { isReachable } from './server/call.ts';
import { nextReturn } from './server/reachability.ts';
import { billingIsOn } from './server/session.ts';
import type { Role } from './server/team.ts';
import type { PictureName } from './shell/pictures.tsx';

/** Every page of the dashboard. A page is loaded when it is first shown. */

export interface PageRoute {
  readonly path: string;
  /** In the navigation, under this name and picture; pages without are reached from others. */
  readonly entry?: {
    readonly name: string;
    readonly picture: PictureName;
    readonly group: 'Search' | 'Organisation' | 'Server';
    /** Only for those who may do at least as much in the organisation. */
    readonly least?: Role;
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
function page(load: () => Promise<ComponentType>): ComponentType {
  const again = async () => {
    isReachable.value = false;
    await nextReturn();
    return load();
  };
  return lazy(() =>
    load()
      .catch(again)
      .catch((error: unknown): ComponentType => {
        return () => <NotLoaded error={error} onRetry={() => window.location.reload()} />;
      }),
  );
}

/** Who is signed in already has no need of the page that others see there. */
function SignedIn() {
  const { route } = useLocation();
  useEffect(() => {
    leadsOnTo('/app/');
    route('/app/', true);
  }, []);
  return null;
}

export const routes: readonly PageRoute[] = [
  { path: '/app/sign-in', audience: 'person', component: SignedIn },
  {
    path: '/app/',
    entry: { name: 'Overview', picture: 'overview', group: 'Search' },
    component: page(() => import('./pages/overview.tsx').then(({ Overview }) => Overview)),
  },
  {
    path: '/app/collections',
    entry: { name: 'Collections', picture: 'collections', group: 'Search' },
    component: page(() => import('./pages/collections.tsx').then(({ Collections }) => Collections)),
  },
  {
    path: '/app/documents',
    entry: { name: 'Documents', picture: 'documents', group: 'Search' },
    component: page(() => import('./pages/documents.tsx').then(({ Documents }) => Documents)),
  },
  {
    path: '/app/document',
    component: page(() => import('./pages/document.tsx').then(({ DocumentPage }) => DocumentPage)),
  },
  {
    path: '/app/upload',
    entry: { name: 'Upload', picture: 'upload', group: 'Search' },
    component: page(() => import('./pages/upload.tsx').then(({ UploadPage }) => UploadPage)),
  },
  {
    path: '/app/playground',
    entry: { name: 'Playground', picture: 'playground', group: 'Search' },
    component: page(() => import('./pages/playground.tsx').then(({ Playground }) => Playground)),
  },
  {
    path: '/app/keys',
    entry: { name: 'API keys', picture: 'keys', group: 'Organisation' },
    component: page(() => import('./pages/team/keys.tsx').then(({ KeysPage }) => KeysPage)),
  },
  {
    path: '/app/members',
    entry: { name: 'Members', picture: 'members', group: 'Organisation' },
    component: page(() => import('./pages/team/members.tsx').then(({ MembersPage }) => MembersPage)),
  },
  {
    path: '/app/usage',
    entry: { name: 'Usage', picture: 'usage', group: 'Organisation' },
    component: page(() => import('./pages/team/usage.tsx').then(({ UsagePage }) => UsagePage)),
  },
  {
    path: '/app/audit',
    entry: { name: 'Audit log', picture: 'audit', group: 'Organisation', least: 'OWNER' },
    component: page(() => import('./pages/team/audit.tsx').then(({ AuditPage }) => AuditPage)),
  },
  {
    path: '/app/billing',
    entry: {
      name: 'Billing',
      picture: 'billing',
      group: 'Organisation',
      least: 'ADMIN',
      isShown: () => billingIsOn.value,
    },
    component: page(() => import('./pages/team/billing.tsx').then(({ BillingPage }) => BillingPage)),
  },
  {
    path: '/app/organization',
    entry: { name: 'Settings', picture: 'settings', group: 'Organisation' },
    component: page(() =>
      import('./pages/team/organization.tsx').then(({ OrganizationPage }) => OrganizationPage),
    ),
  },
  {
    path: '/app/organizations',
    audience: 'person',
    component: page(() =>
      import('./pages/team/organizations.tsx').then(({ OrganizationsPage }) => OrganizationsPage),
    ),
  },
  {
    path: '/app/settings',
    audience: 'person',
    component: page(() => import('./pages/team/settings.tsx').then(({ SettingsPage }) => SettingsPage)),
  },
  {
    path: '/app/second-factor',
    audience: 'anybody',
    component: page(() =>
      import('./pages/second-factor.tsx').then(({ SecondFactorPage }) => SecondFactorPage),
    ),
  },
  {
    path: '/app/join',
    audience: 'person',
    component: page(() => import('./pages/team/join.tsx').then(({ JoinPage }) => JoinPage)),
  },
  {
    path: '/app/marketplace',
    audience: 'person',
    component: page(() =>
      import('./pages/team/marketplace.tsx').then(({ MarketplacePage }) => MarketplacePage),
    ),
  },
  {
    path: '/app/admin',
    audience: 'anybody',
    entry: {
      name: 'Administration',
      picture: 'administration',
      group: 'Server',
      isShown: () => administratorIsIn.value,
    },
    component: page(() => import('./pages/team/admin.tsx').then(({ AdminPage }) => AdminPage)),
  },
];
