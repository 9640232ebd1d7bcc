import type { InvitationToUser } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../parts/button.tsx';
import { Trouble } from '../../parts/trouble.tsx';
import { When } from '../../parts/when.tsx';
import { useDoing } from '../../server/doing.ts';
import { chooseOrganization, loadSession, session } from '../../server/session.ts';
import { acceptInvitation } from '../../server/team.ts';
import { roleName } from './roles.tsx';

/** Invitations that wait for whoever is signed in; nothing when none do. */
export function WaitingInvitations({ onJoined }: { readonly onJoined: (name: string) => void }) {
  const waiting = session.value.state === 'in' ? session.value.who.invitations : [];
  if (waiting.length === 0) return null;
  return (
    <ul class="invitations">
      {waiting.map((invitation) => (
        <WaitingInvitation key={invitation.id} invitation={invitation} onJoined={onJoined} />
      ))}
    </ul>
  );
}

interface WaitingProps {
  readonly invitation: InvitationToUser;
  readonly onJoined: (name: string) => void;
}

function WaitingInvitation({ invitation, onJoined }: WaitingProps) {
  const {
    organization_name: name,
    permission,
    invited_by: by,
    expires_at: end,
    invite_code: code,
  } = invitation;
  const join = useDoing(async () => {
    const joined = await acceptInvitation(code);
    await loadSession();
    chooseOrganization(joined.organization_id);
    onJoined(joined.name);
  });
  return (
    <li>
      <div>
        <strong>{name}</strong>
        <p class="hint">
          {by === null ? 'You are invited' : `${by} invites you`} as {roleName(permission).toLowerCase()},
          ends <When at={end} />
        </p>
        <Trouble error={join.error} />
      </div>
      <Button tone="primary" busy={join.isBusy} onClick={join.start} aria-label={`Join ${name}`}>
        Join
      </Button>
    </li>
  );
}
