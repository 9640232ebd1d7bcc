import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { TextField } from '../components/text-field.tsx';
import { showToast } from '../components/toasts.tsx';
import { updateHistory } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/collections.ts';
import { fill } from '../texts/format-text.ts';

interface HistoryFormProps {
  readonly name: string;
  /** Days for which versions are kept; undefined if they are not. */
  readonly saved: number | undefined;
  readonly onSaved: () => void;
}

/** Sets for how long replaced and deleted versions of documents are kept. A change that deletes versions says so. */
export function HistoryForm({ name, saved, onSaved }: HistoryFormProps) {
  const before = saved === undefined ? '' : String(saved);
  const [days, setDays] = useState(before);
  const submission = useAsyncAction(async () => {
    await updateHistory(name, days === '' ? null : Number(days));
    showToast(texts.historySaved);
    onSaved();
  });
  const deletesAll = days === '' && saved !== undefined;
  const deletesSome = days !== '' && saved !== undefined && Number(days) < saved;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (days !== before) submission.start();
      }}
    >
      <TextField
        label={texts.keepOldVersions}
        hint={texts.daysForWhichReplacedAnd}
        type="number"
        min={1}
        max={3_650}
        placeholder={texts.notKept}
        value={days}
        onChange={setDays}
      />
      {deletesAll && <p class="note warning">{texts.allOldVersionsOfThis}</p>}
      {deletesSome && <p class="note warning">{fill(texts.oldVersionsOfMoreThan, { days })}</p>}
      <ErrorMessage error={submission.error} />
      {days !== before && (
        <div class="row">
          <Button type="submit" tone={deletesAll ? 'danger' : 'primary'} busy={submission.isBusy}>
            {deletesAll ? texts.deleteHistory : texts.saveHistory}
          </Button>
          <Button onClick={() => setDays(before)}>{texts.cancel}</Button>
        </div>
      )}
    </form>
  );
}
