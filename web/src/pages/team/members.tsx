import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded, Trouble } from '../../parts/trouble.tsx';
import { When } from '../../parts/when.tsx';
import { sentenceOf } from '../../server/call.ts';
import { useDoing } from '../../server/doing.ts';
import { useLoad } from '../../server/load.ts';
import { loadSession, organization, session } from '../../server/session.ts';
import {
  changeMember,
  deleteInvitation,
  getOrganization,
  type Invitation,
  inviteUser,
  type Member,
  type Role,
  removeMember,
} from '../../server/team.ts';
import { mayAs, RoleSelect, roleName, roles } from './roles.tsx';

type Asked =
  | { readonly what: 'invite' }
  | { readonly what: 'remove'; readonly member: Member }
  | { readonly what: 'leave'; readonly member: Member }
  | { readonly what: 'withdraw'; readonly invitation: Invitation };

/** Who belongs to the organisation, and who is invited. */
export function MembersPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  return (
    <Page
      title="Members"
      lead={organization.value?.name}
      actions={
        <Button tone="primary" onClick={() => setAsked({ what: 'invite' })}>
          Invite somebody
        </Button>
      }
    >
      {info.data !== undefined ? (
        <>
          <Card>
            <Members members={info.data.users} onAsk={setAsked} onChanged={info.reload} />
          </Card>
          <Card title="Invitations">
            <Invitations invitations={info.data.invitations} onAsk={setAsked} onChanged={info.reload} />
          </Card>
        </>
      ) : info.error === null ? (
        // Nothing below it: nobody knows yet how many people there are.
        <Card>
          <SkeletonRows />
        </Card>
      ) : (
        <NotLoaded error={info.error} onRetry={info.reload} />
      )}
      {asked !== null && <Asking asked={asked} onClose={close} onChanged={info.reload} />}
    </Page>
  );
}

interface ListProps {
  readonly onAsk: (asked: Asked) => void;
  readonly onChanged: () => void;
}

