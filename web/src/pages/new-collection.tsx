import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { Field } from '../components/field.tsx';
import { TextField } from '../components/text-field.tsx';
import { addCollection } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/collections.ts';

const shardChoices = [
  [1, texts.n1UpToAFew],
  [8, texts.n8UpToAFew],
  [16, texts.n16TensOfMillionsOf],
  [32, texts.n32LargerCollections],
  [64, texts.n64Maximum],
] as const;

interface NewCollectionProps {
  readonly onClose: () => void;
  readonly onCreated: (name: string) => void;
}

export function NewCollection({ onClose, onCreated }: NewCollectionProps) {
  const [name, setName] = useState('');
  const [shards, setShards] = useState(1);
  const submission = useAsyncAction(async () => {
    await addCollection({ collection_name: name, num_shards: shards });
    onCreated(name);
    onClose();
  });
  return (
    <Dialog title={texts.newCollection} onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <TextField
          label={texts.name}
          hint={texts.theApiUsesThisName}
          required
          autoComplete="off"
          spellcheck={false}
          placeholder="handbook"
          value={name}
          onChange={setName}
        />
        <Field label={texts.shards} hint={texts.numberOfIndexPartsThat}>
          {(controlProps) => (
            <select
              {...controlProps}
              value={String(shards)}
              onChange={(event) => setShards(Number(event.currentTarget.value))}
            >
              {shardChoices.map(([number, label]) => (
                <option key={number} value={String(number)}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        <DialogActions error={submission.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            {texts.createCollection}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
