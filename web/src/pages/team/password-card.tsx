import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Card } from '../../components/page.tsx';
import { PasswordField } from '../../components/password-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { setPassword } from '../../server/passwords.ts';
import { loadSession } from '../../server/session.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/settings.ts';

/** Sets or changes the password of the user. */
export function PasswordCard({ hasPassword }: { readonly hasPassword: boolean }) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const save = useAsyncAction(async () => {
    await setPassword(current, next);
    setCurrent('');
    setNext('');
    await loadSession();
    showToast(texts.passwordSavedYourOtherSessions);
  });
  return (
    <Card title={texts.password}>
      <form
        class="stack narrow"
        onSubmit={(event) => {
          event.preventDefault();
          save.start();
        }}
      >
        {!hasPassword && <p>{texts.setAPasswordToSign}</p>}
        {hasPassword && (
          <PasswordField label={texts.currentPassword} kind="current" value={current} onChange={setCurrent} />
        )}
        <PasswordField label={texts.newPassword} kind="new" value={next} onChange={setNext} />
        <ErrorMessage error={save.error} />
        <div class="row">
          <Button type="submit" busy={save.isBusy}>
            {hasPassword ? texts.changePassword : texts.setPassword}
          </Button>
        </div>
      </form>
    </Card>
  );
}