function Members({ members, onAsk, onChanged }: ListProps & { readonly members: readonly Member[] }) {
  const self = session.value.state === 'in' ? session.value.who.user.id : '';
  const owns = mayAs('OWNER');
  const columns: Column<Member>[] = [
    {
      title: 'Person',
      cell: ({ user_id, name, email }) => (
        <span class="person">
          <span>
            <strong>{name ?? email}</strong> {user_id === self && <Chip>You</Chip>}
          </span>
          {name !== null && <span class="hint">{email}</span>}
        </span>
      ),
    },
    {
      title: 'Role',
      cell: (member) =>
        owns ? <MemberRole member={member} onChanged={onChanged} /> : roleName(member.permission),
    },
    { title: 'Joined', cell: ({ joined_at }) => <When at={joined_at} /> },
    { title: 'Last signed in', cell: ({ last_login_at }) => <When at={last_login_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (member) =>
        member.user_id === self ? (
          <Button tone="ghost" onClick={() => onAsk({ what: 'leave', member })}>
            Leave
          </Button>
        ) : (
          owns && (
            <Button
              tone="ghost"
              aria-label={`Remove ${member.email}`}
              onClick={() => onAsk({ what: 'remove', member })}
            >
              Remove
            </Button>
          )
        ),
    },
  ];
  return <Table caption="Members" columns={columns} rows={members} keyOf={({ user_id }) => user_id} />;
}

function MemberRole({ member, onChanged }: { readonly member: Member; readonly onChanged: () => void }) {
  const [chosen, setChosen] = useState<Role | null>(null);
  const change = async (permission: Role) => {
    if (chosen !== null) return;
    setChosen(permission);
    try {
      await changeMember({ user_id: member.user_id, permission });
      toast(`${member.email} is ${roleName(permission)} now.`);
      if (session.peek().state === 'in') await loadSession();
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    setChosen(null);
    onChanged();
  };
  return (
    <RoleSelect
      aria-label={`Role of ${member.email}`}
      value={chosen ?? member.permission}
      aria-busy={chosen !== null}
      onChange={(permission) => void change(permission)}
    />
  );
}

function Invitations({
  invitations,
  onAsk,
  onChanged,
}: ListProps & { readonly invitations: readonly Invitation[] }) {
  const [codes, setCodes] = useState<Readonly<Record<string, string>>>({});
  const resend = async ({ email, permission }: Invitation) => {
    try {
      const { invite_code, message } = await inviteUser({ email, permission });
      if (invite_code !== undefined) setCodes((before) => ({ ...before, [email]: invite_code }));
      toast(message);
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    onChanged();
  };
  if (invitations.length === 0) return <p class="quiet">Nobody is invited at the moment.</p>;
  const columns: Column<Invitation>[] = [
    { title: 'Address', cell: ({ email }) => email },
    { title: 'Role', cell: ({ permission }) => roleName(permission) },
    { title: 'Invited', cell: ({ created_at }) => <When at={created_at} /> },
    { title: 'Ends', cell: ({ expires_at }) => <When at={expires_at} /> },
    {
      title: 'Actions',
      isActions: true,
      cell: (invitation) => {
        const code = codes[invitation.email];
        return (
          <span class="row end">
            {code !== undefined && <Copy label="Copy link" text={joinLink(code)} />}
            <Button
              tone="ghost"
              aria-label={`Send again to ${invitation.email}`}
              onClick={() => void resend(invitation)}
            >
              Send again
            </Button>
            {mayAs('OWNER') && (
              <Button
                tone="ghost"
                aria-label={`Delete the invitation of ${invitation.email}`}
                onClick={() => onAsk({ what: 'withdraw', invitation })}
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

/** What an invitation leads to. The code stands behind the `#`, which no browser sends to any server. */
export function joinLink(code: string): string {
  return `${window.location.origin}/app/join#${code}`;
}

interface AskingProps {
  readonly asked: Asked;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Asking({ asked, onClose, onChanged }: AskingProps) {
  const name = organization.value?.name ?? '';
  const remove = (member: Member) => async () => {
    await removeMember(member.user_id);
    if (asked.what === 'leave') {
      await loadSession();
      toast(`You left ${name}.`);
    } else {
      toast(`${member.email} was removed.`);
      onChanged();
    }
  };
  switch (asked.what) {
    case 'invite':
      return <Invite onClose={onClose} onChanged={onChanged} />;
    case 'remove':
      return (
        <Confirm
          title={`Remove ${asked.member.email}?`}
          action="Remove"
          onConfirm={remove(asked.member)}
          onClose={onClose}
        >
          <p>They lose access to {name} at once. API keys that they issued go on working.</p>
        </Confirm>
      );
    case 'leave':
      return (
        <Confirm title={`Leave ${name}?`} action="Leave" onConfirm={remove(asked.member)} onClose={onClose}>
          <p>You lose access at once. Somebody has to invite you before you can come back.</p>
        </Confirm>
      );
    case 'withdraw':
      return (
        <Confirm
          title="Delete this invitation?"
          action="Delete invitation"
          onClose={onClose}
          onConfirm={async () => {
            await deleteInvitation(asked.invitation.email);
            toast(`${asked.invitation.email} is not invited any more.`);
            onChanged();
          }}
        >
          <p>The link in the mail to {asked.invitation.email} stops working at once.</p>
        </Confirm>
      );
  }
}

function Invite({ onClose, onChanged }: Omit<AskingProps, 'asked'>) {
  const most = organization.value?.permission ?? 'MEMBER';
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('MEMBER');
  const [code, setCode] = useState<string | null>(null);
  const doing = useDoing(async () => {
    const { status, message, invite_code } = await inviteUser({ email: email.trim(), permission: role });
    onChanged();
    if (invite_code !== undefined) return setCode(invite_code);
    toast(message, status === 'invited' ? 'good' : 'bad');
    onClose();
  });
  if (code !== null) return <HandOn email={email} code={code} onClose={onClose} />;
  return (
    <Dialog title="Invite somebody" onClose={onClose} mayClose={!doing.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          doing.start();
        }}
      >
        <Field label="E-mail address">
          {(names) => (
            <input
              {...names}
              type="email"
              required
              autoComplete="off"
              placeholder="grace@example.com"
              value={email}
              onInput={(event) => setEmail(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Role" hint={roles.find(([each]) => each === role)?.[2]}>
          {({ id, 'aria-describedby': note }) => (
            <RoleSelect id={id} aria-describedby={note} value={role} most={most} onChange={setRole} />
          )}
        </Field>
        <Trouble error={doing.error} />
        <DialogActions>
          <Button onClick={onClose} disabled={doing.isBusy}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={doing.isBusy}>
            Send invitation
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Where the server sends no mail. */
function HandOn({
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
    <Dialog title="Hand this link on" onClose={onClose}>
      <p>
        This server sends no mail. Give the link to {email} yourself; it works for 7 days, and only for
        somebody who signs in with that address.
      </p>
      <div class="secret">
        <code>{link}</code>
        <Copy text={link} label="Copy link" />
      </div>
      <DialogActions>
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
