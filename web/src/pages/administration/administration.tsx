import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button, LinkButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadScopeProvider } from '../../components/load-scope.tsx';
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
import { texts } from '../../texts/en/administration.ts';

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
  { id: 'organizations', name: texts.organizations, component: Organizations },
  { id: 'people', name: texts.users, component: People },
  { id: 'health', name: texts.health, component: Health },
  { id: 'backups', name: texts.backups, component: Backups },
  { id: 'settings', name: texts.settings, component: ServerSettings },
  { id: 'log', name: texts.log, component: Log },
  {
    id: 'security',
    name: texts.security,
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
  if (status === 503) return <Page title={texts.administration}>{administrationDisabled}</Page>;
  const isSignedOut = status === 401;
  const section = sections.find(({ id }) => id === query.section) ?? sections[0];
  const Content = section.component;
  return (
    <Page
      title={texts.administration}
      subtitle={isSignedOut ? texts.signInWithTheAdministrator : texts.theWholeServerAndIts}
      actions={
        <>
          <DashboardLink />
          {!isSignedOut && (
            <Button busy={signOut.isBusy} onClick={signOut.start}>
              {texts.signOutAsAdministrator}
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
            label={texts.sectionsOfTheAdministration}
            tabs={sections.map(({ id, name }) => ({
              name,
              href: administrationUrl(id === sections[0].id ? undefined : id),
              isCurrent: id === section.id,
            }))}
          />
          <LoadScopeProvider key={section.id} name={section.name} kind="page">
            <Content onDenied={access.reload} />
          </LoadScopeProvider>
        </>
      )}
    </Page>
  );
}

const administrationDisabled = (
  <EmptyState title={texts.administrationIsDisabled}>{texts.toEnableThisPageSet}</EmptyState>
);

/** Users signed in only with the administrator password have no navigation. */
function DashboardLink() {
  return session.value.state === 'in' ? null : <LinkButton href="/app/">{texts.goToDashboard}</LinkButton>;
}
