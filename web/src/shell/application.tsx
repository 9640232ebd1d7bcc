import { signal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { ErrorBoundary, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { LinkButton } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Page } from '../components/page.tsx';
import { Toasts } from '../components/toasts.tsx';
import { SignIn } from '../pages/sign-in.tsx';
import { type DashboardRoute, routes } from '../routes.tsx';
import { hasSessionEnded, loadSession, organization, session } from '../server/session.ts';
import { texts } from '../texts/en/shell.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { PageErrorBoundary } from './page-error-boundary.tsx';
import { SessionEndedDialog } from './session-ended-dialog.tsx';
import { Shell } from './shell.tsx';

/** Error that prevented the dashboard from loading the session. */
export const startupError = signal<unknown>(null);

export function Application() {
  return (
    <LocationProvider scope="/app">
      <ConnectionBanner />
      <AuthGate />
      {hasSessionEnded.value && <SessionEndedDialog />}
      <Toasts />
    </LocationProvider>
  );
}

/** Shows the dashboard to signed-in users, and the sign-in page to others, at the same URL. */
function AuthGate() {
  const { path } = useLocation();
  const isOpen = routes.some((route) => route.path === path && route.audience === 'public');
  if (isOpen && session.value.state !== 'in') {
    return (
      <main class="page">
        <Pages />
      </main>
    );
  }
  switch (session.value.state) {
    case 'unknown':
      return startupError.value === null ? (
        <main class="standalone" aria-busy="true" aria-label={texts.loading} />
      ) : (
        <main class="standalone">
          <LoadError error={startupError.value} onRetry={retryStart} />
        </main>
      );
    case 'out':
      return <SignIn />;
    case 'in':
      return (
        <Shell>
          <Pages />
        </Shell>
      );
  }
}

function retryStart(): void {
  startupError.value = null;
  loadSession().catch((error: unknown) => {
    startupError.value = error;
  });
}

/** Whether the code of a page is being loaded. */
const isLoading = signal(false);
const setLoading = (is: boolean) => () => {
  isLoading.value = is;
};
const [begin, end] = [setLoading(true), setLoading(false)];

function PageProgress() {
  return <div class={`page-progress ${isLoading.value ? 'running' : ''}`} />;
}

/**
 * Must not render again when the code of a page starts to load: the router would discard the previous page.
 */
function Pages() {
  const { url } = useLocation();
  return (
    <>
      <PageProgress />
      <PageErrorBoundary url={url}>
        <ErrorBoundary>
          <Router onLoadStart={begin} onLoadEnd={end}>
            {routes.map((route) => (
              <Route key={route.path} path={route.path} component={guardedComponentOf(route)} />
            ))}
            <Route default component={NotFoundPage} />
          </Router>
        </ErrorBoundary>
      </PageErrorBoundary>
    </>
  );
}

const guardedComponents = new Map<DashboardRoute, FunctionComponent>();

/**
 * Remounts the page of an organization when another organization is selected, so that no content of the
 * previous one remains.
 */
function guardedComponentOf(route: DashboardRoute) {
  const cached = guardedComponents.get(route);
  if (cached !== undefined) return cached;
  const { component: Shown, audience } = route;
  const Guarded = () => {
    if (audience !== undefined) return <Shown />;
    const current = organization.value;
    return current === null ? <NoOrganizationPage /> : <Shown key={current.organization_id} />;
  };
  guardedComponents.set(route, Guarded);
  return Guarded;
}

function NoOrganizationPage() {
  return (
    <Page title={texts.welcomeToQuarry}>
      <EmptyState
        title={texts.youAreNotInAn}
        actions={
          <LinkButton href="/app/organizations" tone="primary">
            {texts.createAnOrganization}
          </LinkButton>
        }
      >
        {texts.anOrganizationContainsMembersCollections}
      </EmptyState>
    </Page>
  );
}

function NotFoundPage() {
  return (
    <Page title={texts.pageNotFound}>
      <EmptyState
        title={texts.thisPageDoesNotExist}
        actions={<LinkButton href="/app/">{texts.goToOverview}</LinkButton>}
      >
        {texts.checkTheAddress}
      </EmptyState>
    </Page>
  );
}
