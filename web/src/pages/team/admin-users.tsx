import { useEffect, useState } from 'preact/hooks';
import type { ListedUser } from '../../../../src/schemas/users.ts';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Card } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded } from '../../parts/trouble.tsx';
import { When } from '../../parts/when.tsx';
import { changeAnyUser, type FoundUsers, findUsers, type UserChange } from '../../server/administration.ts';
import { useLoad } from '../../server/load.ts';
import { count, counted } from '../../words/numbers.ts';

const shownMax = 200;

interface Question {
  readonly title: string;
  readonly action: string;
  readonly words: string;
  readonly done: string;
}

const questions: Readonly<Record<UserChange, Question>> = {
  'end-user-sessions': {
    title: 'End all sessions?',
    action: 'End sessions',
    words: 'The user is signed out everywhere at once, and may sign in again.',
    done: 'The sessions ended.',
  },
  'disable-user': {
    title: 'Disable this user?',
    action: 'Disable',
    words: 'All sessions end at once, and every sign-in is refused. API keys of their organizations stay.',
    done: 'The user is disabled.',
  },
  'enable-user': {
    title: 'Enable this user?',
    action: 'Enable',
    words: 'The user may sign in again.',
    done: 'The user is enabled.',
  },
  'reset-second-factor': {
    title: 'Reset the second factor?',
    action: 'Reset',
    words: 'The user signs in without a code from then on. Make sure that it is the user who asks.',
    done: 'The second factor is off.',
  },
  'delete-user': {
    title: 'Delete this user?',
    action: 'Delete user',
    words: 'Profile, sessions and memberships are deleted for good. API keys that the user created stay.',
    done: 'The user is deleted.',
  },
};

/** The people of the installation, for its administrator. */
export function AdminUsers() {
  const [words, setWords] = useState('');
  const wanted = words.trim();
  const list = useLoad((signal) => findUsers(wanted, signal), [wanted]);
  // While the server searches, what was found before stays.
  const [latest, setLatest] = useState<FoundUsers | undefined>(undefined);
  useEffect(() => {
    if (list.data !== undefined) setLatest(list.data);
  }, [list.data]);
  const [asked, setAsked] = useState<{ readonly user: ListedUser; readonly change: UserChange } | null>(null);
  if (list.error !== null) return <NotLoaded error={list.error} onRetry={list.reload} />;
  const found = list.data ?? latest;
  const change = async () => {
    if (asked === null) return;
    await changeAnyUser(asked.user.user_id, asked.change);
    toast(questions[asked.change].done);
    list.reload();
  };
  return (
    <Card title="Users">
      <SearchField label="Find a user" hint="By address or name" value={words} onInput={setWords} />
      {found === undefined ? (
        <SkeletonRows rows={4} />
      ) : found.users.length === 0 ? (
        <p class="quiet">No user matches.</p>
      ) : (
        <Table
          caption="Users"
          columns={columnsFor((user, change) => setAsked({ user, change }))}
          rows={found.users.slice(0, shownMax)}
          keyOf={({ user_id }) => user_id}
        />
      )}
      {found !== undefined && (found.users.length > shownMax || !found.areAll) && (
        <p class="quiet">{`${moreThan(found)} more: type a longer part of the address.`}</p>
      )}
      {asked !== null && (
        <Confirm
          title={questions[asked.change].title}
          action={questions[asked.change].action}
          tone={asked.change === 'enable-user' ? 'primary' : 'danger'}
          {...(asked.change === 'delete-user' ? { typed: asked.user.email } : {})}
          onConfirm={change}
          onClose={() => setAsked(null)}
        >
          <p>
            <strong>{asked.user.email}</strong>
          </p>
          <p>{questions[asked.change].words}</p>
        </Confirm>
      )}
    </Card>
  );
}

/** How many users are not shown. */
function moreThan({ users, areAll }: FoundUsers): string {
  const hidden = Math.max(0, users.length - shownMax);
  return areAll ? count(hidden) : `More than ${count(hidden)}`;
}

function columnsFor(onAsk: (user: ListedUser, change: UserChange) => void): Column<ListedUser>[] {
  return [
    {
      title: 'User',
      cell: ({ email, name, organizations }) => (
        <span class="person">
          <strong>{email}</strong>
          <span class="hint">
            {[name, ...organizations.map((each) => `${each.name} (${each.permission})`)]
              .filter((each) => each !== null)
              .join(', ')}
          </span>
        </span>
      ),
    },
    {
      title: 'State',
      cell: ({ disabled_at, second_factor, sessions }) => (
        <span class="chips">
          {disabled_at !== null && <Chip tone="bad">Disabled</Chip>}
          {second_factor && <Chip tone="good">Second factor</Chip>}
          <Chip>{counted(sessions, 'session')}</Chip>
        </span>
      ),
    },
    { title: 'Last sign-in', cell: ({ last_login_at }) => <When at={last_login_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (user) => (
        <span class="chips">
          {changesOf(user).map((change) => (
            <Button
              key={change}
              tone="ghost"
              aria-label={`${questions[change].action}: ${user.email}`}
              onClick={() => onAsk(user, change)}
            >
              {questions[change].action}
            </Button>
          ))}
        </span>
      ),
    },
  ];
}

/** What can be done with a user now. */
function changesOf({ sessions, disabled_at, second_factor }: ListedUser): UserChange[] {
  return [
    ...(sessions > 0 ? (['end-user-sessions'] as const) : []),
    disabled_at === null ? 'disable-user' : 'enable-user',
    ...(second_factor ? (['reset-second-factor'] as const) : []),
    'delete-user',
  ];
}
