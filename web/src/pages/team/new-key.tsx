import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Check } from '../../parts/field.tsx';

interface NewKeyProps {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** The only sight of a new key: it closes when somebody says that they saved it. */
export function NewKey({ name, secret, onClose }: NewKeyProps) {
  const [isSaved, setSaved] = useState(false);
  return (
    <Dialog title="Save your key" onClose={onClose} mayClose={false}>
      <p>
        This is <strong>{name}</strong>. It is shown only now: the server keeps a fingerprint of it and cannot
        show it again.
      </p>
      <div class="secret">
        <code>{secret}</code>
        <Copy text={secret} label="Copy key" />
      </div>
      <Check label="I saved it" checked={isSaved} onChange={setSaved} />
      <DialogActions>
        <Button tone="primary" disabled={!isSaved} onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
