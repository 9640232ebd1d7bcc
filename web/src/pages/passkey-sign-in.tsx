import { useEffect, useState } from 'preact/hooks';
import { hasAutofill } from '../browser/passkeys.ts';
import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { signInWithAutofill, signInWithPasskey } from '../server/passkeys.ts';
import { loadSession, refreshSession } from '../server/session.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';

interface PasskeySignInProps {
  readonly redirect: string;
  /** Whether it is shown over a page, to which the user returns after the sign-in. */
  readonly isOverlay: boolean;
}

/** Button that signs in with a passkey; the browser asks which one. Email fields of the page offer passkeys, too. */
export function PasskeySignIn({ redirect, isOverlay }: PasskeySignInProps) {
  const showPage = () => (isOverlay ? refreshSession() : loadSession());
  const submission = useAsyncAction(async () => {
    if ((await signInWithPasskey(redirect)) !== null) await showPage();
  });
  const autofillError = usePasskeyAutofill(redirect, showPage);
  return (
    <div class="stack">
      <ErrorMessage error={submission.error ?? autofillError} />
      <Button class="wide" busy={submission.isBusy} onClick={submission.start}>
        {texts.signInWithAPasskey}
      </Button>
    </div>
  );
}

/** Signs in with a passkey that the user chooses in the autofill of a field. Returns the last error, or null. */
function usePasskeyAutofill(redirect: string, onSignedIn: () => Promise<unknown>): unknown {
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const abort = new AbortController();
    let isOffered = false;
    const offer = async () => {
      if (isOffered || !(await hasAutofill()) || abort.signal.aborted) return;
      isOffered = true;
      try {
        if ((await signInWithAutofill(redirect, abort.signal)) !== null) await onSignedIn();
      } catch (failure) {
        setError(failure);
      } finally {
        isOffered = false;
      }
    };
    // An offer ends with its challenge, or when the button is used. An unattended page does not renew it.
    const renew = () => void offer();
    document.addEventListener('focusin', renew);
    void offer();
    return () => {
      document.removeEventListener('focusin', renew);
      abort.abort();
    };
  }, [redirect]);
  return error;
}
