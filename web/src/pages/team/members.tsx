import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { LoadError } from '../../components/error-message.tsx';
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
import { texts } from '../../texts/en/team.ts';
import { fill } from '../../texts/format-text.ts';
import { hasRole, RoleSelect, roleName, rolePermissions } from './roles.tsx';

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
      title={texts.members}
      subtitle={organization.value?.name}
      actions={
        <Button tone="primary" onClick={() => setDialog({ kind: 'invite' })}>
          {texts.inviteMember}
        </Button>
      }
    >
      {info.data !== undefined ? (
        <>
          <Card>
            <Members members={info.data.users} onOpenDialog={setDialog} onChanged={info.reload} />
          </Card>
          <Card title={texts.invitations}>
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
      title: texts.member,
      cell: ({ user_id, name, email }) => (
        <span class="user-cell">
          <span>
            <strong>{name ?? email}</strong> {user_id === ownUserId && <Tag>{texts.you}</Tag>}
          </span>
          {name !== null && <span class="hint">{email}</span>}
        </span>
      ),
    },
    {
      title: texts.role,
      cell: (member) =>
        isOwner ? <MemberRole member={member} onChanged={onChanged} /> : roleName(member.permission),
    },
    { title: texts.joined, cell: ({ joined_at }) => <RelativeTime at={joined_at} /> },
    { title: texts.lastSignedIn, cell: ({ last_login_at }) => <RelativeTime at={last_login_at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: (member) =>
        member.user_id === ownUserId ? (
          <Button tone="ghost" class="destructive" onClick={() => onOpenDialog({ kind: 'leave', member })}>
            {texts.leave}
          </Button>
        ) : (
          isOwner && (
            <Button
              tone="ghost"
              class="destructive"
              aria-label={fill(texts.removeEmail, { email: member.email })}
              onClick={() => onOpenDialog({ kind: 'remove', member })}
            >
              {texts.remove}
            </Button>
          )
        ),
    },
  ];
  return <Table caption={texts.members} columns={columns} rows={members} keyOf={({ user_id }) => user_id} />;
}

function MemberRole({ member, onChanged }: { readonly member: TeamMember; readonly onChanged: () => void }) {
  const [selected, setSelected] = useState<TeamRole | null>(null);
  const change = async (permission: TeamRole) => {
    if (selected !== null) return;
    setSelected(permission);
    try {
      await changeMember({ user_id: member.user_id, permission });
      showToast(fill(texts.theRoleOfEmailIs, { email: member.email, permission: roleName(permission) }));
      if (session.peek().state === 'in') await loadSession();
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    setSelected(null);
    onChanged();
  };
  return (
    <RoleSelect
      aria-label={fill(texts.roleOfEmail, { email: member.email })}
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
  if (invitations.length === 0) return <p class="empty-note">{texts.noPendingInvitations}</p>;
  const columns: TableColumn<TeamInvitation>[] = [
    { title: texts.emailAddress, cell: ({ email }) => email },
    { title: texts.role, cell: ({ permission }) => roleName(permission) },
    { title: texts.invited, cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    { title: texts.expires, cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: (invitation) => {
        const code = codes[invitation.email];
        return (
          <span class="row end">
            {code !== undefined && <CopyButton label={texts.copyLink} text={joinLink(code)} />}
            <Button
              tone="ghost"
              aria-label={fill(texts.resendInvitationToEmail, { email: invitation.email })}
              onClick={() => void resend(invitation)}
            >
              {texts.resend}
            </Button>
            {hasRole('OWNER') && (
              <Button
                tone="ghost"
                class="destructive"
                aria-label={fill(texts.deleteInvitationForEmail, { email: invitation.email })}
                onClick={() => onOpenDialog({ kind: 'withdraw', invitation })}
              >
                {texts.delete}
              </Button>
            )}
          </span>
        );
      },
    },
  ];
  return <Table caption={texts.invitations} columns={columns} rows={invitations} keyOf={({ id }) => id} />;
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
      showToast(fill(texts.youLeftName, { name }));
    } else {
      showToast(fill(texts.emailWasRemoved, { email: member.email }));
      onChanged();
    }
  };
  switch (dialog.kind) {
    case 'invite':
      return <Invite onClose={onClose} onChanged={onChanged} />;
    case 'remove':
      return (
        <ConfirmDialog
          title={fill(texts.removeEmail2, { email: dialog.member.email })}
          action={texts.remove}
          onConfirm={remove(dialog.member)}
          onClose={onClose}
        >
          <p>{fill(texts.thisMemberLosesAccessTo, { name })}</p>
        </ConfirmDialog>
      );
    case 'leave':
      return (
        <ConfirmDialog
          title={fill(texts.leaveName, { name })}
          action={texts.leave}
          onConfirm={remove(dialog.member)}
          onClose={onClose}
        >
          <p>{texts.youLoseAccessImmediatelyTo}</p>
        </ConfirmDialog>
      );
    case 'withdraw':
      return (
        <ConfirmDialog
          title={texts.deleteThisInvitation}
          action={texts.deleteInvitation}
          onClose={onClose}
          onConfirm={async () => {
            await deleteInvitation(dialog.invitation.email);
            showToast(fill(texts.theInvitationForEmailWas, { email: dialog.invitation.email }));
            onChanged();
          }}
        >
          <p>{fill(texts.theInvitationLinkForEmail, { email: dialog.invitation.email })}</p>
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
    <Dialog title={texts.inviteMember} onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <TextField
          label={texts.emailAddress}
          type="email"
          required
          autoComplete="off"
          placeholder="grace@example.com"
          value={email}
          onChange={setEmail}
        />
        <Field label={texts.role} hint={rolePermissions(role)}>
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
        <DialogActions error={submission.error}>
          <Button onClick={onClose} disabled={submission.isBusy}>
            {texts.cancel}
          </Button>
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            {texts.sendInvitation}
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
    <Dialog title={texts.shareThisLink} onClose={onClose}>
      <p>{fill(texts.thisServerDoesNotSend, { email })}</p>
      <div class="secret">
        <code>{link}</code>
        <CopyButton text={link} label={texts.copyLink} />
      </div>
      <DialogActions>
        <Button tone="primary" onClick={onClose}>
          {texts.done}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
