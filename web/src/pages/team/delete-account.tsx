import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Card } from '../../parts/page.tsx';
import { leave } from '../../server/session.ts';
import { deleteUser } from '../../server/team.ts';

/** The end of one's own account. */
export function DeleteAccount({ email }: { readonly email: string }) {
  const [isAsked, setAsked] = useState(false);
  return (
    <Card title="Delete your account">
      <p>
        Your profile, sessions and memberships are deleted for good. API keys that you created stay with their
        organizations.
      </p>
      <div class="row">
        <Button tone="danger" onClick={() => setAsked(true)}>
          Delete account
        </Button>
      </div>
      {isAsked && (
        <Confirm
          title="Delete your account?"
          action="Delete account"
          typed={email}
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await deleteUser(email);
            leave();
          }}
        >
          <p>
            This cannot be taken back. Organizations that only you own have to be handed over or deleted
            first.
          </p>
        </Confirm>
      )}
    </Card>
  );
}
