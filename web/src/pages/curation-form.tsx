import { useState } from 'preact/hooks';
import type { Curation } from '../../../src/schemas/curations.ts';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/curations.ts';

interface CurationFormProps {
  /** Undefined for a new rule. */
  readonly saved: Curation | undefined;
  readonly onSave: (rule: Curation) => Promise<void>;
  readonly onClose: () => void;
}

/** Edits one rule, with one query or path per line. The server checks it. */
export function CurationForm({ saved, onSave, onClose }: CurationFormProps) {
  const [queries, setQueries] = useState(() => toText(saved?.queries));
  const [pinned, setPinned] = useState(() => toText(saved?.pinned));
  const [hidden, setHidden] = useState(() => toText(saved?.hidden));
  const submission = useAsyncAction(async () => {
    await onSave({ queries: toLines(queries), pinned: toLines(pinned), hidden: toLines(hidden) });
    onClose();
  });
  const field = (
    label: string,
    hint: string,
    {
      value,
      onChange,
      placeholder,
    }: { readonly value: string; readonly onChange: (text: string) => void; readonly placeholder: string },
  ) => (
    <Field label={label} hint={hint}>
      {(control) => (
        <CodeArea control={control} rows={3} placeholder={placeholder} value={value} onChange={onChange} />
      )}
    </Field>
  );
  return (
    <Dialog
      title={saved === undefined ? texts.newRule : texts.editRule}
      onClose={onClose}
      mayClose={!submission.isBusy}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        {field(texts.queries, texts.onePerLineCaseAccents, {
          value: queries,
          onChange: setQueries,
          placeholder: texts.refundMoneyBack,
        })}
        {field(texts.pinnedDocuments, texts.pathsOfTheDocumentsThat, {
          value: pinned,
          onChange: setPinned,
          placeholder: 'refunds.md\nreturns.md',
        })}
        {field(texts.hiddenDocuments, texts.pathsOfTheDocumentsThatAre, {
          value: hidden,
          onChange: setHidden,
          placeholder: 'refunds-2019.md',
        })}
        <DialogActions error={submission.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            {texts.saveRule}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function toText(lines: readonly string[] = []): string {
  return lines.join('\n');
}

/** Returns the lines that are not blank, without surrounding spaces. */
function toLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
