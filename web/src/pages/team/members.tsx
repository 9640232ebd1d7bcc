import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Field } from '../../components/field.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { errorMessage } from '../../server/api-call.ts';
import { useLoad } from '../../server/load.ts';
import { loadSession, organization, session } from '../../server/session.ts';
import {
  changeMember,
  deleteInvitation,
  getOrganization,
  inviteUser,
  removeMember,
  type TeamInvitation,
  type TeamMember,
  type TeamRole,
} from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { hasRole, RoleSelect, roleName, roles } from './roles.tsx';

type MemberDialog =
  | { readonly kind: 'invite' }
  | { readonly kind: 'remove'; readonly member: TeamMember }
  | { readonly kind: 'leave'; readonly member: TeamMember }
  | { readonly kind: 'withdraw'; readonly invitation: TeamInvitation };

/** Page of the organization's members and invitations. */
export function MembersPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const [dialog, setDialog] = useState<MemberDialog | null>(null);
  const close = () => setDialog(null);
  return (
    <Page
      title="Members"
      subtitle={organization.value?.name}
      actions={
        <Button tone="primary" onClick={() => setDialog({ kind: 'invite' })}>
          Invite member
        </Button>
      }
    >
      {info.data !== undefined ? (
        <>
          <Card>
            <Members members={info.data.users} onOpenDialog={setDialog} onChanged={info.reload} />
          </Card>
          <Card title="Invitations">
            <Invitations
              invitations={info.data.invitations}
              onOpenDialog={setDialog}
              onChanged={info.reload}
            />
          </Card>
        </>
      ) : info.error === null ? (
        // Nothing is rendered below: the number of members is unknown, and the layout would shift.
        <Card>
          <SkeletonRows />
        </Card>
      ) : (
        <LoadError error={info.error} onRetry={info.reload} />
      )}
      {dialog !== null && <ActiveMemberDialog dialog={dialog} onClose={close} onChanged={info.reload} />}
    </Page>
  );
}

interface MemberListProps {
  readonly onOpenDialog: (dialog: MemberDialog) => void;
  readonly onChanged: () => void;
}

