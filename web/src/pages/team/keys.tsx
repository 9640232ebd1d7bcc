import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SecretDialog } from '../../components/secret-dialog.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useLoad } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { deleteKey, getOrganization, type TeamApiKey, type TeamMember } from '../../server/team.ts';
import { texts } from '../../texts/en/keys.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
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
      {texts.createKey}
    </Button>
  );
  return (
    <Page
      title={texts.apiKeys}
      subtitle={texts.apiRequestsAreAuthenticatedWith}
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
        <EmptyState title={texts.noKeysYet} actions={canManage && create}>
          {canManage ? texts.createOneKeyForEach : texts.ownersAndAdminsOfThis}
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
      caption={texts.apiKeys}
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
      title: texts.name,
      cell: (key) => (
        <span class="user-cell">
          <strong>{key.name}</strong>
          <code class="hint">{key.api_key}</code>
        </span>
      ),
    },
    { title: texts.permission, cell: (key) => <KeyPermissions apiKey={key} /> },
    {
      title: texts.lastUsed,
      cell: ({ last_used_at: at }) =>
        at === null ? <span class="hint">{texts.never}</span> : <RelativeTime at={at} />,
    },
    {
      title: texts.created,
      cell: ({ created_at: at, created_by: by }) => (
        <span class="user-cell">
          <RelativeTime at={at} />
          {names.has(by ?? '') && (
            <span class="hint by">{fill(texts.byBy, { by: names.get(by ?? '') ?? '' })}</span>
          )}
        </span>
      ),
    },
    {
      title: texts.expires,
      cell: ({ expires_at: at }) =>
        at === null ? <span class="hint">{texts.never}</span> : <RelativeTime at={at} />,
    },
  ];
}

function KeyPermissions({ apiKey }: { readonly apiKey: TeamApiKey }) {
  const isAll = apiKey.permission === 'all';
  return (
    <span class="chips">
      <Tag tone={isAll ? 'neutral' : 'info'}>{isAll ? texts.readAndWrite : texts.readOnly}</Tag>
      {restrictionLabels(apiKey).map((label) => (
        <Tag key={label}>{label}</Tag>
      ))}
    </span>
  );
}

function actionsColumn(onOpenDialog: KeysProps['onOpenDialog']): TableColumn<TeamApiKey> {
  return {
    title: texts.actions,
    isActions: true,
    cell: (key) => (
      <span class="row end">
        <Button
          tone="ghost"
          aria-label={fill(texts.editName, { name: key.name })}
          onClick={() => onOpenDialog({ kind: 'change', key })}
        >
          {texts.edit}
        </Button>
        <Button
          tone="ghost"
          class="destructive"
          aria-label={fill(texts.revokeName, { name: key.name })}
          onClick={() => onOpenDialog({ kind: 'revoke', key })}
        >
          {texts.revoke}
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
  const pages = origins.length === 0 ? [] : [texts.webPages];
  if (restriction === null) return pages;
  const { collection_names: names, filter } = restriction;
  const [only] = names ?? [];
  return [
    ...(names === null || only === undefined
      ? []
      : [
          names.length === 1
            ? fill(texts.onlyOnly, { only: shorten(only) })
            : counted(texts.onlyCountCollections, names.length),
        ]),
    ...(filter === null ? [] : [texts.filtered]),
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
            showToast(fill(texts.nameWasUpdated, { name: dialog.key.name }));
            onClose();
          }}
        />
      );
    case 'show':
      return (
        <SecretDialog kind="key" secret={dialog.secret} onClose={onClose}>
          {rich(texts.copyTheKeyNameNow, { name: <strong>{dialog.name}</strong> })}
        </SecretDialog>
      );
    case 'revoke':
      return (
        <ConfirmDialog
          title={fill(texts.revokeName2, { name: dialog.key.name })}
          action={texts.revokeKey}
          onClose={onClose}
          onConfirm={async () => {
            await deleteKey(dialog.key.id);
            showToast(fill(texts.nameWasRevoked, { name: dialog.key.name }));
            onChanged();
          }}
        >
          <p>{rich(texts.requestsThatUseApiKeyAre, { apiKey: <code>{dialog.key.api_key}</code> })}</p>
        </ConfirmDialog>
      );
  }
}
