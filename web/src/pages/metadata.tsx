import { useState } from 'preact/hooks';
import type { DocumentResponse } from '../../../src/schemas/documents.ts';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { Card } from '../components/page.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatMetadataValue } from '../format/metadata-value.ts';
import { parseJson } from '../format/parse-json.ts';
import { type DocumentReference, updateDocument } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/document.ts';

interface MetadataCardProps {
  readonly reference: DocumentReference;
  readonly found: DocumentResponse;
  readonly onSaved: () => void;
}

/** Metadata of a document, which queries can filter by. */
export function MetadataCard({ reference, found, onSaved }: MetadataCardProps) {
  const [isEditing, setEditing] = useState(false);
  const entries = Object.entries(found.metadata);
  const mayEdit = found.index_status === 'indexed';
  return (
    <Card
      title={texts.metadata}
      actions={
        <Button tone="ghost" disabled={!mayEdit} onClick={() => setEditing(true)}>
          {texts.edit}
        </Button>
      }
    >
      {entries.length === 0 ? (
        <p class="muted">{texts.noMetadataQueriesCanFilter}</p>
      ) : (
        <dl class="properties">
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{formatMetadataValue(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {!mayEdit && <p class="hint">{texts.metadataCanBeEditedAfter}</p>}
      {isEditing && (
        <MetadataDialog
          reference={reference}
          found={found}
          onClose={() => setEditing(false)}
          onSaved={onSaved}
        />
      )}
    </Card>
  );
}

interface MetadataDialogProps {
  readonly reference: DocumentReference;
  readonly found: DocumentResponse;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

function MetadataDialog({ reference, found, onClose, onSaved }: MetadataDialogProps) {
  const [text, setText] = useState(JSON.stringify(found.metadata, null, 2));
  const parsed = parseJson(text);
  const submission = useAsyncAction(async () => {
    if (parsed.error !== null) return;
    await updateDocument(reference, { metadata: parsed.value as DocumentResponse['metadata'] });
    showToast(texts.metadataSaved);
    onSaved();
    onClose();
  });
  return (
    <Dialog title={texts.editMetadata} onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <Field label="JSON" hint={texts.keysWithTextsNumbersBooleans} error={parsed.error}>
          {(control) => <CodeArea control={control} rows={10} value={text} onChange={setText} />}
        </Field>
        <DialogActions error={submission.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone="primary" busy={submission.isBusy} disabled={parsed.error !== null}>
            {texts.save}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
