import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { PasswordField } from '../components/password-field.tsx';
import { TextField } from '../components/text-field.tsx';
import { parseJson } from '../format/parse-json.ts';
import { joinWithPassword } from '../server/passwords.ts';
import { loadSession } from '../server/session.ts';
import { useAsyncAction } from '../server/use-async-action.ts';

/** Lets an invited user without an account choose a password and join. */
export function JoinForm({ code }: { readonly code: string }) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const { route } = useLocation();
  const submission = useAsyncAction(async () => {
    await joinWithPassword(code, { name: name.trim(), password });
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
      <Field label="Email">
        {(control) => <input {...control} type="email" autoComplete="username" readOnly value={email} />}
      </Field>
      <TextField label="Name" autoComplete="name" maxLength={255} value={name} onChange={setName} />
      <PasswordField label="Choose a password" kind="new" value={password} onChange={setPassword} />
      <ErrorMessage error={submission.error} />
      <Button type="submit" tone="primary" class="wide" busy={submission.isBusy}>
        Create account and join
      </Button>
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
