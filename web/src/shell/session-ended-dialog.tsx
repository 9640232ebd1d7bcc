import { useEffect, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { SignInMethods } from '../pages/sign-in.tsx';
import { refreshSession, session } from '../server/session.ts';
import { texts } from '../texts/en/overlays.ts';
import { rich } from '../texts/rich-text.ts';

const checkMs = 2_000;

/**
 * Dialog over a page whose session has ended. The page and its input stay, and calls continue after the same
 * user signs in again.
 */
export function SessionEndedDialog() {
  useEffect(() => {
    const check = () => {
      if (!document.hidden) void refreshSession();
    };
    const timer = setInterval(check, checkMs);
    document.addEventListener('visibilitychange', check);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', check);
    };
  }, []);
  const [isMissing, setMissing] = useState(false);
  const confirmSignIn = async () => setMissing(!(await refreshSession()));
  const email = session.value.state === 'in' ? session.value.account.user.email : '';
  return (
    <Dialog title={texts.yourSessionHasEnded} mayClose={false} onClose={() => {}}>
      <p>{rich(texts.signInAgainAsEmail, { email: <strong>{email}</strong> })}</p>
      <SignInMethods isOverlay email={email} />
      <p role="status" class="hint">
        {isMissing && texts.noNewSessionFoundIn}
      </p>
      <DialogActions>
        <Button onClick={() => window.location.assign('/app/')}>{texts.leaveThisPage}</Button>
        <Button tone="primary" onClick={() => void confirmSignIn()}>
          {texts.iHaveSignedIn}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
