import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SecretDialog } from '../../components/secret-dialog.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatCounted } from '../../format/numbers.ts';
import { useLoad } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { deleteKey, getOrganization, type TeamApiKey, type TeamMember } from '../../server/team.ts';
import { KeyForm } from './key-form.tsx';
import { hasRole } from './roles.tsx';

type KeyDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'show'; readonly secret: string; readonly name: string }
  | { readonly kind: 'change'; readonly key: TeamApiKey }
  | { readonly kind: 'revoke'; readonly key: TeamApiKey };

/** Page of the organization's API keys. */
export function KeysPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const [dialog, setDialog] = useState<KeyDialog | null>(null);
  const canManage = hasRole('ADMIN');
  const keys = info.data?.api_keys;
  const create = (
    <Button tone="primary" onClick={() => setDialog({ kind: 'create' })}>
      Create key
    </Button>
  );
  return (
    <Page
      title="API keys"
      subtitle="API requests are authenticated with a key. A key is shown only once, when it is created."
      actions={canManage && create}
    >
      {keys === undefined ? (
        info.error === null ? (
          <Card>
            <SkeletonRows />
          </Card>
        ) : (
          <LoadError error={info.error} onRetry={info.reload} />
        )
      ) : keys.length === 0 ? (
        <EmptyState title="No keys yet" actions={canManage && create}>
          {canManage
            ? 'Create one key for each API client, so that you can revoke each key separately.'
            : 'Owners and admins of this organization can create keys.'}
        </EmptyState>
      ) : (
        <Card>
          <Keys keys={keys} members={info.data?.users ?? []} onOpenDialog={setDialog} />
        </Card>
      )}
      {dialog !== null && (
        <ActiveKeyDialog
          dialog={dialog}
          onOpenDialog={setDialog}
          onClose={() => setDialog(null)}
          onChanged={info.reload}
        />
      )}
    </Page>
  );
}

interface KeysProps {
  readonly keys: readonly TeamApiKey[];
  readonly members: readonly TeamMember[];
  readonly onOpenDialog: (dialog: KeyDialog) => void;
}

function Keys({ keys, members, onOpenDialog }: KeysProps) {
  const names = new Map(members.map(({ user_id, name, email }) => [user_id, name ?? email]));
  const columns = columnsFor(names);
  return (
    <Table
      caption="API keys"
      columns={hasRole('ADMIN') ? [...columns, actionsColumn(onOpenDialog)] : columns}
      rows={keys}
      keyOf={({ id }) => id}
    />
  );
}

/** `names`: names of members by user id. */
function columnsFor(names: ReadonlyMap<string, string>): TableColumn<TeamApiKey>[] {
  return [
    {
      title: 'Name',
      cell: (key) => (
        <span class="user-cell">
          <strong>{key.name}</strong>
          <code class="hint">{key.api_key}</code>
        </span>
      ),
    },
    { title: 'Permission', cell: (key) => <KeyPermissions apiKey={key} /> },
    {
      title: 'Last used',
      cell: ({ last_used_at: at }) =>
        at === null ? <span class="hint">Never</span> : <RelativeTime at={at} />,
    },
    {
      title: 'Created',
      cell: ({ created_at: at, created_by: by }) => (
        <span class="user-cell">
          <RelativeTime at={at} />
          {names.has(by ?? '') && <span class="hint by">by {names.get(by ?? '')}</span>}
        </span>
      ),
    },
    {
      title: 'Expires',
      cell: ({ expires_at: at }) =>
        at === null ? <span class="hint">Never</span> : <RelativeTime at={at} />,
    },
  ];
}

function KeyPermissions({ apiKey }: { readonly apiKey: TeamApiKey }) {
  const isAll = apiKey.permission === 'all';
  return (
    <span class="chips">
      <Chip tone={isAll ? 'neutral' : 'info'}>{isAll ? 'Read and write' : 'Read only'}</Chip>
      {restrictionLabels(apiKey).map((label) => (
        <Chip key={label}>{label}</Chip>
      ))}
    </span>
  );
}

function actionsColumn(onOpenDialog: KeysProps['onOpenDialog']): TableColumn<TeamApiKey> {
  return {
    title: 'Actions',
    isActions: true,
    cell: (key) => (
      <span class="row end">
        <Button
          tone="ghost"
          aria-label={`Edit ${key.name}`}
          onClick={() => onOpenDialog({ kind: 'change', key })}
        >
          {' '}
          Edit{' '}
        </Button>
        <Button
          tone="ghost"
          aria-label={`Revoke ${key.name}`}
          onClick={() => onOpenDialog({ kind: 'revoke', key })}
        >
          Revoke
        </Button>
      </span>
    ),
  };
}

const charactersMax = 32;

/** Shortens a name that is too long for a chip. The edit form shows the full name. */
function shorten(name: string): string {
  const characters = [...name];
  return characters.length > charactersMax ? `${characters.slice(0, charactersMax).join('')}…` : name;
}

function restrictionLabels({ restriction, allowed_origins: origins }: TeamApiKey): string[] {
  const pages = origins.length === 0 ? [] : ['Web pages'];
  if (restriction === null) return pages;
  const { collection_names: names, filter } = restriction;
  const [only] = names ?? [];
  return [
    ...(names === null || only === undefined
      ? []
      : [names.length === 1 ? `Only ${shorten(only)}` : `Only ${formatCounted(names.length, 'collection')}`]),
    ...(filter === null ? [] : ['Filtered']),
    ...pages,
  ];
}

interface ActiveKeyDialogProps {
  readonly dialog: KeyDialog;
  readonly onOpenDialog: (dialog: KeyDialog) => void;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function ActiveKeyDialog({ dialog, onOpenDialog, onClose, onChanged }: ActiveKeyDialogProps) {
  switch (dialog.kind) {
    case 'create':
      return (
        <KeyForm
          before={null}
          onClose={onClose}
          onDone={(created) => {
            onChanged();
            if (created !== null) onOpenDialog({ kind: 'show', secret: created.api_key, name: created.name });
          }}
        />
      );
    case 'change':
      return (
        <KeyForm
          before={dialog.key}
          onClose={onClose}
          onDone={() => {
            onChanged();
            showToast(`${dialog.key.name} was updated.`);
            onClose();
          }}
        />
      );
    case 'show':
      return (
        <SecretDialog kind="key" secret={dialog.secret} onClose={onClose}>
          Copy the key <strong>{dialog.name}</strong> now. The server stores only a hash and cannot show the
          key again.
        </SecretDialog>
      );
    case 'revoke':
      return (
        <ConfirmDialog
          title={`Revoke ${dialog.key.name}?`}
          action="Revoke key"
          onClose={onClose}
          onConfirm={async () => {
            await deleteKey(dialog.key.id);
            showToast(`${dialog.key.name} was revoked.`);
            onChanged();
          }}
        >
          <p>
            Requests that use <code>{dialog.key.api_key}</code> are rejected from now on. This cannot be
            undone.
          </p>
        </ConfirmDialog>
      );
  }
}
