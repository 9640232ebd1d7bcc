import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { TextField } from '../components/text-field.tsx';
import { addCollection } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';

const shardChoices = [
  [1, '1 (up to a few hundred thousand documents)'],
  [8, '8 (up to a few million documents)'],
  [16, '16 (tens of millions of documents)'],
  [32, '32 (larger collections)'],
  [64, '64 (maximum)'],
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
    <Dialog title="New collection" onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submission.start();
        }}
      >
        <TextField
          label="Name"
          hint="The API uses this name. It cannot be changed later."
          required
          autoComplete="off"
          spellcheck={false}
          placeholder="handbook"
          value={name}
          onChange={setName}
        />
        <Field
          label="Shards"
          hint="Number of index parts that are searched in parallel. More shards speed up indexing and search of large collections and slow down small ones. Use 1 for most collections. The number cannot be changed later."
        >
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
        <ErrorMessage error={submission.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            Create collection
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
