import { Button } from '../../components/button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table } from '../../components/table.tsx';
import { adminDeleteUserPasskey, adminListUserPasskeys } from '../../server/administration.ts';
import { useLoad } from '../../server/load.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/team.ts';
import { fill } from '../../texts/format-text.ts';

interface UserPasskeysDialogProps {
  readonly user: { readonly user_id: string; readonly email: string };
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/** Passkeys of a user, which the administrator can delete. */
export function UserPasskeysDialog({ user, onChange, onClose }: UserPasskeysDialogProps) {
  const list = useLoad((signal) => adminListUserPasskeys(user.user_id, signal), [user.user_id]);
  const onDeleted = () => {
    list.reload();
    onChange();
  };
  return (
    <Dialog title={fill(texts.passkeysOfEmail, { email: user.email })} onClose={onClose}>
      {list.data !== undefined ? (
        <Table
          caption={texts.passkeys}
          columns={[
            { title: texts.name, cell: ({ name }) => <strong>{name}</strong> },
            {
              title: texts.lastUsed,
              cell: ({ last_used_at }) =>
                last_used_at === null ? texts.never : <RelativeTime at={last_used_at} />,
            },
            {
              title: texts.actions,
              isActions: true,
              cell: ({ id, name }) => (
                <DeletePasskey userId={user.user_id} {...{ id, name }} onDone={onDeleted} />
              ),
            },
          ]}
          rows={list.data.passkeys}
          keyOf={({ id }) => id}
        />
      ) : list.error === null ? (
        <SkeletonRows rows={2} />
      ) : (
        <LoadError error={list.error} onRetry={list.reload} />
      )}
      {list.data?.passkeys.length === 0 && <p class="empty-note">{texts.thisUserHasNoPasskeys}</p>}
      <DialogActions>
        <Button tone="primary" onClick={onClose}>
          {texts.done}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

interface DeletePasskeyProps {
  readonly userId: string;
  readonly id: string;
  readonly name: string;
  readonly onDone: () => void;
}

function DeletePasskey({ userId, id, name, onDone }: DeletePasskeyProps) {
  const deletion = useAsyncAction(async () => {
    await adminDeleteUserPasskey(userId, id);
    onDone();
  });
  return (
    <>
      <ErrorMessage error={deletion.error} />
      <Button
        tone="danger"
        busy={deletion.isBusy}
        aria-label={fill(texts.deleteName2, { name })}
        onClick={deletion.start}
      >
        {texts.delete}
      </Button>
    </>
  );
}
