import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { PasswordField } from '../components/password-field.tsx';
import { TextField } from '../components/text-field.tsx';
import { type PasswordReply, signInWithPassword } from '../server/passwords.ts';
import { loadSession, refreshSession } from '../server/session.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';

interface PasswordSignInProps {
  readonly redirect: string;
  readonly email: string;
  /** Whether it is shown over a page, to which the user returns after the sign-in. */
  readonly isOverlay: boolean;
}

/** Form for email address and password. */
export function PasswordSignIn({ redirect, email: initialEmail, isOverlay }: PasswordSignInProps) {
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState('');
  const submission = useAsyncAction(async () => {
    const reply = await signInWithPassword(email, password, redirect);
    if (isOverlay && !isCodeRequired(reply)) await refreshSession();
    else await continueSignIn(reply);
  });
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        submission.start();
      }}
    >
      <TextField
        label={texts.email}
        type="email"
        name="email"
        autoComplete="username webauthn"
        required
        placeholder="you@example.com"
        value={email}
        onChange={setEmail}
      />
      <PasswordField label={texts.password} kind="current" value={password} onChange={setPassword} />
      <ErrorMessage error={submission.error} />
      <Button type="submit" tone="primary" class="wide" busy={submission.isBusy}>
        {texts.signIn}
      </Button>
      <p class="hint">{texts.forgotYourPasswordAskThe}</p>
    </form>
  );
}

function isCodeRequired(reply: PasswordReply): boolean {
  return 'second_factor_required' in reply;
}

/** Shows the page of the current URL to the new session, or the page that asks for a code. */
export async function continueSignIn(reply: PasswordReply): Promise<void> {
  if (isCodeRequired(reply)) window.location.assign(reply.redirect_url);
  else await loadSession();
}
