import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { Checkbox } from '../../components/field.tsx';

interface NewKeyDialogProps {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows the secret of a new key, once. Closes only after the user confirms that it is saved. */
export function NewKeyDialog({ name, secret, onClose }: NewKeyDialogProps) {
  const [isSaved, setSaved] = useState(false);
  return (
    <Dialog title="Save your key" onClose={onClose} mayClose={false}>
      <p>
        Copy the key <strong>{name}</strong> now. The server stores only a hash and cannot show the key again.
      </p>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy key" />
      </div>
      <Checkbox label="I saved the key" checked={isSaved} onChange={setSaved} />
      <DialogActions>
        <Button tone="primary" disabled={!isSaved} onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
