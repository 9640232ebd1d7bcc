import { useEffect, useState } from 'preact/hooks';
import { Button, LinkButton } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { finishSecondFactor } from '../server/second-factor.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { CodeField } from './team/code-field.tsx';

/** Second step of a sign-in. The server redirects to this page after a mailed link or a provider. */
export function SecondFactorPage() {
  const [code, setCode] = useState('');
  useEffect(() => {
    document.title = 'Two-factor authentication · Quarry';
  }, []);
  const finish = useAsyncAction(async () => {
    const { redirect_url } = await finishSecondFactor(code);
    window.location.assign(redirect_url);
  });
  return (
    <div class="standalone">
      <div class="sign-in">
        <span class="mark" aria-hidden="true" />
        <h1 tabIndex={-1}>Two-factor authentication</h1>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            finish.start();
          }}
        >
          <CodeField
            label="Authentication code"
            hint="Six digits from your authenticator app, or a recovery code. Each code works once."
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
            Sign in
          </Button>
          <LinkButton href="/app/">Start over</LinkButton>
        </form>
      </div>
    </div>
  );
}
