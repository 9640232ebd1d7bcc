import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { TextField } from '../components/text-field.tsx';
import { isAdministratorSignedIn } from '../server/administrator-session.ts';
import { signInAsAdministrator } from '../server/sign-in.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';
import { CodeField } from './team/code-field.tsx';

/** Form that signs in as the administrator of the installation, by password. */
export function AdministratorForm({ onDone }: { readonly onDone: () => void }) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const submission = useAsyncAction(async () => {
    await signInAsAdministrator(password, code);
    isAdministratorSignedIn.value = true;
    onDone();
  });
  return (
    <form
      class="stack narrow"
      onSubmit={(event) => {
        event.preventDefault();
        submission.start();
      }}
    >
      <TextField
        label={texts.administratorPassword}
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={setPassword}
      />
      <CodeField
        label={texts.authenticationCode}
        hint={texts.requiredOnlyIfTwoFactor}
        value={code}
        onChange={setCode}
        isOptional
      />
      <ErrorMessage error={submission.error} />
      <div class="row">
        <Button type="submit" busy={submission.isBusy}>
          {texts.signInAsAdministrator}
        </Button>
      </div>
    </form>
  );
}
