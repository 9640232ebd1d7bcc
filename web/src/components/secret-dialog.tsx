import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Checkbox } from './field.tsx';

interface SecretDialogProps {
  /** Word for the secret: "key". */
  readonly noun: string;
  readonly secret: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Shows a new secret, once. Closes only after the user confirms that it is saved. */
export function SecretDialog({ noun, secret, onClose, children }: SecretDialogProps) {
  const [isSaved, setSaved] = useState(false);
  return (
    <Dialog title={`Save your ${noun}`} onClose={onClose} mayClose={false}>
      <p>{children}</p>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label={`Copy ${noun}`} />
      </div>
      <Checkbox label={`I saved the ${noun}`} checked={isSaved} onChange={setSaved} />
      <DialogActions>
        <Button tone="primary" disabled={!isSaved} onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
