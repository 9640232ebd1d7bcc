import { useState } from 'preact/hooks';
import type { SessionInfo } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Field } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded, Trouble } from '../../parts/trouble.tsx';
import { When } from '../../parts/when.tsx';
import { sentenceOf } from '../../server/call.ts';
import { useDoing } from '../../server/doing.ts';
import { useLoad } from '../../server/load.ts';
import { ownSecondFactor } from '../../server/second-factor.ts';
import { leave, loadSession, session } from '../../server/session.ts';
import { editUser, endSession, listSessions } from '../../server/team.ts';
import { DeleteAccount } from './delete-account.tsx';
import { programWords } from './program-words.ts';
import { SecondFactorCard } from './second-factor-card.tsx';

/** Oneself: name, and where one is signed in. */
export function SettingsPage() {
  if (session.value.state !== 'in') return null;
  const { email } = session.value.who.user;
  return (
    <Page title="Your settings" lead={email}>
      <Card title="Profile">
        <Profile />
      </Card>
      <SecondFactorCard calls={ownSecondFactor} />
      <DeleteAccount email={email} />
      <Sessions />
    </Page>
  );
}

function Profile() {
  const user = session.value.state === 'in' ? session.value.who.user : null;
  const [name, setName] = useState(user?.name ?? '');
  const [company, setCompany] = useState(user?.company ?? '');
  const isChanged = (text: string, before: string | null | undefined) => text.trim() !== (before ?? '');
  // An empty text clears what was there.
  const changes = {
    ...(isChanged(name, user?.name) ? { name: name.trim() } : {}),
    ...(isChanged(company, user?.company) ? { company: company.trim() } : {}),
  };
  const save = useDoing(async () => {
    await editUser(changes);
    await loadSession();
    toast('Your profile is saved.');
  });
  return (
    <form
      class="stack narrow"
      onSubmit={(event) => {
        event.preventDefault();
        save.start();
      }}
    >
      <Field label="Name" hint="What others in your organisations see.">
        {(control) => (
          <input
            {...control}
            type="text"
            autoComplete="name"
            maxLength={255}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Company">
        {(control) => (
          <input
            {...control}
            type="text"
            autoComplete="organization"
            maxLength={255}
            value={company}
            onInput={(event) => setCompany(event.currentTarget.value)}
          />
        )}
      </Field>
      <Trouble error={save.error} />
      <div class="row">
        <Button type="submit" tone="primary" busy={save.isBusy} disabled={Object.keys(changes).length === 0}>
          Save
        </Button>
      </div>
    </form>
  );
}

function Sessions() {
  const list = useLoad(listSessions, []);
  const [isAsked, setAsked] = useState(false);
  const end = async ({ id, is_current }: SessionInfo) => {
    try {
      await endSession(id);
      if (is_current) return leave();
      toast('Signed out there.');
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    list.reload();
  };
  return (
    <Card
      title="Where you are signed in"
      actions={<Button onClick={() => setAsked(true)}>Sign out everywhere</Button>}
    >
      {list.data !== undefined ? (
        <Table
          caption="Sessions"
          columns={sessionColumns(end)}
          rows={list.data.sessions}
          keyOf={({ id }) => id}
        />
      ) : list.error === null ? (
        <SkeletonRows rows={3} />
      ) : (
        <NotLoaded error={list.error} onRetry={list.reload} />
      )}
      {isAsked && (
        <Confirm
          title="Sign out everywhere?"
          action="Sign out everywhere"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await endSession(null);
            leave();
          }}
        >
          <p>Every session of yours ends at once, this one too. API keys go on working.</p>
        </Confirm>
      )}
    </Card>
  );
}

function sessionColumns(onEnd: (session: SessionInfo) => unknown): Column<SessionInfo>[] {
  return [
    {
      title: 'Where',
      cell: ({ user_agent, address, is_current }) => (
        <span class="person">
          <span>
            <strong>{programWords(user_agent)}</strong> {is_current && <Chip tone="good">This one</Chip>}
          </span>
          <span class="hint">{address}</span>
        </span>
      ),
    },
    { title: 'Last used', cell: ({ last_seen_at }) => <When at={last_seen_at} /> },
    { title: 'Signed in', cell: ({ created_at }) => <When at={created_at} /> },
    { title: 'Ends', cell: ({ expires_at }) => <When at={expires_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (row) => (
        <Button
          tone="ghost"
          aria-label={`Sign out of ${programWords(row.user_agent)}, ${row.address}`}
          onClick={() => onEnd(row)}
        >
          Sign out
        </Button>
      ),
    },
  ];
}
