import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ErrorMessage } from '../parts/error-message.tsx';
import { Field } from '../parts/field.tsx';
import { addCollection } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';

const shardChoices = [
  [1, '1: up to some hundred thousand documents'],
  [8, '8: up to some millions'],
  [16, '16: tens of millions'],
  [32, '32: more than that'],
  [64, '64: the most'],
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
        <Field label="Name" hint="Programs use this name. It cannot be changed later.">
          {(controlProps) => (
            <input
              {...controlProps}
              type="text"
              required
              autoComplete="off"
              spellcheck={false}
              placeholder="handbook"
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field
          label="Shards"
          hint="Parts that are searched side by side. More make large collections faster to fill and to search, and small ones slower. It cannot be changed later; 1 is right for most."
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
