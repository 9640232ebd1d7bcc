import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { adminCreatePasswordLink } from '../../server/administration.ts';
import { useLoad } from '../../server/load.ts';
import { texts } from '../../texts/en/team.ts';
import { rich } from '../../texts/rich-text.ts';

interface PasswordLinkDialogProps {
  readonly user: { readonly user_id: string; readonly email: string };
  readonly onClose: () => void;
}

/** Shows a link with which a user can choose a new password. */
export function PasswordLinkDialog({ user, onClose }: PasswordLinkDialogProps) {
  const link = useLoad(() => adminCreatePasswordLink(user.user_id), [user.user_id]);
  return (
    <Dialog title={texts.passwordLink} onClose={onClose}>
      <p>{rich(texts.sendThisLinkToEmail, { email: <strong>{user.email}</strong> })}</p>
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
          {texts.done}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
