import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Card } from '../../components/page.tsx';
import { endSession } from '../../server/session.ts';
import { deleteUser } from '../../server/team.ts';

/** Card to delete the user's own account. */
export function DeleteAccount({ email }: { readonly email: string }) {
  const [isConfirming, setConfirming] = useState(false);
  return (
    <Card title="Delete your account">
      <p>
        Your profile, sessions and memberships are deleted permanently. API keys that you created keep working
        in their organizations.
      </p>
      <div class="row">
        <Button tone="danger" onClick={() => setConfirming(true)}>
          Delete account
        </Button>
      </div>
      {isConfirming && (
        <ConfirmDialog
          title="Delete your account?"
          action="Delete account"
          requiredText={email}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await deleteUser(email);
            endSession();
          }}
        >
          <p>
            This cannot be undone. If you are the only owner of an organization, first make another member an
            owner or delete the organization.
          </p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
