import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { PasswordField } from '../components/password-field.tsx';
import { TextField } from '../components/text-field.tsx';
import { parseJson } from '../format/parse-json.ts';
import { joinWithPasskey } from '../server/passkeys.ts';
import { joinWithPassword } from '../server/passwords.ts';
import { loadSession } from '../server/session.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';

/** Ways to sign in later that an invited user can choose; at least one. */
export interface JoinMethods {
  readonly passkey: boolean;
  readonly password: boolean;
}

interface JoinFormProps extends JoinMethods {
  /** Code of the invitation. */
  readonly code: string;
}

/** Lets an invited user without an account create a passkey or choose a password, and join. */
export function JoinForm({ code, passkey, password: mayUsePassword }: JoinFormProps) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [isPassword, setIsPassword] = useState(!passkey);
  const { route } = useLocation();
  const submission = useAsyncAction(async () => {
    const trimmed = name.trim();
    if (isPassword) await joinWithPassword(code, { name: trimmed, password });
    else if ((await joinWithPasskey(code, trimmed)) === null) return;
    route('/app/', true);
    await loadSession();
  });
  const email = invitedEmail(code);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        submission.start();
      }}
    >
      <Field label={texts.email}>
        {(control) => <input {...control} type="email" autoComplete="username" readOnly value={email} />}
      </Field>
      <TextField label={texts.name} autoComplete="name" maxLength={255} value={name} onChange={setName} />
      {isPassword ? (
        <PasswordField label={texts.chooseAPassword} kind="new" value={password} onChange={setPassword} />
      ) : (
        <p class="hint">{texts.aPasskeyReplacesThePassword}</p>
      )}
      <ErrorMessage error={submission.error} />
      <Button type="submit" tone="primary" class="wide" busy={submission.isBusy}>
        {isPassword ? texts.createAccountAndJoin : texts.createAPasskeyAndJoin}
      </Button>
      {passkey && mayUsePassword && (
        <Button tone="ghost" class="wide" onClick={() => setIsPassword(!isPassword)}>
          {isPassword ? texts.useAPasskeyInstead : texts.useAPasswordInstead}
        </Button>
      )}
    </form>
  );
}

/** Address in the code, which is a signed token; the server verifies it. Empty for an unreadable code. */
function invitedEmail(code: string): string {
  const payload = (code.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  if (!/^[A-Za-z0-9+/]*$/.test(payload) || payload.length % 4 === 1) return '';
  const { value } = parseJson(window.atob(payload));
  const email = (value as { readonly email?: unknown } | null)?.email;
  return typeof email === 'string' ? email : '';
}
