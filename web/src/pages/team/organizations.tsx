import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { OrganizationOfUser } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../components/button.tsx';
import { Tag } from '../../components/chip.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import {
  loadSession,
  organization,
  organizations,
  selectOrganization,
  session,
} from '../../server/session.ts';
import { addOrganization } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/team.ts';
import { fill } from '../../texts/format-text.ts';
import { PendingInvitations } from './invitations.tsx';
import { roleName } from './roles.tsx';
import { tierName } from './tiers.ts';

/** Page of the user's organizations and invitations, and to create an organization. */
export function OrganizationsPage() {
  const { route } = useLocation();
  const isInvited = session.value.state === 'in' && session.value.account.invitations.length > 0;
  const enter = (name: string) => {
    showToast(fill(texts.switchedToName, { name }));
    route('/app/');
  };
  return (
    <Page title={texts.organizations} subtitle={texts.eachOrganizationHasItsOwn}>
      {isInvited && (
        <Card title={texts.invitations}>
          <PendingInvitations onJoined={enter} />
        </Card>
      )}
      {organizations.value.length > 0 && (
        <Card>
          <Organizations onEnter={enter} />
        </Card>
      )}
      <Card title={texts.createAnOrganization}>
        <Create onEnter={enter} />
      </Card>
    </Page>
  );
}

interface EnterProps {
  readonly onEnter: (name: string) => void;
}

function Organizations({ onEnter }: EnterProps) {
  const currentId = organization.value?.organization_id;
  const columns: TableColumn<OrganizationOfUser>[] = [
    {
      title: texts.name,
      cell: ({ name, organization_id }) => (
        <>
          <strong>{name}</strong> {organization_id === currentId && <Tag tone="info">{texts.current}</Tag>}
        </>
      ),
    },
    { title: texts.yourRole, cell: ({ permission }) => roleName(permission) },
    { title: texts.plan, cell: ({ subscription_tier }) => tierName(subscription_tier) },
    { title: texts.created, cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: ({ name, organization_id }) =>
        organization_id !== currentId && (
          <Button
            tone="ghost"
            aria-label={fill(texts.switchToName, { name })}
            onClick={() => {
              selectOrganization(organization_id);
              onEnter(name);
            }}
          >
            {texts.switch}
          </Button>
        ),
    },
  ];
  return (
    <Table
      caption={texts.organizations}
      columns={columns}
      rows={organizations.value}
      keyOf={({ organization_id }) => organization_id}
    />
  );
}

function Create({ onEnter }: EnterProps) {
  const [name, setName] = useState('');
  const create = useAsyncAction(async () => {
    const created = await addOrganization(name.trim());
    await loadSession();
    selectOrganization(created.organization_id);
    onEnter(created.name);
  });
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        create.start();
      }}
    >
      <TextField
        label={texts.name}
        hint={texts.youBecomeTheOwnerThe}
        required
        maxLength={255}
        autoComplete="organization"
        placeholder="Acme"
        value={name}
        onChange={setName}
      />
      <ErrorMessage error={create.error} />
      <Button type="submit" tone="primary" busy={create.isBusy}>
        {texts.create}
      </Button>
    </form>
  );
}
