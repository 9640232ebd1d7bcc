import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button, LinkButton } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { PasswordField } from '../components/password-field.tsx';
import { resetPassword } from '../server/passwords.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';
import { continueSignIn } from './password-sign-in.tsx';

/** Target of a password link of the administrator. The token is in the URL fragment. */
export function PasswordLinkPage() {
  const [token] = useState(() => window.location.hash.slice(1));
  const [password, setPassword] = useState('');
  const { route } = useLocation();
  useEffect(() => {
    document.title = texts.newPasswordQuarry;
  }, []);
  const submission = useAsyncAction(async () => {
    const reply = await resetPassword(token, password);
    route('/app/', true);
    await continueSignIn(reply);
  });
  return (
    <div class="standalone">
      <div class="sign-in">
        <span class="mark" aria-hidden="true" />
        <h1 tabIndex={-1}>{texts.chooseANewPassword}</h1>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            submission.start();
          }}
        >
          <p>{texts.allYourSessionsEndAnd}</p>
          <PasswordField label={texts.newPassword} kind="new" value={password} onChange={setPassword} />
          <ErrorMessage error={submission.error} />
          <Button type="submit" tone="primary" class="wide" busy={submission.isBusy}>
            {texts.savePassword}
          </Button>
          <LinkButton href="/app/">{texts.goToSignIn}</LinkButton>
        </form>
      </div>
    </div>
  );
}
