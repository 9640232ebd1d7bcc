import { useEffect, useState } from 'preact/hooks';
import type { UserListItem } from '../../../../src/schemas/users.ts';
import { Chip, Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Menu } from '../../components/menu.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SearchField } from '../../components/search-field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatCount } from '../../format/numbers.ts';
import {
  type AdminUserAction,
  adminApplyUserAction,
  adminFindUsers,
  type UserSearchResult,
} from '../../server/administration.ts';
import { texts } from '../../texts/en/administration.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { PasswordLinkDialog } from '../team/password-link-dialog.tsx';
import { roleName } from '../team/roles.tsx';
import { UserPasskeysDialog } from '../team/user-passkeys-dialog.tsx';
import type { SectionProps } from './administration.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

const shownMax = 200;

interface UserActionPrompt {
  readonly title: string;
  readonly action: string;
  readonly text: string;
  readonly done: string;
}

const userActionPrompts: Readonly<Record<AdminUserAction, UserActionPrompt>> = {
  'end-user-sessions': {
    title: texts.endAllSessions,
    action: texts.endSessions,
    text: texts.allSessionsOfTheUser,
    done: texts.sessionsEnded,
  },
  'disable-user': {
    title: texts.disableThisUser,
    action: texts.disable,
    text: texts.allSessionsEndImmediatelyAnd,
    done: texts.userDisabled,
  },
  'enable-user': {
    title: texts.enableThisUser,
    action: texts.enable,
    text: texts.theUserCanSignIn,
    done: texts.userEnabled,
  },
  'reset-second-factor': {
    title: texts.resetTwoFactorAuthentication,
    action: texts.reset,
    text: texts.theUserCanThenSign,
    done: texts.twoFactorAuthenticationWasReset,
  },
  'delete-user': {
    title: texts.deleteThisUser,
    action: texts.deleteUser,
    text: texts.theProfileSessionsAndMemberships,
    done: texts.userDeleted,
  },
};

/** List of all users. */
export function People({ onDenied }: SectionProps) {
  const [searchText, setSearchText] = useState('');
  const needle = searchText.trim();
  const list = useAdministratorLoad((signal) => adminFindUsers(needle, signal), [needle], onDenied);
  // Keep the previous results while a search runs.
  const [latest, setLatest] = useState<UserSearchResult | undefined>(undefined);
  useEffect(() => {
    if (list.data !== undefined) setLatest(list.data);
  }, [list.data]);
  const [confirmation, setConfirmation] = useState<RequestedAction | null>(null);
  const [linkUser, setLinkUser] = useState<UserListItem | null>(null);
  const [passkeyUser, setPasskeyUser] = useState<UserListItem | null>(null);
  if (list.error !== null) return <LoadError error={list.error} onRetry={list.reload} />;
  const found = list.data ?? latest;
  return (
    <Card>
      <div class="toolbar">
        <SearchField
          label={texts.searchUsers}
          hint={texts.emailAddressOrName}
          value={searchText}
          onInput={setSearchText}
        />
        <p class="toolbar-count">
          {found && needle === '' && found.isComplete && counted(texts.countUsers, found.users.length)}
        </p>
      </div>
      {found === undefined ? (
        <SkeletonRows rows={4} />
      ) : found.users.length === 0 ? (
        <p class="empty-note">{texts.noMatchingUsers}</p>
      ) : (
        <Table
          caption={texts.users}
          columns={columnsFor({
            onChoose: (user, change) => setConfirmation({ user, change }),
            onLink: setLinkUser,
            onPasskeys: setPasskeyUser,
          })}
          rows={found.users.slice(0, shownMax)}
          keyOf={({ user_id }) => user_id}
        />
      )}
      {found !== undefined && (found.users.length > shownMax || !found.isComplete) && (
        <p class="empty-note">{fill(texts.foundMoreUsersRefineThe, { found: hiddenCountLabel(found) })}</p>
      )}
      {linkUser !== null && <PasswordLinkDialog user={linkUser} onClose={() => setLinkUser(null)} />}
      {passkeyUser !== null && (
        <UserPasskeysDialog user={passkeyUser} onChange={list.reload} onClose={() => setPasskeyUser(null)} />
      )}
      {confirmation !== null && (
        <ActionDialog {...confirmation} onDone={list.reload} onClose={() => setConfirmation(null)} />
      )}
    </Card>
  );
}

