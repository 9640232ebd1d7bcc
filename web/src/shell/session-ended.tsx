import { useEffect, useState } from 'preact/hooks';
import { SignInWays } from '../pages/sign-in.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { lookForSession, session } from '../server/session.ts';

const lookMs = 2_000;

/** Over a page whose session ended: the page and what was entered stay, and go on when the same person is back. */
export function SessionEnded() {
  useEffect(() => {
    const look = () => {
      if (!document.hidden) void lookForSession();
    };
    const timer = setInterval(look, lookMs);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);
  const [isMissing, setMissing] = useState(false);
  const claim = async () => setMissing(!(await lookForSession()));
  const who = session.value.state === 'in' ? session.value.who.user.email : '';
  return (
    <Dialog title="Your session has ended" mayClose={false} onClose={() => {}}>
      <p>
        Sign in as <strong>{who}</strong> again, in another tab if you like. What you were doing stays here
        and goes on by itself.
      </p>
      <SignInWays isOver email={who} />
      <p role="status" class="hint">
        {isMissing && 'Nobody has signed in in this browser yet, or the server does not answer.'}
      </p>
      <DialogActions>
        <Button onClick={() => window.location.assign('/app/')}>Leave this page</Button>
        <Button tone="primary" onClick={() => void claim()}>
          I have signed in
        </Button>
      </DialogActions>
    </Dialog>
  );
}
