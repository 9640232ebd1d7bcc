import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { signInWithPasskey } from '../server/passkeys.ts';
import { loadSession, refreshSession } from '../server/session.ts';
import { useAsyncAction } from '../server/use-async-action.ts';

interface PasskeySignInProps {
  readonly redirect: string;
  /** Over a page that must stay. */
  readonly isOverlay: boolean;
}

/** Button that signs in with a passkey; the browser asks which one. */
export function PasskeySignIn({ redirect, isOverlay }: PasskeySignInProps) {
  const submission = useAsyncAction(async () => {
    if ((await signInWithPasskey(redirect)) === null) return;
    if (isOverlay) await refreshSession();
    else await loadSession();
  });
  return (
    <div class="stack">
      <ErrorMessage error={submission.error} />
      <Button class="wide" busy={submission.isBusy} onClick={submission.start}>
        Sign in with a passkey
      </Button>
    </div>
  );
}
