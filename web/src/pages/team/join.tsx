import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button, LinkButton } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { showToast } from '../../components/toasts.tsx';
import { loadSession, selectOrganization, session, signOut } from '../../server/session.ts';
import { acceptInvitation } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/team.ts';
import { fill } from '../../texts/format-text.ts';
import { PendingInvitations } from './invitations.tsx';

/**
 * Target of an invitation link. The code is in the URL fragment. If it was lost on the way, the page offers
 * the pending invitations of the signed-in user, whose email address is verified.
 */
export function JoinPage() {
  const [code] = useState(() => window.location.hash.slice(1));
  const { route } = useLocation();
  const welcome = (name: string) => {
    showToast(fill(texts.youJoinedName, { name }));
    route('/app/', true);
  };
  const accept = useAsyncAction(async () => {
    const joined = await acceptInvitation(code);
    await loadSession();
    selectOrganization(joined.organization_id);
    welcome(joined.name);
  });
  useEffect(() => {
    if (code !== '') accept.start();
  }, [code]);
  if (session.value.state !== 'in') return null;
  const { user, invitations } = session.value.account;
  if (code !== '' && accept.error === null) {
    return (
      <Page title={texts.joiningOrganization}>
        <SkeletonRows rows={3} />
      </Page>
    );
  }
  return (
    <Page
      title={invitations.length > 0 ? texts.invitation : texts.invalidInvitation}
      subtitle={fill(texts.signedInAsEmail, { email: user.email })}
    >
      <Card>
        <ErrorMessage error={accept.error} />
        <PendingInvitations onJoined={welcome} />
        {invitations.length === 0 && (
          <p>
            {accept.error === null ? texts.thereIsNoPendingInvitation : ''}
            {texts.ifTheInvitationWasSent}
          </p>
        )}
        <div class="row">
          <LinkButton href="/app/">{texts.goToOverview}</LinkButton>
          <Button onClick={() => void signOut()}>{texts.signOut}</Button>
        </div>
      </Card>
    </Page>
  );
}
