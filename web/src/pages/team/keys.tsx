import { useState } from 'preact/hooks';
import { Blank } from '../../parts/blank.tsx';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded } from '../../parts/trouble.tsx';
import { When } from '../../parts/when.tsx';
import { useLoad } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { deleteKey, getOrganization, type Key, type Member } from '../../server/team.ts';
import { counted } from '../../words/numbers.ts';
import { KeyForm } from './key-form.tsx';
import { NewKey } from './new-key.tsx';
import { mayAs } from './roles.tsx';

type Asked =
  | { readonly what: 'create' }
  | { readonly what: 'show'; readonly secret: string; readonly name: string }
  | { readonly what: 'change'; readonly key: Key }
  | { readonly what: 'revoke'; readonly key: Key };

/** The keys with which programs call the API. */
export function KeysPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const [asked, setAsked] = useState<Asked | null>(null);
  const manages = mayAs('ADMIN');
  const keys = info.data?.api_keys;
  const create = (
    <Button tone="primary" onClick={() => setAsked({ what: 'create' })}>
      Create key
    </Button>
  );
  return (
    <Page
      title="API keys"
      lead="Programs send a key with every call. A key is shown once, when it is created."
      actions={manages && create}
    >
      {keys === undefined ? (
        info.error === null ? (
          <Card>
            <SkeletonRows />
          </Card>
        ) : (
          <NotLoaded error={info.error} onRetry={info.reload} />
        )
      ) : keys.length === 0 ? (
        <Blank title="No keys yet" actions={manages && create}>
          {manages
            ? 'Create one for each program that calls the API, so that each can be revoked alone.'
            : 'An owner or an admin of this organisation can create one.'}
        </Blank>
      ) : (
        <Card>
          <Keys keys={keys} members={info.data?.users ?? []} onAsk={setAsked} />
        </Card>
      )}
      {asked !== null && (
        <Asking asked={asked} onAsk={setAsked} onClose={() => setAsked(null)} onChanged={info.reload} />
      )}
    </Page>
  );
}

interface KeysProps {
  readonly keys: readonly Key[];
  readonly members: readonly Member[];
  readonly onAsk: (asked: Asked) => void;
}

function Keys({ keys, members, onAsk }: KeysProps) {
  const names = new Map(members.map(({ user_id, name, email }) => [user_id, name ?? email]));
  const columns = columnsFor(names);
  return (
    <Table
      caption="API keys"
      columns={mayAs('ADMIN') ? [...columns, actionsColumn(onAsk)] : columns}
      rows={keys}
      keyOf={({ id }) => id}
    />
  );
}

/** `names`: of members, by their ids. */
function columnsFor(names: ReadonlyMap<string, string>): Column<Key>[] {
  return [
    {
      title: 'Name',
      cell: (key) => (
        <span class="person">
          <strong>{key.name}</strong>
          <code class="hint">{key.api_key}</code>
        </span>
      ),
    },
    { title: 'May', cell: (key) => <Rights of={key} /> },
    {
      title: 'Last used',
      cell: ({ last_used_at: at }) => (at === null ? <span class="hint">Never</span> : <When at={at} />),
    },
    {
      title: 'Created',
      cell: ({ created_at: at, created_by: by }) => (
        <span class="person">
          <When at={at} />
          {names.has(by ?? '') && <span class="hint by">by {names.get(by ?? '')}</span>}
        </span>
      ),
    },
    {
      title: 'Ends',
      cell: ({ expires_at: at }) => (at === null ? <span class="hint">Never</span> : <When at={at} />),
    },
  ];
}

function Rights({ of }: { readonly of: Key }) {
  const isAll = of.permission === 'all';
  return (
    <span class="chips">
      <Chip tone={isAll ? 'neutral' : 'info'}>{isAll ? 'Read and write' : 'Read only'}</Chip>
      {restrictionWords(of).map((words) => (
        <Chip key={words}>{words}</Chip>
      ))}
    </span>
  );
}

function actionsColumn(onAsk: KeysProps['onAsk']): Column<Key> {
  return {
    title: 'Actions',
    isActions: true,
    cell: (key) => (
      <span class="row end">
        <Button tone="ghost" aria-label={`Change ${key.name}`} onClick={() => onAsk({ what: 'change', key })}>
          Change
        </Button>
        <Button tone="ghost" aria-label={`Revoke ${key.name}`} onClick={() => onAsk({ what: 'revoke', key })}>
          Revoke
        </Button>
      </span>
    ),
  };
}

const shownCharacters = 32;

/** A name that is too long for a chip; it stands whole where the key is changed. */
function shortened(name: string): string {
  const characters = [...name];
  return characters.length > shownCharacters ? `${characters.slice(0, shownCharacters).join('')}…` : name;
}

function restrictionWords({ restriction }: Key): string[] {
  if (restriction === null) return [];
  const { collection_names: names, filter } = restriction;
  const [only] = names ?? [];
  return [
    ...(names === null || only === undefined
      ? []
      : [names.length === 1 ? `Only ${shortened(only)}` : `Only ${counted(names.length, 'collection')}`]),
    ...(filter === null ? [] : ['Filtered']),
  ];
}

interface AskingProps {
  readonly asked: Asked;
  readonly onAsk: (asked: Asked) => void;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Asking({ asked, onAsk, onClose, onChanged }: AskingProps) {
  switch (asked.what) {
    case 'create':
      return (
        <KeyForm
          before={null}
          onClose={onClose}
          onDone={(made) => {
            onChanged();
            if (made !== null) onAsk({ what: 'show', secret: made.api_key, name: made.name });
          }}
        />
      );
    case 'change':
      return (
        <KeyForm
          before={asked.key}
          onClose={onClose}
          onDone={() => {
            onChanged();
            toast(`${asked.key.name} was changed.`);
            onClose();
          }}
        />
      );
    case 'show':
      return <NewKey secret={asked.secret} name={asked.name} onClose={onClose} />;
    case 'revoke':
      return (
        <Confirm
          title={`Revoke ${asked.key.name}?`}
          action="Revoke key"
          onClose={onClose}
          onConfirm={async () => {
            await deleteKey(asked.key.id);
            toast(`${asked.key.name} was revoked.`);
            onChanged();
          }}
        >
          <p>
            Whatever still sends <code>{asked.key.api_key}</code> is refused from the next call on. This
            cannot be undone.
          </p>
        </Confirm>
      );
  }
}
