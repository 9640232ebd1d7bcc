import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../texts/en/components.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Checkbox } from './field.tsx';

const kinds = {
  key: { title: texts.saveYourKey, label: texts.copyKey, summary: texts.iSavedTheKey },
  secret: { title: texts.saveYourSecret, label: texts.copySecret, summary: texts.iSavedTheSecret },
};

interface SecretDialogProps {
  readonly kind: keyof typeof kinds;
  readonly secret: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Shows a new secret, once. Closes only after the user confirms that it is saved. */
export function SecretDialog({ kind, secret, onClose, children }: SecretDialogProps) {
  const { title, label, summary } = kinds[kind];
  const [isSaved, setSaved] = useState(false);
  return (
    <Dialog title={title} onClose={onClose} mayClose={false}>
      <p>{children}</p>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label={label} />
      </div>
      <Checkbox label={summary} checked={isSaved} onChange={setSaved} />
      <DialogActions>
        <Button tone="primary" disabled={!isSaved} onClick={onClose}>
          {texts.done}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
