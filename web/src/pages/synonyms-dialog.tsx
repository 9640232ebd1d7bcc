import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { showToast } from '../components/toasts.tsx';
import { useLoad } from '../server/load.ts';
import { getCollectionInfo, updateSynonyms } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { synonymChanges } from './synonym-changes.ts';

interface SynonymsDialogProps {
  readonly collection: string;
  readonly onClose: () => void;
}

/** Edits the synonyms of a collection. */
export function SynonymsDialog({ collection, onClose }: SynonymsDialogProps) {
  const info = useLoad(
    async (abort) => (await getCollectionInfo(collection, abort)).collection,
    [collection],
  );
  return (
    <Dialog title={`Synonyms of ${collection}`} onClose={onClose}>
      {info.data !== undefined ? (
        <SynonymsForm collection={collection} saved={info.data.synonyms ?? []} onClose={onClose} />
      ) : info.error === null ? (
        <SkeletonRows rows={4} />
      ) : (
        <LoadError error={info.error} onRetry={info.reload} />
      )}
    </Dialog>
  );
}

interface SynonymsFormProps extends SynonymsDialogProps {
  readonly saved: readonly (readonly string[])[];
}

/** The server checks the words. */
function SynonymsForm({ collection, saved, onClose }: SynonymsFormProps) {
  const [text, setText] = useState(() => saved.map((words) => words.join(', ')).join('\n'));
  const submission = useAsyncAction(async () => {
    await updateSynonyms(collection, parseSynonyms(text));
    synonymChanges.value += 1;
    showToast('Synonyms saved.');
    onClose();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submission.start();
      }}
    >
      <Field
        label="Words with the same meaning"
        hint="One list per line, its words separated by commas. They apply to all later queries of the collection."
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
        <Button type="submit" tone="primary" busy={submission.isBusy}>
          Save synonyms
        </Button>
      </DialogActions>
    </form>
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
