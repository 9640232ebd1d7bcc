import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Card } from '../../components/page.tsx';
import { endSession } from '../../server/session.ts';
import { deleteUser } from '../../server/team.ts';
import { texts } from '../../texts/en/settings.ts';

/** Card to delete the user's own account. */
export function DeleteAccount({ email }: { readonly email: string }) {
  const [isConfirming, setConfirming] = useState(false);
  return (
    <Card title={texts.deleteYourAccount}>
      <p>{texts.yourProfileSessionsAndMemberships}</p>
      <div class="row">
        <Button tone="danger" onClick={() => setConfirming(true)}>
          {texts.deleteAccount}
        </Button>
      </div>
      {isConfirming && (
        <ConfirmDialog
          title={texts.deleteYourAccount2}
          action={texts.deleteAccount}
          requiredText={email}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await deleteUser(email);
            endSession();
          }}
        >
          <p>{texts.thisCannotBeUndoneIf}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
