import { useEffect, useState } from 'preact/hooks';
import { Blank } from '../../parts/blank.tsx';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Pending, SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded } from '../../parts/trouble.tsx';
import { When } from '../../parts/when.tsx';
import {
  type AllOrganizations,
  type Listed,
  listAllOrganizations,
  signOutAdministrator,
} from '../../server/administration.ts';
import { administratorIsIn } from '../../server/administrator-in.ts';
import { CallError, sentenceOf } from '../../server/call.ts';
import { useDoing } from '../../server/doing.ts';
import { type Loaded, useLoad } from '../../server/load.ts';
import { administratorSecondFactor } from '../../server/second-factor.ts';
import { session } from '../../server/session.ts';
import { count, counted } from '../../words/numbers.ts';
import { AdministratorForm } from '../administrator-form.tsx';
import { AdminOrganization } from './admin-organization.tsx';
import { AdminUsers } from './admin-users.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';
import { tierName } from './tiers.ts';

const shownMax = 200;

/** All organisations of the installation, for its administrator. */
export function AdminPage() {
  const list = useLoad(listAllOrganizations, []);
  const leave = useDoing(async () => {
    try {
      await signOutAdministrator();
      administratorIsIn.value = false;
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    list.reload();
  });
  const status = list.error instanceof CallError ? list.error.status : null;
  useEffect(() => {
    if (status === 401) administratorIsIn.value = false;
  }, [status]);
  if (status === 503) return <Page title="Administration">{off}</Page>;
  const isOut = status === 401;
  return (
    <Page
      title="Administration"
      lead={isOut ? 'For the administrator of this installation' : <Total of={list} />}
      actions={
        <>
          <ToDashboard />
          {!isOut && (
            <Button busy={leave.isBusy} onClick={leave.start}>
              Sign out as administrator
            </Button>
          )}
        </>
      }
    >
      {isOut ? (
        <Card key="sign-in">
          <AdministratorForm onDone={list.reload} />
        </Card>
      ) : list.data !== undefined ? (
        <>
          <Organizations all={list.data} onChanged={list.reload} />
          <SecondFactorCard calls={administratorSecondFactor} />
          <AdminUsers />
        </>
      ) : list.error === null ? (
        <Card key="loading">
          <SkeletonRows rows={8} />
        </Card>
      ) : (
        <NotLoaded error={list.error} onRetry={list.reload} />
      )}
    </Page>
  );
}

const off = (
  <Blank title="Administration is off">
    Start the server with QUARRY_ADMIN_PASSWORD_HASH, which “quarry hash-password” makes, or with
    QUARRY_ADMIN_KEY for the command line.
  </Blank>
);

function Total({ of: { data, error } }: { readonly of: Loaded<AllOrganizations> }) {
  const words = data && counted(data.organizations.length, 'organisation');
  return error !== null && words === undefined ? null : <Pending value={words} width="8rem" />;
}

/** Who came in by the password alone has no navigation. */
function ToDashboard() {
  return session.value.state === 'in' ? null : <LinkButton href="/app/">To the dashboard</LinkButton>;
}

interface OrganizationsProps {
  readonly all: AllOrganizations;
  readonly onChanged: () => void;
}

function Organizations({ all: { organizations, areAll }, onChanged }: OrganizationsProps) {
  const [words, setWords] = useState('');
  const [open, setOpen] = useState<Listed | null>(null);
  const wanted = words.trim().toLowerCase();
  const found = organizations.filter(
    ({ name, organization_id }) => name.toLowerCase().includes(wanted) || organization_id.startsWith(wanted),
  );
  return (
    <>
      <SearchField label="Find" hint="By name, or the beginning of the id" value={words} onInput={setWords} />
      <Card>
        {found.length === 0 ? (
          <p class="quiet">No organisation is named so.</p>
        ) : (
          <Table
            caption="Organisations"
            columns={columnsFor(setOpen)}
            rows={found.slice(0, shownMax)}
            keyOf={({ organization_id }) => organization_id}
          />
        )}
        {found.length > shownMax && (
          <p class="quiet">{`${count(found.length - shownMax)} more: type a longer part of the name.`}</p>
        )}
        {!areAll && (
          <p class="quiet">There are more than this page holds; find others with their id and the API.</p>
        )}
      </Card>
      {open !== null && (
        <AdminOrganization id={open.organization_id} onClose={() => setOpen(null)} onChanged={onChanged} />
      )}
    </>
  );
}

function columnsFor(onOpen: (row: Listed) => void): Column<Listed>[] {
  return [
    {
      title: 'Organisation',
      cell: ({ name, organization_id }) => (
        <span class="person">
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
    { title: 'Created', cell: ({ created_at }) => <When at={created_at} /> },
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
