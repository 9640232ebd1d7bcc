import { useState } from 'preact/hooks';
import type { PasskeyInfo } from '../../../../src/schemas/passkeys.ts';
import { hasPasskeys } from '../../browser/passkeys.ts';
import { Button } from '../../components/button.tsx';
import { Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useLoad } from '../../server/load.ts';
import { addPasskey, deletePasskey, listPasskeys, renamePasskey } from '../../server/passkeys.ts';
import { loadSession, signOut } from '../../server/session.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/settings.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';

const nameUnitsMax = 255;

type OpenDialog =
  | { readonly kind: 'add' }
  | { readonly kind: 'sign in' }
  | { readonly kind: 'rename' | 'delete'; readonly passkey: PasskeyInfo };

const purpose = texts.signInWithYourFingerprint;
const requirement = texts.passkeysNeedABrowserThat;

/** Browsers support passkeys at host names only. */
const isHostName = !/^[\d.]+$|^\[/.test(window.location.hostname);

interface PasskeyCardProps {
  /** Number of passkeys when the session was loaded. Their space is reserved, to avoid layout shift. */
  readonly knownCount: number;
}

/** Card to add, rename and delete passkeys. */
export function PasskeyCard({ knownCount }: PasskeyCardProps) {
  const list = useLoad(listPasskeys, []);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const { data } = list;
  const canAdd = (data?.is_available ?? isHostName) && hasPasskeys;
  const passkeys = data?.passkeys ?? placeholders(knownCount);
  const refresh = async () => {
    list.reload();
    await loadSession();
  };
  return (
    <Card
      title={texts.passkeys}
      actions={
        <Button
          disabled={data === undefined || !canAdd}
          onClick={() => setDialog({ kind: data?.needs_sign_in === true ? 'sign in' : 'add' })}
        >
          {texts.addPasskey}
        </Button>
      }
    >
      <p>{canAdd ? purpose : requirement}</p>
      {list.error !== null && <LoadError error={list.error} onRetry={list.reload} />}
      {list.error === null && passkeys.length > 0 && (
        <div style={{ visibility: data === undefined ? 'hidden' : 'visible' }}>
          <Table
            caption={texts.passkeys}
            columns={passkeyColumns(setDialog)}
            rows={passkeys}
            keyOf={({ id }) => id}
          />
        </div>
      )}
      {dialog !== null && <PasskeyDialog dialog={dialog} onClose={() => setDialog(null)} onDone={refresh} />}
    </Card>
  );
}

function placeholders(count: number): PasskeyInfo[] {
  const time = new Date(0).toISOString();
  return Array.from({ length: count }, (_, i) => ({
    id: String(i),
    name: '\u00a0',
    host: window.location.hostname,
    is_synced: false,
    created_at: time,
    last_used_at: time,
  }));
}

function PasskeyDialog({ dialog, ...props }: DialogProps & { readonly dialog: OpenDialog }) {
  switch (dialog.kind) {
    case 'add':
      return <AddDialog {...props} />;
    case 'sign in':
      return <SignInAgainDialog onClose={props.onClose} />;
    case 'rename':
      return <RenameDialog passkey={dialog.passkey} {...props} />;
    case 'delete':
      return <DeleteDialog passkey={dialog.passkey} {...props} />;
  }
}

function passkeyColumns(onOpen: (dialog: OpenDialog) => void): TableColumn<PasskeyInfo>[] {
  return [
    {
      title: texts.name,
      cell: ({ name, host, is_synced }) => (
        <span class="user-cell">
          <span>
            <strong>{name}</strong> {is_synced && <Tag>{texts.synced}</Tag>}
          </span>
          <span class="hint">{host}</span>
        </span>
      ),
    },
    { title: texts.added, cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    {
      title: texts.lastUsed,
      cell: ({ last_used_at }) => (last_used_at === null ? texts.never : <RelativeTime at={last_used_at} />),
    },
    {
      title: texts.actions,
      isActions: true,
      cell: (passkey) => (
        <>
          <Button
            tone="ghost"
            aria-label={fill(texts.renameName, { name: passkey.name })}
            onClick={() => onOpen({ kind: 'rename', passkey })}
          >
            {texts.rename}
          </Button>
          <Button
            tone="ghost"
            class="destructive"
            aria-label={fill(texts.deleteName, { name: passkey.name })}
            onClick={() => onOpen({ kind: 'delete', passkey })}
          >
            {texts.delete}
          </Button>
        </>
      ),
    },
  ];
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

interface NameDialogProps {
  readonly title: string;
  readonly action: string;
  readonly initialName: string;
  readonly save: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

function NameDialog({ title, action, initialName, save, onClose }: NameDialogProps) {
  const [name, setName] = useState(initialName);
  const submission = useAsyncAction(() => save(name));
  return (
    <Dialog title={title} onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <TextField
          label={texts.name}
          hint={texts.forExampleTheDeviceWork}
          maxLength={nameUnitsMax}
          required
          value={name}
          onChange={setName}
        />
        <DialogActions error={submission.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone="primary" busy={submission.isBusy} disabled={name.trim() === ''}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function AddDialog({ onClose, onDone }: DialogProps) {
  const save = async (name: string) => {
    const added = await addPasskey(name);
    if (added === null) return;
    await onDone();
    showToast(texts.passkeyAdded);
    onClose();
  };
  return (
    <NameDialog
      title={texts.addAPasskey}
      action={texts.continue}
      initialName=""
      save={save}
      onClose={onClose}
    />
  );
}

function RenameDialog({ passkey, onClose, onDone }: DialogProps & { readonly passkey: PasskeyInfo }) {
  const save = async (name: string) => {
    await renamePasskey(passkey.id, name);
    await onDone();
    onClose();
  };
  return (
    <NameDialog
      title={texts.renamePasskey}
      action={texts.save}
      initialName={passkey.name}
      save={save}
      onClose={onClose}
    />
  );
}

function DeleteDialog({ passkey, onClose, onDone }: DialogProps & { readonly passkey: PasskeyInfo }) {
  return (
    <ConfirmDialog
      title={texts.deleteThisPasskey}
      action={texts.deletePasskey}
      onClose={onClose}
      onConfirm={async () => {
        await deletePasskey(passkey.id);
        await onDone();
        showToast(texts.passkeyDeleted);
      }}
    >
      <p>{rich(texts.nameCanNoLongerSign, { name: <strong>{passkey.name}</strong> })}</p>
    </ConfirmDialog>
  );
}

function SignInAgainDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <ConfirmDialog
      title={texts.signInAgain}
      action={texts.signInAgain2}
      tone="primary"
      onClose={onClose}
      onConfirm={signOut}
    >
      <p>{texts.toProtectYourAccountA}</p>
    </ConfirmDialog>
  );
}
