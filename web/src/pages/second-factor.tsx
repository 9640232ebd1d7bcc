import { useEffect, useState } from 'preact/hooks';
import { Button, LinkButton } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { finishSecondFactor } from '../server/second-factor.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';
import { CodeField } from './team/code-field.tsx';

/** Second step of a sign-in. The server redirects to this page after a mailed link or a provider. */
export function SecondFactorPage() {
  const [code, setCode] = useState('');
  useEffect(() => {
    document.title = texts.twoFactorAuthenticationQuarry;
  }, []);
  const finish = useAsyncAction(async () => {
    const { redirect_url } = await finishSecondFactor(code);
    window.location.assign(redirect_url);
  });
  return (
    <div class="standalone">
      <div class="sign-in">
        <span class="mark" aria-hidden="true" />
        <h1 tabIndex={-1}>{texts.twoFactorAuthentication}</h1>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            finish.start();
          }}
        >
          <CodeField
            label={texts.authenticationCode}
            hint={texts.sixDigitsFromYourAuthenticator}
            value={code}
            onChange={setCode}
          />
          <ErrorMessage error={finish.error} />
          <Button
            type="submit"
            tone="primary"
            class="wide"
            busy={finish.isBusy}
            disabled={code.trim() === ''}
          >
            {texts.signIn}
          </Button>
          <LinkButton href="/app/">{texts.startOver}</LinkButton>
        </form>
      </div>
    </div>
  );
}
