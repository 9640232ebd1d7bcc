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
import { texts } from './texts/en/shell.ts';

/** All pages of the dashboard. The code of a page is loaded when it is first shown. */

export interface DashboardRoute {
  readonly path: string;
  /** Entry in the navigation; pages without one are reached from other pages. */
  readonly navigation?: {
    readonly name: () => string;
    readonly icon: IconName;
    readonly group: 'retrieval' | 'organization' | 'server';
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
    navigation: { name: () => texts.overview, icon: 'overview', group: 'retrieval' },
    component: lazyPage(() => import('./pages/overview.tsx').then(({ Overview }) => Overview)),
  },
  {
    path: '/app/search',
    navigation: { name: () => texts.search, icon: 'search', group: 'retrieval' },
    component: lazyPage(() => import('./pages/search.tsx').then(({ SearchPage }) => SearchPage)),
  },
  {
    path: '/app/collections',
    navigation: { name: () => texts.collections, icon: 'collections', group: 'retrieval' },
    component: lazyPage(() => import('./pages/collections.tsx').then(({ Collections }) => Collections)),
  },
  {
    path: '/app/collection',
    component: lazyPage(() => import('./pages/collection.tsx').then(({ CollectionPage }) => CollectionPage)),
  },
  {
    path: '/app/documents',
    navigation: { name: () => texts.documents, icon: 'documents', group: 'retrieval' },
    component: lazyPage(() => import('./pages/documents.tsx').then(({ Documents }) => Documents)),
  },
  {
    path: '/app/document',
    component: lazyPage(() => import('./pages/document.tsx').then(({ DocumentPage }) => DocumentPage)),
  },
  {
    path: '/app/upload',
    navigation: { name: () => texts.upload, icon: 'upload', group: 'retrieval' },
    component: lazyPage(() => import('./pages/upload.tsx').then(({ UploadPage }) => UploadPage)),
  },
  {
    path: '/app/sources',
    navigation: { name: () => texts.sources, icon: 'sources', group: 'retrieval' },
    component: lazyPage(() => import('./pages/sources/sources.tsx').then(({ SourcesPage }) => SourcesPage)),
  },
  {
    path: '/app/source',
    component: lazyPage(() => import('./pages/sources/source.tsx').then(({ SourcePage }) => SourcePage)),
  },
  {
    path: '/app/models',
    navigation: { name: () => texts.models, icon: 'models', group: 'retrieval' },
    component: lazyPage(() => import('./pages/models/models.tsx').then(({ ModelsPage }) => ModelsPage)),
  },
  {
    path: '/app/keys',
    navigation: { name: () => texts.apiKeys, icon: 'keys', group: 'organization' },
    component: lazyPage(() => import('./pages/team/keys.tsx').then(({ KeysPage }) => KeysPage)),
  },
  {
    path: '/app/console',
    navigation: { name: () => texts.apiConsole, icon: 'console', group: 'organization' },
    component: lazyPage(() => import('./pages/api-console.tsx').then(({ ApiConsolePage }) => ApiConsolePage)),
  },
  {
    path: '/app/webhooks',
    navigation: { name: () => texts.webhooks, icon: 'webhooks', group: 'organization' },
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
    navigation: { name: () => texts.members, icon: 'members', group: 'organization' },
    component: lazyPage(() => import('./pages/team/members.tsx').then(({ MembersPage }) => MembersPage)),
  },
  {
    path: '/app/usage',
    navigation: { name: () => texts.usage, icon: 'usage', group: 'organization' },
    component: lazyPage(() => import('./pages/team/usage.tsx').then(({ UsagePage }) => UsagePage)),
  },
  {
    path: '/app/audit',
    navigation: { name: () => texts.auditLog, icon: 'audit', group: 'organization', minRole: 'OWNER' },
    component: lazyPage(() => import('./pages/team/audit.tsx').then(({ AuditPage }) => AuditPage)),
  },
  {
    path: '/app/billing',
    navigation: {
      name: () => texts.billing,
      icon: 'billing',
      group: 'organization',
      minRole: 'ADMIN',
      isShown: () => isBillingEnabled.value,
    },
    component: lazyPage(() => import('./pages/team/billing.tsx').then(({ BillingPage }) => BillingPage)),
  },
  {
    path: '/app/organization',
    navigation: { name: () => texts.settings, icon: 'settings', group: 'organization' },
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
      name: () => texts.administration,
      icon: 'administration',
      group: 'server',
      isShown: () => isAdministratorSignedIn.value,
    },
    component: lazyPage(() =>
      import('./pages/administration/administration.tsx').then(
        ({ AdministrationPage }) => AdministrationPage,
      ),
    ),
  },
];
