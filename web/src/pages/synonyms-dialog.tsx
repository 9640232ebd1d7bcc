import { useState } from 'preact/hooks';
import type { CollectionInfo } from '../../../src/schemas/collections.ts';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { showToast } from '../components/toasts.tsx';
import { useLoad } from '../server/load.ts';
import { getCollectionInfo, updateWords } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/curations.ts';
import { fill } from '../texts/format-text.ts';
import { collectionChanges } from './collection-changes.ts';

interface SynonymsDialogProps {
  readonly collection: string;
  readonly onClose: () => void;
}

/** Edits the synonyms and stop words of a collection. */
export function SynonymsDialog({ collection, onClose }: SynonymsDialogProps) {
  const info = useLoad(
    async (abort) => (await getCollectionInfo(collection, abort)).collection,
    [collection],
  );
  return (
    <Dialog title={fill(texts.synonymsAndStopWordsOf, { collection })} onClose={onClose}>
      {info.data !== undefined ? (
        <SynonymsForm collection={collection} saved={info.data} onClose={onClose} />
      ) : info.error === null ? (
        <SkeletonRows rows={4} />
      ) : (
        <LoadError error={info.error} onRetry={info.reload} />
      )}
    </Dialog>
  );
}

interface SynonymsFormProps extends SynonymsDialogProps {
  readonly saved: Pick<CollectionInfo, 'synonyms' | 'stop_words'>;
}

/** The server checks the words. */
function SynonymsForm({ collection, saved, onClose }: SynonymsFormProps) {
  const [text, setText] = useState(() => (saved.synonyms ?? []).map((words) => words.join(', ')).join('\n'));
  const [stopWords, setStopWords] = useState(() => (saved.stop_words ?? []).join(', '));
  const submission = useAsyncAction(async () => {
    const stop_words = toLists(stopWords).flat();
    await updateWords(collection, { synonyms: toLists(text), stop_words });
    collectionChanges.value += 1;
    showToast(texts.synonymsAndStopWordsSaved);
    onClose();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submission.start();
      }}
    >
      <Field label={texts.wordsWithTheSameMeaning} hint={texts.oneListPerLineIts}>
        {(control) => (
          <CodeArea
            control={control}
            rows={8}
            placeholder={texts.refundReimbursementRepaymentK8sKubernetes}
            value={text}
            onChange={setText}
          />
        )}
      </Field>
      <Field label={texts.stopWords} hint={texts.wordsThatLexicalSearchIgnores}>
        {(control) => (
          <CodeArea
            control={control}
            rows={3}
            placeholder="acme, inc"
            value={stopWords}
            onChange={setStopWords}
          />
        )}
      </Field>
      <DialogActions error={submission.error}>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button type="submit" tone="primary" busy={submission.isBusy}>
          {texts.saveWords}
        </Button>
      </DialogActions>
    </form>
  );
}

/** Returns the words of each line. */
function toLists(text: string): string[][] {
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
