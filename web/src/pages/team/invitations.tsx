import type { InvitationToUser } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { loadSession, selectOrganization, session } from '../../server/session.ts';
import { acceptInvitation } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/team.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { roleName } from './roles.tsx';

/** Pending invitations of the signed-in user; renders nothing if there are none. */
export function PendingInvitations({ onJoined }: { readonly onJoined: (name: string) => void }) {
  const pending = session.value.state === 'in' ? session.value.account.invitations : [];
  if (pending.length === 0) return null;
  return (
    <ul class="invitations">
      {pending.map((invitation) => (
        <PendingInvitation key={invitation.id} invitation={invitation} onJoined={onJoined} />
      ))}
    </ul>
  );
}

interface PendingInvitationProps {
  readonly invitation: InvitationToUser;
  readonly onJoined: (name: string) => void;
}

function PendingInvitation({ invitation, onJoined }: PendingInvitationProps) {
  const {
    organization_name: name,
    permission,
    invited_by: by,
    expires_at: end,
    invite_code: code,
  } = invitation;
  const join = useAsyncAction(async () => {
    const joined = await acceptInvitation(code);
    await loadSession();
    selectOrganization(joined.organization_id);
    onJoined(joined.name);
  });
  return (
    <li>
      <div>
        <strong>{name}</strong>
        <p class="hint">
          {rich(texts.organizationAsRoleExpiresTime, {
            organization: by === null ? texts.invited : fill(texts.invitedByBy, { by }),
            role: roleName(permission).toLowerCase(),
            time: <RelativeTime at={end} />,
          })}
        </p>
        <ErrorMessage error={join.error} />
      </div>
      <Button
        tone="primary"
        busy={join.isBusy}
        onClick={join.start}
        aria-label={fill(texts.joinName, { name })}
      >
        {texts.join}
      </Button>
    </li>
  );
}
