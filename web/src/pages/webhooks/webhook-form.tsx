import { useState } from 'preact/hooks';
import type { ChangeType } from '../../../../src/schemas/changes.ts';
import type { WebhookSecretResponse } from '../../../../src/schemas/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { Checkbox } from '../../components/field.tsx';
import { TextField } from '../../components/text-field.tsx';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { addWebhook, updateWebhook, type WebhookInfo } from '../../server/webhooks.ts';
import { texts } from '../../texts/en/webhooks.ts';
import { CollectionPicker } from '../collection-picker.tsx';

/** All types of changes and their meaning. */
const changeTypes: Readonly<Record<ChangeType, string>> = {
  'document.added': texts.aDocumentWasAccepted,
  'document.overwritten': texts.aDocumentWasReplacedBy,
  'document.indexed': texts.theCurrentVersionOfA,
  'document.failed': texts.aDocumentCouldNotBe,
  'document.metadata_changed': texts.theMetadataOrTheExpiry,
  'document.deleted': texts.aDocumentWasDeletedOr,
  'collection.created': texts.aCollectionWasCreated,
  'collection.renamed': texts.aCollectionWasRenamed,
  'collection.deleted': texts.aCollectionWasDeletedWith,
};

interface WebhookFormProps {
  /** The webhook to edit; null for a new one. */
  readonly before: WebhookInfo | null;
  readonly onClose: () => void;
  /** Receives the secret of a new webhook; null after an edit. */
  readonly onDone: (created: WebhookSecretResponse | null) => void;
}

/** Form that creates or edits a webhook. */
export function WebhookForm({ before, onClose, onDone }: WebhookFormProps) {
  const [url, setUrl] = useState(before?.url ?? '');
  const [description, setDescription] = useState(before?.description ?? '');
  const [types, setTypes] = useState<readonly ChangeType[] | null>(before?.types ?? null);
  const [names, setNames] = useState<readonly string[] | null>(before?.collection_names ?? null);
  const submission = useAsyncAction(async () => {
    const fields = {
      url: url.trim(),
      description,
      types: types && [...types],
      collection_names: names && [...names],
    };
    if (before === null) return onDone(await addWebhook(fields));
    await updateWebhook({ webhook_id: before.webhook_id, ...fields });
    onDone(null);
  });
  const isReady = types?.length !== 0 && names?.length !== 0;
  return (
    <Dialog
      title={before === null ? texts.createWebhook : texts.editWebhook}
      onClose={onClose}
      // Closing now would lose the secret of a webhook that is being created.
      mayClose={!submission.isBusy}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) submission.start();
        }}
      >
        <UrlField url={url} onChange={setUrl} />
        <TextField
          label={texts.description}
          maxLength={256}
          autoComplete="off"
          value={description}
          onChange={setDescription}
        />
        <TypePicker selected={types} onChange={setTypes} />
        <CollectionPicker selected={names} onChange={setNames} />
        <DialogActions error={submission.error}>
          <Button onClick={onClose} disabled={submission.isBusy}>
            {texts.cancel}
          </Button>
          <Button type="submit" tone="primary" busy={submission.isBusy} disabled={!isReady}>
            {before === null ? texts.createWebhook : texts.save}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function UrlField({ url, onChange }: { readonly url: string; readonly onChange: (url: string) => void }) {
  return (
    <TextField
      label="URL"
      hint={texts.receivesEachChangeAsA}
      type="url"
      required
      maxLength={2_048}
      autoComplete="off"
      spellcheck={false}
      placeholder="https://example.com/quarry"
      value={url}
      onChange={onChange}
    />
  );
}

interface TypePickerProps {
  /** Null for all types. */
  readonly selected: readonly ChangeType[] | null;
  readonly onChange: (selected: readonly ChangeType[] | null) => void;
}

function TypePicker({ selected, onChange }: TypePickerProps) {
  return (
    <>
      <Checkbox
        label={texts.limitToSelectedTypesOf}
        checked={selected !== null}
        onChange={(isSome) => onChange(isSome ? [] : null)}
      />
      {selected !== null && (
        <div class="picks" role="group" aria-label={texts.typesOfChanges}>
          {(Object.keys(changeTypes) as ChangeType[]).map((type) => (
            <Checkbox
              key={type}
              label={type}
              hint={changeTypes[type]}
              checked={selected.includes(type)}
              onChange={(isIn) =>
                onChange(isIn ? [...selected, type] : selected.filter((other) => other !== type))
              }
            />
          ))}
        </div>
      )}
    </>
  );
}
