import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useDoing } from '../server/doing.ts';
import { Button } from './button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Field } from './field.tsx';
import { Trouble } from './trouble.tsx';

interface ConfirmProps {
  readonly title: string;
  /** What the button says, for example "Delete collection". */
  readonly action: string;
  /** When given, it has to be typed before the button works. */
  readonly typed?: string;
  /** `primary` for what is not dangerous. */
  readonly tone?: 'danger' | 'primary';
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks before something that matters; stays open and says why when it fails. */
export function Confirm({
  title,
  action,
  typed,
  tone = 'danger',
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  const [words, setWords] = useState('');
  const doing = useDoing(async () => {
    await onConfirm();
    onClose();
  });
  const isReady = typed === undefined || words === typed;
  return (
    <Dialog title={title} onClose={onClose} mayClose={!doing.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) doing.start();
        }}
      >
        <div class="prose">{children}</div>
        {typed !== undefined && (
          <Field label={`Type “${typed}” to go on`}>
            {(names) => (
              <input
                {...names}
                type="text"
                autoComplete="off"
                spellcheck={false}
                value={words}
                onInput={(event) => setWords(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Trouble error={doing.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={tone} busy={doing.isBusy} disabled={!isReady}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
