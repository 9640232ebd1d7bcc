import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { adminCreatePasswordLink } from '../../server/administration.ts';
import { useLoad } from '../../server/load.ts';

interface PasswordLinkDialogProps {
  readonly user: { readonly user_id: string; readonly email: string };
  readonly onClose: () => void;
}

/** Shows a link with which a user can choose a new password. */
export function PasswordLinkDialog({ user, onClose }: PasswordLinkDialogProps) {
  const link = useLoad(() => adminCreatePasswordLink(user.user_id), [user.user_id]);
  return (
    <Dialog title="Password link" onClose={onClose}>
      <p>
        Send this link to <strong>{user.email}</strong>. It works once, within 24 hours, and ends all sessions
        of the user.
      </p>
      {link.data !== undefined ? (
        <div class="secret">
          <code>{link.data.url}</code>
          <CopyButton text={link.data.url} />
        </div>
      ) : link.error === null ? (
        <SkeletonRows rows={1} />
      ) : (
        <LoadError error={link.error} onRetry={link.reload} />
      )}
      <DialogActions>
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
