import { useState } from 'preact/hooks';
import type { SessionInfo } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../components/button.tsx';
import { Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { errorMessage } from '../../server/api-call.ts';
import { useLoad } from '../../server/load.ts';
import { ownSecondFactor } from '../../server/second-factor.ts';
import { endSession, loadSession, session } from '../../server/session.ts';
import { editUser, listSessions, revokeSession } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/settings.ts';
import { fill } from '../../texts/format-text.ts';
import { DeleteAccount } from './delete-account.tsx';
import { PasskeyCard } from './passkey-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';
import { userAgentName } from './user-agent-name.ts';

/** User of the operator, who signs in with a link only. */
const operatorEmail = 'operator@localhost';

/** Page of the user's own account: profile, ways to sign in, and sessions. */
export function SettingsPage() {
  if (session.value.state !== 'in') return null;
  const { has_password: hasPassword, passkeys, user } = session.value.account;
  const { email } = user;
  return (
    <Page title={texts.yourSettings} subtitle={email}>
      <Card title={texts.profile}>
        <Profile />
      </Card>
      {email !== operatorEmail && <PasswordCard hasPassword={hasPassword} />}
      <SecondFactorCard calls={ownSecondFactor} />
      <PasskeyCard knownCount={passkeys} />
      <DeleteAccount email={email} />
      <Sessions />
    </Page>
  );
}

function Profile() {
  const user = session.value.state === 'in' ? session.value.account.user : null;
  const [name, setName] = useState(user?.name ?? '');
  const [company, setCompany] = useState(user?.company ?? '');
  const isChanged = (text: string, before: string | null | undefined) => text.trim() !== (before ?? '');
  // An empty text clears the stored value.
  const changes = {
    ...(isChanged(name, user?.name) ? { name: name.trim() } : {}),
    ...(isChanged(company, user?.company) ? { company: company.trim() } : {}),
  };
  const save = useAsyncAction(async () => {
    await editUser(changes);
    await loadSession();
    showToast(texts.profileSaved);
  });
  return (
    <form
      class="stack narrow"
      onSubmit={(event) => {
        event.preventDefault();
        save.start();
      }}
    >
      <TextField
        label={texts.name}
        hint={texts.visibleToMembersOfYour}
        autoComplete="name"
        maxLength={255}
        value={name}
        onChange={setName}
      />
      <TextField
        label={texts.company}
        autoComplete="organization"
        maxLength={255}
        value={company}
        onChange={setCompany}
      />
      <ErrorMessage error={save.error} />
      <div class="row">
        <Button type="submit" tone="primary" busy={save.isBusy} disabled={Object.keys(changes).length === 0}>
          {texts.save}
        </Button>
      </div>
    </form>
  );
}

function Sessions() {
  const list = useLoad(listSessions, []);
  const [isConfirming, setConfirming] = useState(false);
  const end = async ({ id, is_current }: SessionInfo) => {
    try {
      await revokeSession(id);
      if (is_current) return endSession();
      showToast(texts.sessionEnded);
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    list.reload();
  };
  return (
    <Card
      title={texts.activeSessions}
      actions={<Button onClick={() => setConfirming(true)}>{texts.signOutEverywhere}</Button>}
    >
      {list.data !== undefined ? (
        <Table
          caption={texts.sessions}
          columns={sessionColumns(end)}
          rows={list.data.sessions}
          keyOf={({ id }) => id}
        />
      ) : list.error === null ? (
        <SkeletonRows rows={3} />
      ) : (
        <LoadError error={list.error} onRetry={list.reload} />
      )}
      {isConfirming && (
        <ConfirmDialog
          title={texts.signOutEverywhere2}
          action={texts.signOutEverywhere}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await revokeSession(null);
            endSession();
          }}
        >
          <p>{texts.allYourSessionsEndImmediately}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function sessionColumns(onEnd: (session: SessionInfo) => unknown): TableColumn<SessionInfo>[] {
  return [
    {
      title: texts.device,
      cell: ({ user_agent, address, is_current }) => (
        <span class="user-cell">
          <span>
            <strong>{userAgentName(user_agent)}</strong>{' '}
            {is_current && <Tag tone="good">{texts.thisSession}</Tag>}
          </span>
          <span class="hint">{address}</span>
        </span>
      ),
    },
    { title: texts.lastUsed, cell: ({ last_seen_at }) => <RelativeTime at={last_seen_at} /> },
    { title: texts.signedIn, cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    { title: texts.expires, cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: (row) => (
        <Button
          tone="ghost"
          aria-label={fill(texts.signOutOfUserAgentAddress, {
            userAgent: userAgentName(row.user_agent),
            address: row.address,
          })}
          onClick={() => onEnd(row)}
        >
          {texts.signOut}
        </Button>
      ),
    },
  ];
}
