import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/components.ts';
import { Button } from './button.tsx';
import { ConfirmationField } from './confirmation-field.tsx';
import { Dialog, DialogActions } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  /** Label of the button, for example "Delete collection". */
  readonly action: string;
  /** Text to type before the button is enabled. */
  readonly requiredText?: string;
  /** `primary` for actions that are not destructive. */
  readonly tone?: 'danger' | 'primary';
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks for confirmation. If the action fails, the dialog stays open and shows the error. */
export function ConfirmDialog({
  title,
  action,
  requiredText,
  tone = 'danger',
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  const [text, setText] = useState('');
  const submission = useAsyncAction(async () => {
    await onConfirm();
    onClose();
  });
  const isReady = requiredText === undefined || text === requiredText;
  return (
    <Dialog title={title} onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) submission.start();
        }}
      >
        <div class="prose">{children}</div>
        {requiredText !== undefined && (
          <ConfirmationField requiredText={requiredText} value={text} onChange={setText} />
        )}
        <DialogActions error={submission.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone={tone} busy={submission.isBusy} disabled={!isReady}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
