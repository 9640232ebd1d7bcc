import { useEffect, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { SignInMethods } from '../pages/sign-in.tsx';
import { refreshSession, session } from '../server/session.ts';

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
    <Dialog title="Your session has ended" mayClose={false} onClose={() => {}}>
      <p>
        Sign in again as <strong>{email}</strong>, here or in another tab. Your input on this page is kept,
        and interrupted actions continue automatically.
      </p>
      <SignInMethods isOverlay email={email} />
      <p role="status" class="hint">
        {isMissing && 'No new session found in this browser, or the server is unreachable.'}
      </p>
      <DialogActions>
        <Button onClick={() => window.location.assign('/app/')}>Leave this page</Button>
        <Button tone="primary" onClick={() => void confirmSignIn()}>
          I have signed in
        </Button>
      </DialogActions>
    </Dialog>
  );
}
