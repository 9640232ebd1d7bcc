import { signal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { ErrorBoundary, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { SignIn } from '../pages/sign-in.tsx';
import { Blank } from '../parts/blank.tsx';
import { LinkButton } from '../parts/button.tsx';
import { Page } from '../parts/page.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { NotLoaded } from '../parts/trouble.tsx';
import { type PageRoute, routes } from '../routes.tsx';
import { hasEnded, loadSession, organization, session } from '../server/session.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { Fence } from './fence.tsx';
import { SessionEnded } from './session-ended.tsx';
import { Shell } from './shell.tsx';

/** Why the dashboard could not even ask who is signed in. */
export const startTrouble = signal<unknown>(null);

export function Application() {
  return (
    <LocationProvider scope="/app">
      <ConnectionBanner />
      <Gate />
      {hasEnded.value && <SessionEnded />}
      <Toasts />
    </LocationProvider>
  );
}

/** The dashboard for those who are signed in, and the page to sign in for the others, at the same address. */
function Gate() {
  const { path } = useLocation();
  const isOpen = routes.some((route) => route.path === path && route.audience === 'anybody');
  if (isOpen && session.value.state !== 'in') {
    return (
      <main class="page">
        <Pages />
      </main>
    );
  }
  switch (session.value.state) {
    case 'unknown':
      return startTrouble.value === null ? (
        <main class="alone" aria-busy="true" aria-label="Loading" />
      ) : (
        <main class="alone">
          <NotLoaded error={startTrouble.value} onRetry={startAgain} />
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

function startAgain(): void {
  startTrouble.value = null;
  loadSession().catch((error: unknown) => {
    startTrouble.value = error;
  });
}

/** True while the code of a page is on its way. */
const isLoading = signal(false);
const setLoading = (is: boolean) => () => {
  isLoading.value = is;
};
const [begin, end] = [setLoading(true), setLoading(false)];

function PageProgress() {
  return <div class={`page-progress ${isLoading.value ? 'running' : ''}`} />;
}

/** Not rendered again when the code of a page begins to load: the router would forget the page before. */
function Pages() {
  const { url } = useLocation();
  return (
    <>
      <PageProgress />
      <Fence place={url}>
        <ErrorBoundary>
          <Router onLoadStart={begin} onLoadEnd={end}>
            {routes.map((route) => (
              <Route key={route.path} path={route.path} component={shownFor(route)} />
            ))}
            <Route default component={Nowhere} />
          </Router>
        </ErrorBoundary>
      </Fence>
    </>
  );
}

const guarded = new Map<PageRoute, FunctionComponent>();

/** A page of an organisation starts anew when another one is chosen, so that nothing of the first stays on it. */
function shownFor(route: PageRoute) {
  const made = guarded.get(route);
  if (made !== undefined) return made;
  const { component: Shown, audience } = route;
  const Guarded = () => {
    if (audience !== undefined) return <Shown />;
    const place = organization.value;
    return place === null ? <NoOrganisation /> : <Shown key={place.organization_id} />;
  };
  guarded.set(route, Guarded);
  return Guarded;
}

function NoOrganisation() {
  return (
    <Page title="Welcome to Quarry">
      <Blank
        title="You belong to no organisation yet"
        actions={
          <LinkButton href="/app/organizations" tone="primary">
            Create an organisation
          </LinkButton>
        }
      >
        An organisation holds collections of documents and the people who use them. Create one, or accept an
        invitation.
      </Blank>
    </Page>
  );
}

function Nowhere() {
  return (
    <Page title="There is nothing here">
      <Blank
        title="This page does not exist"
        actions={<LinkButton href="/app/">Go to the overview</LinkButton>}
      >
        The address may be mistyped, or from another version.
      </Blank>
    </Page>
  );
}
