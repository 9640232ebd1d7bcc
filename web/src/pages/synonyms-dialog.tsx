import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { showToast } from '../components/toasts.tsx';
import { updateSynonyms } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';

interface SynonymsDialogProps {
  readonly collection: string;
  readonly saved: readonly (readonly string[])[];
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Edits the synonyms of a collection as text. The server checks the words. */
export function SynonymsDialog({ collection, saved, onClose, onSaved }: SynonymsDialogProps) {
  const [text, setText] = useState(() => saved.map((words) => words.join(', ')).join('\n'));
  const submission = useAsyncAction(async () => {
    await updateSynonyms(collection, parseSynonyms(text));
    showToast('Synonyms saved.');
    onSaved();
    onClose();
  });
  return (
    <Dialog title={`Synonyms of ${collection}`} onClose={onClose}>
      {/* The dialog is inside the form of the search, which must not be submitted, and forms cannot be nested. */}
      <div class="stack">
        <Field
          label="Words with the same meaning"
          hint="One list per line, the words separated by commas. They apply to all later queries of the collection."
        >
          {(control) => (
            <CodeArea
              control={control}
              rows={8}
              placeholder={'refund, reimbursement, repayment\nk8s, kubernetes'}
              value={text}
              onChange={setText}
            />
          )}
        </Field>
        <ErrorMessage error={submission.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" busy={submission.isBusy} onClick={submission.start}>
            Save synonyms
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

function parseSynonyms(text: string): string[][] {
  return text
    .split('\n')
    .map((line) =>
      line
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== ''),
    )
    .filter((words) => words.length > 0);
}
