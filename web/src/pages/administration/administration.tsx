import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button, LinkButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Card, Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { showToast } from '../../components/toasts.tsx';
import { administrationUrl } from '../../page-urls.ts';
import { signOutAdministrator } from '../../server/administration.ts';
import { isAdministratorSignedIn } from '../../server/administrator-session.ts';
import { ApiError, errorMessage } from '../../server/api-call.ts';
import { useLoad } from '../../server/load.ts';
import { administratorSecondFactor } from '../../server/second-factor.ts';
import { session } from '../../server/session.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { AdministratorForm } from '../administrator-form.tsx';
import { SecondFactorCard } from '../team/second-factor-card.tsx';
import { Backups } from './backups.tsx';
import { Health } from './health.tsx';
import { Log } from './log.tsx';
import { Organizations } from './organizations.tsx';
import { People } from './people.tsx';
import { ServerSettings } from './server-settings.tsx';
import '../../style/administration.css';

/** Content of a section. `onDenied` is called when the administrator is no longer signed in. */
export interface SectionProps {
  readonly onDenied: () => void;
}

interface Section {
  readonly id: string;
  readonly name: string;
  readonly component: ComponentType<SectionProps>;
}

const sections: readonly [Section, ...Section[]] = [
  { id: 'organizations', name: 'Organizations', component: Organizations },
  { id: 'people', name: 'People', component: People },
  { id: 'health', name: 'Health', component: Health },
  { id: 'backups', name: 'Backups', component: Backups },
  { id: 'settings', name: 'Settings', component: ServerSettings },
  { id: 'log', name: 'Log', component: Log },
  {
    id: 'security',
    name: 'Security',
    component: () => <SecondFactorCard calls={administratorSecondFactor} />,
  },
];

/** Page of the whole installation, for the administrator. */
export function AdministrationPage() {
  const { query } = useLocation();
  const access = useLoad((abort) => administratorSecondFactor.status(abort), []);
  const signOut = useAsyncAction(async () => {
    try {
      await signOutAdministrator();
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    access.reload();
  });
  const status = access.error instanceof ApiError ? access.error.status : null;
  useEffect(() => {
    if (status === 401) isAdministratorSignedIn.value = false;
  }, [status]);
  if (status === 503) return <Page title="Administration">{administrationDisabled}</Page>;
  const isSignedOut = status === 401;
  const section = sections.find(({ id }) => id === query.section) ?? sections[0];
  const Content = section.component;
  return (
    <Page
      title="Administration"
      subtitle={
        isSignedOut ? 'Sign in with the administrator password' : 'The whole server and its organizations'
      }
      actions={
        <>
          <DashboardLink />
          {!isSignedOut && (
            <Button busy={signOut.isBusy} onClick={signOut.start}>
              Sign out as administrator
            </Button>
          )}
        </>
      }
    >
      {isSignedOut ? (
        <Card key="sign-in">
          <AdministratorForm onDone={access.reload} />
        </Card>
      ) : (
        <>
          <Tabs
            label="Sections of the administration"
            tabs={sections.map(({ id, name }) => ({
              name,
              href: administrationUrl(id === sections[0].id ? undefined : id),
              isCurrent: id === section.id,
            }))}
          />
          <Content key={section.id} onDenied={access.reload} />
        </>
      )}
    </Page>
  );
}

const administrationDisabled = (
  <EmptyState title="Administration is disabled">
    To enable this page, set QUARRY_ADMIN_PASSWORD_HASH to the output of “quarry hash-password”. For the
    command line, set QUARRY_ADMIN_KEY.
  </EmptyState>
);

/** Users signed in only with the administrator password have no navigation. */
function DashboardLink() {
  return session.value.state === 'in' ? null : <LinkButton href="/app/">Go to dashboard</LinkButton>;
}
