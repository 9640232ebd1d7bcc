import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/field.tsx';
import { Trouble } from '../parts/trouble.tsx';
import { administratorIsIn } from '../server/administrator-in.ts';
import { useDoing } from '../server/doing.ts';
import { signInAsAdministrator } from '../server/sign-in.ts';
import { CodeField } from './team/code-field.tsx';

/** Signs in as the administrator of the installation, by password. */
export function AdministratorForm({ onDone }: { readonly onDone: () => void }) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const doing = useDoing(async () => {
    await signInAsAdministrator(password, code);
    administratorIsIn.value = true;
    onDone();
  });
  return (
    <form
      class="stack narrow"
      onSubmit={(event) => {
        event.preventDefault();
        doing.start();
      }}
    >
      <Field label="Password of the administrator">
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </Field>
      <CodeField
        label="Code of the second factor"
        hint="Only where one is set up."
        value={code}
        onChange={setCode}
        isOptional
      />
      <Trouble error={doing.error} />
      <div class="row">
        <Button type="submit" busy={doing.isBusy}>
          Sign in as administrator
        </Button>
      </div>
    </form>
  );
}
