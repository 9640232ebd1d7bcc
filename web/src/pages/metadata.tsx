import { useState } from 'preact/hooks';
import type { DocumentResponse } from '../../../src/schemas/documents.ts';
import { Button } from '../components/button.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { Card } from '../components/page.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatMetadataValue } from '../format/metadata-value.ts';
import { parseJson } from '../format/parse-json.ts';
import { type DocumentReference, updateDocument } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';

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
      title="Metadata"
      actions={
        <Button
          tone="ghost"
          disabled={!mayEdit}
          title={mayEdit ? undefined : 'Metadata can be edited after the document is indexed.'}
          onClick={() => setEditing(true)}
        >
          Edit
        </Button>
      }
    >
      {entries.length === 0 ? (
        <p class="muted">No metadata. Queries can filter by metadata, such as author or year.</p>
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
    showToast('Metadata saved.');
    onSaved();
    onClose();
  });
  return (
    <Dialog title="Edit metadata" onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <Field
          label="JSON"
          hint='Keys with texts, numbers, booleans or points, such as {"author": "Ada", "year": 2026}. Keys with list values start with "list:".'
          error={parsed.error}
        >
          {(control) => <CodeArea control={control} rows={10} value={text} onChange={setText} />}
        </Field>
        <ErrorMessage error={submission.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={submission.isBusy} disabled={parsed.error !== null}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
