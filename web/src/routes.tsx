import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { lazy, useLocation } from 'preact-iso';
import { LoadError } from './components/error-message.tsx';
import { setEntryPath } from './components/page.tsx';
import { isAdministratorSignedIn } from './server/administrator-session.ts';
import { isReachable } from './server/api-call.ts';
import { waitForReconnect } from './server/reachability.ts';
import { isBillingEnabled } from './server/session.ts';
import type { TeamRole } from './server/team.ts';
import type { IconName } from './shell/icons.tsx';

/** All pages of the dashboard. The code of a page is loaded when it is first shown. */

export interface DashboardRoute {
  readonly path: string;
  /** Entry in the navigation; pages without one are reached from other pages. */
  readonly navigation?: {
    readonly name: string;
    readonly icon: IconName;
    readonly group: 'Retrieval' | 'Organization' | 'Server';
    /** Minimum role in the organization to see the entry. */
    readonly minRole?: TeamRole;
    /** Hides the entry while it returns false. */
    readonly isShown?: () => boolean;
  };
  /**
   * Audience of the page: members of an organization (default), `user`: signed-in users, `public`: everyone.
   */
  readonly audience?: 'user' | 'public';
  readonly component: ComponentType;
}

/**
 * Page whose code is loaded on first use. After a failure, loading is retried once the server is reachable.
 * If it fails again, perhaps because the server has a newer version, the error is shown with a way to reload.
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

/** Page that opens another one in its place. `keepParameters`: with the query and the fragment of the URL. */
function redirectTo(path: string, { keepParameters = false } = {}): ComponentType {
  return () => {
    const { route } = useLocation();
    useEffect(() => {
      const { search, hash } = window.location;
      setEntryPath(path);
      route(keepParameters ? path + search + hash : path, true);
    }, []);
    return null;
  };
}

export const routes: readonly DashboardRoute[] = [
  // Users who are already signed in.
  { path: '/app/sign-in', audience: 'user', component: redirectTo('/app/') },
  // Address of the search page in old links.
  {
    path: '/app/playground',
    audience: 'user',
    component: redirectTo('/app/search', { keepParameters: true }),
  },
  {
    path: '/app/',
    navigation: { name: 'Overview', icon: 'overview', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/overview.tsx').then(({ Overview }) => Overview)),
  },
  {
    path: '/app/search',
    navigation: { name: 'Search', icon: 'search', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/search.tsx').then(({ SearchPage }) => SearchPage)),
  },
  {
    path: '/app/collections',
    navigation: { name: 'Collections', icon: 'collections', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/collections.tsx').then(({ Collections }) => Collections)),
  },
  {
    path: '/app/documents',
    navigation: { name: 'Documents', icon: 'documents', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/documents.tsx').then(({ Documents }) => Documents)),
  },
  {
    path: '/app/document',
    component: lazyPage(() => import('./pages/document.tsx').then(({ DocumentPage }) => DocumentPage)),
  },
  {
    path: '/app/upload',
    navigation: { name: 'Upload', icon: 'upload', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/upload.tsx').then(({ UploadPage }) => UploadPage)),
  },
  {
    path: '/app/sources',
    navigation: { name: 'Sources', icon: 'sources', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/sources/sources.tsx').then(({ SourcesPage }) => SourcesPage)),
  },
  {
    path: '/app/source',
    component: lazyPage(() => import('./pages/sources/source.tsx').then(({ SourcePage }) => SourcePage)),
  },
  {
    path: '/app/models',
    navigation: { name: 'Models', icon: 'models', group: 'Retrieval' },
    component: lazyPage(() => import('./pages/models/models.tsx').then(({ ModelsPage }) => ModelsPage)),
  },
  {
    path: '/app/console',
    component: lazyPage(() => import('./pages/api-console.tsx').then(({ ApiConsolePage }) => ApiConsolePage)),
  },
  {
    path: '/app/keys',
    navigation: { name: 'API keys', icon: 'keys', group: 'Organization' },
    component: lazyPage(() => import('./pages/team/keys.tsx').then(({ KeysPage }) => KeysPage)),
  },
  {
    path: '/app/webhooks',
    navigation: { name: 'Webhooks', icon: 'webhooks', group: 'Organization' },
    component: lazyPage(() =>
      import('./pages/webhooks/webhooks.tsx').then(({ WebhooksPage }) => WebhooksPage),
    ),
  },
  {
    path: '/app/webhook',
    component: lazyPage(() => import('./pages/webhooks/webhook.tsx').then(({ WebhookPage }) => WebhookPage)),
  },
  {
    path: '/app/members',
    navigation: { name: 'Members', icon: 'members', group: 'Organization' },
    component: lazyPage(() => import('./pages/team/members.tsx').then(({ MembersPage }) => MembersPage)),
  },
  {
    path: '/app/usage',
    navigation: { name: 'Usage', icon: 'usage', group: 'Organization' },
    component: lazyPage(() => import('./pages/team/usage.tsx').then(({ UsagePage }) => UsagePage)),
  },
  {
    path: '/app/audit',
    navigation: { name: 'Audit log', icon: 'audit', group: 'Organization', minRole: 'OWNER' },
    component: lazyPage(() => import('./pages/team/audit.tsx').then(({ AuditPage }) => AuditPage)),
  },
  {
    path: '/app/billing',
    navigation: {
      name: 'Billing',
      icon: 'billing',
      group: 'Organization',
      minRole: 'ADMIN',
      isShown: () => isBillingEnabled.value,
    },
    component: lazyPage(() => import('./pages/team/billing.tsx').then(({ BillingPage }) => BillingPage)),
  },
  {
    path: '/app/organization',
    navigation: { name: 'Settings', icon: 'settings', group: 'Organization' },
    component: lazyPage(() =>
      import('./pages/team/organization.tsx').then(({ OrganizationPage }) => OrganizationPage),
    ),
  },
  {
    path: '/app/organizations',
    audience: 'user',
    component: lazyPage(() =>
      import('./pages/team/organizations.tsx').then(({ OrganizationsPage }) => OrganizationsPage),
    ),
  },
  {
    path: '/app/settings',
    audience: 'user',
    component: lazyPage(() => import('./pages/team/settings.tsx').then(({ SettingsPage }) => SettingsPage)),
  },
  {
    path: '/app/second-factor',
    audience: 'public',
    component: lazyPage(() =>
      import('./pages/second-factor.tsx').then(({ SecondFactorPage }) => SecondFactorPage),
    ),
  },
  {
    path: '/app/password',
    audience: 'public',
    component: lazyPage(() =>
      import('./pages/password-link.tsx').then(({ PasswordLinkPage }) => PasswordLinkPage),
    ),
  },
  {
    path: '/app/join',
    audience: 'user',
    component: lazyPage(() => import('./pages/team/join.tsx').then(({ JoinPage }) => JoinPage)),
  },
  {
    path: '/app/marketplace',
    audience: 'user',
    component: lazyPage(() =>
      import('./pages/team/marketplace.tsx').then(({ MarketplacePage }) => MarketplacePage),
    ),
  },
  {
    path: '/app/admin',
    audience: 'public',
    navigation: {
      name: 'Administration',
      icon: 'administration',
      group: 'Server',
      isShown: () => isAdministratorSignedIn.value,
    },
    component: lazyPage(() =>
      import('./pages/administration/administration.tsx').then(
        ({ AdministrationPage }) => AdministrationPage,
      ),
    ),
  },
];