function Members({
  members,
  onOpenDialog,
  onChanged,
}: MemberListProps & { readonly members: readonly TeamMember[] }) {
  const ownUserId = session.value.state === 'in' ? session.value.account.user.id : '';
  const isOwner = hasRole('OWNER');
  const columns: TableColumn<TeamMember>[] = [
    {
      title: 'Member',
      cell: ({ user_id, name, email }) => (
        <span class="user-cell">
          <span>
            <strong>{name ?? email}</strong> {user_id === ownUserId && <Chip>You</Chip>}
          </span>
          {name !== null && <span class="hint">{email}</span>}
        </span>
      ),
    },
    {
      title: 'Role',
      cell: (member) =>
        isOwner ? <MemberRole member={member} onChanged={onChanged} /> : roleName(member.permission),
    },
    { title: 'Joined', cell: ({ joined_at }) => <RelativeTime at={joined_at} /> },
    { title: 'Last signed in', cell: ({ last_login_at }) => <RelativeTime at={last_login_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (member) =>
        member.user_id === ownUserId ? (
          <Button tone="ghost" onClick={() => onOpenDialog({ kind: 'leave', member })}>
            Leave
          </Button>
        ) : (
          isOwner && (
            <Button
              tone="ghost"
              aria-label={`Remove ${member.email}`}
              onClick={() => onOpenDialog({ kind: 'remove', member })}
            >
              Remove
            </Button>
          )
        ),
    },
  ];
  return <Table caption="Members" columns={columns} rows={members} keyOf={({ user_id }) => user_id} />;
}

function MemberRole({ member, onChanged }: { readonly member: TeamMember; readonly onChanged: () => void }) {
  const [selected, setSelected] = useState<TeamRole | null>(null);
  const change = async (permission: TeamRole) => {
    if (selected !== null) return;
    setSelected(permission);
    try {
      await changeMember({ user_id: member.user_id, permission });
      showToast(`The role of ${member.email} is now ${roleName(permission)}.`);
      if (session.peek().state === 'in') await loadSession();
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    setSelected(null);
    onChanged();
  };
  return (
    <RoleSelect
      aria-label={`Role of ${member.email}`}
      value={selected ?? member.permission}
      aria-busy={selected !== null}
      onChange={(permission) => void change(permission)}
    />
  );
}

function Invitations({
  invitations,
  onOpenDialog,
  onChanged,
}: MemberListProps & { readonly invitations: readonly TeamInvitation[] }) {
  const [codes, setCodes] = useState<Readonly<Record<string, string>>>({});
  const resend = async ({ email, permission }: TeamInvitation) => {
    try {
      const { invite_code, message } = await inviteUser({ email, permission });
      if (invite_code !== undefined) setCodes((before) => ({ ...before, [email]: invite_code }));
      showToast(message);
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    onChanged();
  };
  if (invitations.length === 0) return <p class="empty-note">No pending invitations.</p>;
  const columns: TableColumn<TeamInvitation>[] = [
    { title: 'Email address', cell: ({ email }) => email },
    { title: 'Role', cell: ({ permission }) => roleName(permission) },
    { title: 'Invited', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    { title: 'Expires', cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (invitation) => {
        const code = codes[invitation.email];
        return (
          <span class="row end">
            {code !== undefined && <CopyButton label="Copy link" text={joinLink(code)} />}
            <Button
              tone="ghost"
              aria-label={`Resend invitation to ${invitation.email}`}
              onClick={() => void resend(invitation)}
            >
              {' '}
              Resend{' '}
            </Button>
            {hasRole('OWNER') && (
              <Button
                tone="ghost"
                aria-label={`Delete invitation for ${invitation.email}`}
                onClick={() => onOpenDialog({ kind: 'withdraw', invitation })}
              >
                Delete
              </Button>
            )}
          </span>
        );
      },
    },
  ];
  return <Table caption="Invitations" columns={columns} rows={invitations} keyOf={({ id }) => id} />;
}

/** URL of an invitation. The code is in the fragment, which browsers do not send to servers. */
export function joinLink(code: string): string {
  return `${window.location.origin}/app/join#${code}`;
}

interface ActiveMemberDialogProps {
  readonly dialog: MemberDialog;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function ActiveMemberDialog({ dialog, onClose, onChanged }: ActiveMemberDialogProps) {
  const name = organization.value?.name ?? '';
  const remove = (member: TeamMember) => async () => {
    await removeMember(member.user_id);
    if (dialog.kind === 'leave') {
      await loadSession();
      showToast(`You left ${name}.`);
    } else {
      showToast(`${member.email} was removed.`);
      onChanged();
    }
  };
  switch (dialog.kind) {
    case 'invite':
      return <Invite onClose={onClose} onChanged={onChanged} />;
    case 'remove':
      return (
        <ConfirmDialog
          title={`Remove ${dialog.member.email}?`}
          action="Remove"
          onConfirm={remove(dialog.member)}
          onClose={onClose}
        >
          <p>
            This member loses access to {name} immediately. API keys that the member created keep working.
          </p>
        </ConfirmDialog>
      );
    case 'leave':
      return (
        <ConfirmDialog
          title={`Leave ${name}?`}
          action="Leave"
          onConfirm={remove(dialog.member)}
          onClose={onClose}
        >
          <p>You lose access immediately. To join again, you need a new invitation.</p>
        </ConfirmDialog>
      );
    case 'withdraw':
      return (
        <ConfirmDialog
          title="Delete this invitation?"
          action="Delete invitation"
          onClose={onClose}
          onConfirm={async () => {
            await deleteInvitation(dialog.invitation.email);
            showToast(`The invitation for ${dialog.invitation.email} was deleted.`);
            onChanged();
          }}
        >
          <p>The invitation link for {dialog.invitation.email} stops working immediately.</p>
        </ConfirmDialog>
      );
  }
}

function Invite({ onClose, onChanged }: Omit<ActiveMemberDialogProps, 'dialog'>) {
  const highestRole = organization.value?.permission ?? 'MEMBER';
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<TeamRole>('MEMBER');
  const [code, setCode] = useState<string | null>(null);
  const submission = useAsyncAction(async () => {
    const { status, message, invite_code } = await inviteUser({ email: email.trim(), permission: role });
    onChanged();
    if (invite_code !== undefined) return setCode(invite_code);
    showToast(message, status === 'invited' ? 'good' : 'bad');
    onClose();
  });
  if (code !== null) return <InviteLinkDialog email={email} code={code} onClose={onClose} />;
  return (
    <Dialog title="Invite member" onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <TextField
          label="Email address"
          type="email"
          required
          autoComplete="off"
          placeholder="grace@example.com"
          value={email}
          onChange={setEmail}
        />
        <Field label="Role" hint={roles.find(([each]) => each === role)?.[2]}>
          {({ id, 'aria-describedby': note }) => (
            <RoleSelect
              id={id}
              aria-describedby={note}
              value={role}
              highest={highestRole}
              onChange={setRole}
            />
          )}
        </Field>
        <ErrorMessage error={submission.error} />
        <DialogActions>
          <Button onClick={onClose} disabled={submission.isBusy}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            Send invitation
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Dialog with the invitation link, for servers that send no mail. */
function InviteLinkDialog({
  email,
  code,
  onClose,
}: {
  readonly email: string;
  readonly code: string;
  readonly onClose: () => void;
}) {
  const link = joinLink(code);
  return (
    <Dialog title="Share this link" onClose={onClose}>
      <p>
        This server does not send mail. Send the link to {email} yourself. It is valid for 7 days. The first
        person who opens it can create the account of this address.
      </p>
      <div class="secret">
        <code>{link}</code>
        <CopyButton text={link} label="Copy link" />
      </div>
      <DialogActions>
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