interface RequestedAction {
  readonly user: UserListItem;
  readonly change: AdminUserAction;
}

interface ActionDialogProps extends RequestedAction {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks for confirmation and applies an action to a user. */
function ActionDialog({ user, change, onDone, onClose }: ActionDialogProps) {
  const { title, action, text, done } = userActionPrompts[change];
  return (
    <ConfirmDialog
      title={title}
      action={action}
      tone={change === 'enable-user' ? 'primary' : 'danger'}
      {...(change === 'delete-user' ? { requiredText: user.email } : {})}
      onConfirm={async () => {
        await adminApplyUserAction(user.user_id, change);
        showToast(done);
        onDone();
      }}
      onClose={onClose}
    >
      <p>
        <strong>{user.email}</strong>
      </p>
      <p>{text}</p>
    </ConfirmDialog>
  );
}

/** Number of users that are not shown, as text. */
function hiddenCountLabel({ users, isComplete }: UserSearchResult): string {
  const hidden = Math.max(0, users.length - shownMax);
  return isComplete ? formatCount(hidden) : fill(texts.moreThanHidden, { hidden: formatCount(hidden) });
}

function UserState({ user: { disabled_at, second_factor, passkeys } }: { readonly user: UserListItem }) {
  return (
    <span class="chips">
      {disabled_at === null ? (
        <Chip tone="good">{texts.active}</Chip>
      ) : (
        <Chip tone="bad">{texts.disabled}</Chip>
      )}
      {second_factor && <Tag>{texts.twoFactor}</Tag>}
      {passkeys > 0 && <Tag>{counted(texts.countPasskeys, passkeys)}</Tag>}
    </span>
  );
}

interface UserChoices {
  readonly onChoose: (user: UserListItem, change: AdminUserAction) => void;
  readonly onLink: (user: UserListItem) => void;
  readonly onPasskeys: (user: UserListItem) => void;
}

function columnsFor({ onChoose, onLink, onPasskeys }: UserChoices): TableColumn<UserListItem>[] {
  return [
    {
      title: texts.user,
      cell: ({ email, name }) => (
        <span class="user-cell">
          <strong>{name ?? email}</strong>
          {name !== null && <span class="hint">{email}</span>}
        </span>
      ),
    },
    {
      title: texts.organizations,
      cell: ({ organizations }) =>
        organizations.length === 0
          ? '–'
          : organizations.map((each) => `${each.name} (${roleName(each.permission)})`).join(', '),
    },
    {
      title: texts.status,
      cell: (user) => <UserState user={user} />,
    },
    { title: texts.sessions, isNumber: true, cell: ({ sessions }) => formatCount(sessions) },
    { title: texts.lastSignIn, cell: ({ last_login_at }) => <RelativeTime at={last_login_at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: (user) => (
        <Menu
          class="button-menu at-end"
          label={texts.manage}
          name={fill(texts.manageEmail, { email: user.email })}
        >
          <ul>
            <li>
              <button type="button" onClick={() => onLink(user)}>
                {texts.passwordLink}
              </button>
            </li>
            {user.passkeys > 0 && (
              <li>
                <button type="button" onClick={() => onPasskeys(user)}>
                  {texts.passkeys}
                </button>
              </li>
            )}
            {availableActions(user).map((change) => (
              <li key={change} class={change === 'delete-user' ? 'apart' : undefined}>
                <button
                  type="button"
                  class={change === 'delete-user' ? 'danger' : undefined}
                  onClick={() => onChoose(user, change)}
                >
                  {userActionPrompts[change].action}
                </button>
              </li>
            ))}
          </ul>
        </Menu>
      ),
    },
  ];
}

/** Actions that are available for a user now. */
function availableActions({ sessions, disabled_at, second_factor }: UserListItem): AdminUserAction[] {
  return [
    ...(sessions > 0 ? (['end-user-sessions'] as const) : []),
    disabled_at === null ? 'disable-user' : 'enable-user',
    ...(second_factor ? (['reset-second-factor'] as const) : []),
    'delete-user',
  ];
}
