import { useEffect, useState } from 'preact/hooks';
import { Button, LinkButton } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SearchField } from '../../components/search-field.tsx';
import { LoadingText, SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatCount, formatCounted } from '../../format/numbers.ts';
import {
  adminListOrganizations,
  type OrganizationList,
  type OrganizationListItem,
  signOutAdministrator,
} from '../../server/administration.ts';
import { isAdministratorSignedIn } from '../../server/administrator-session.ts';
import { ApiError, errorMessage } from '../../server/api-call.ts';
import { type LoadState, useLoad } from '../../server/load.ts';
import { administratorSecondFactor } from '../../server/second-factor.ts';
import { session } from '../../server/session.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { AdministratorForm } from '../administrator-form.tsx';
import { AdminOrganization } from './admin-organization.tsx';
import { AdminUsers } from './admin-users.tsx';
import { BackupsCard } from './backups-card.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';
import { tierName } from './tiers.ts';

const shownMax = 200;

/** Page of all organizations of the installation, for the administrator. */
export function AdminPage() {
  const list = useLoad(adminListOrganizations, []);
  const signOut = useAsyncAction(async () => {
    try {
      await signOutAdministrator();
      isAdministratorSignedIn.value = false;
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    list.reload();
  });
  const status = list.error instanceof ApiError ? list.error.status : null;
  useEffect(() => {
    if (status === 401) isAdministratorSignedIn.value = false;
  }, [status]);
  if (status === 503) return <Page title="Administration">{administrationDisabled}</Page>;
  const isSignedOut = status === 401;
  return (
    <Page
      title="Administration"
      subtitle={isSignedOut ? 'Sign in with the administrator password' : <OrganizationCount list={list} />}
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
          <AdministratorForm onDone={list.reload} />
        </Card>
      ) : list.data !== undefined ? (
        <>
          <Organizations all={list.data} onChanged={list.reload} />
          <SecondFactorCard calls={administratorSecondFactor} />
          <AdminUsers />
          <BackupsCard />
        </>
      ) : list.error === null ? (
        <Card key="loading">
          <SkeletonRows rows={8} />
        </Card>
      ) : (
        <LoadError error={list.error} onRetry={list.reload} />
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

function OrganizationCount({ list: { data, error } }: { readonly list: LoadState<OrganizationList> }) {
  const label = data && formatCounted(data.organizations.length, 'organization');
  return error !== null && label === undefined ? null : <LoadingText value={label} width="8rem" />;
}

/** Users signed in only with the administrator password have no navigation. */
function DashboardLink() {
  return session.value.state === 'in' ? null : <LinkButton href="/app/">Go to dashboard</LinkButton>;
}

interface OrganizationsProps {
  readonly all: OrganizationList;
  readonly onChanged: () => void;
}

function Organizations({ all: { organizations, isComplete }, onChanged }: OrganizationsProps) {
  const [searchText, setSearchText] = useState('');
  const [open, setOpen] = useState<OrganizationListItem | null>(null);
  const needle = searchText.trim().toLowerCase();
  const found = organizations.filter(
    ({ name, organization_id }) => name.toLowerCase().includes(needle) || organization_id.startsWith(needle),
  );
  return (
    <>
      <SearchField
        label="Search organizations"
        hint="Name or start of the ID"
        value={searchText}
        onInput={setSearchText}
      />
      <Card>
        {found.length === 0 ? (
          <p class="empty-note">No matching organizations.</p>
        ) : (
          <Table
            caption="Organizations"
            columns={columnsFor(setOpen)}
            rows={found.slice(0, shownMax)}
            keyOf={({ organization_id }) => organization_id}
          />
        )}
        {found.length > shownMax && (
          <p class="empty-note">{`${formatCount(found.length - shownMax)} more organizations. Refine the search to see them.`}</p>
        )}
        {!isComplete && (
          <p class="empty-note">
            This list is incomplete. Use the command line or the API to find other organizations.
          </p>
        )}
      </Card>
      {open !== null && (
        <AdminOrganization id={open.organization_id} onClose={() => setOpen(null)} onChanged={onChanged} />
      )}
    </>
  );
}

function columnsFor(onOpen: (row: OrganizationListItem) => void): TableColumn<OrganizationListItem>[] {
  return [
    {
      title: 'Organization',
      cell: ({ name, organization_id }) => (
        <span class="user-cell">
          <strong>{name}</strong>
          <code class="hint">{organization_id}</code>
        </span>
      ),
    },
    {
      title: 'Plan',
      cell: ({ subscription_tier, overridden, zdr }) => (
        <span class="chips">
          <Chip>{tierName(subscription_tier)}</Chip>
          {overridden && <Chip tone="info">Overrides</Chip>}
          {zdr && <Chip tone="good">Zero retention</Chip>}
        </span>
      ),
    },
    { title: 'Created', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (row) => (
        <Button tone="ghost" aria-label={`Open ${row.name}`} onClick={() => onOpen(row)}>
          Open
        </Button>
      ),
    },
  ];
}
