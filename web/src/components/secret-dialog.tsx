import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Checkbox } from './field.tsx';

const kinds = {
  key: { title: 'Save your key', label: 'Copy key', summary: 'I saved the key' },
  secret: { title: 'Save your secret', label: 'Copy secret', summary: 'I saved the secret' },
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
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
