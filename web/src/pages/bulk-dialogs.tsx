import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ConfirmationField } from '../components/confirmation-field.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatCount, formatCounted } from '../format/numbers.ts';
import { type DocumentRow, deleteDocuments, updateDocument } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { Icon } from '../shell/icons.tsx';
import { type BulkAction, type BulkCounts, runBulk } from './bulk-run.ts';
import { applyChanges, findChangeError, type MetadataChange } from './metadata-changes.ts';
import { retryAction } from './retry.ts';

/** Dialogs for actions on the selected documents. Their code loads at first use. */

export type BulkDialogName = 'delete' | 'retry' | 'metadata';

export interface BulkDialogProps {
  readonly name: BulkDialogName;
  readonly collection: string;
  /** Number of selected documents. */
  readonly count: number;
  /** Paths to show; empty if there are many. */
  readonly paths: readonly string[];
  /** Whether all documents that match the filters are selected. */
  readonly isAll: boolean;
  readonly pages: () => AsyncIterable<readonly DocumentRow[]>;
  readonly onClose: () => void;
  /** Called after the documents were changed, even if only some of them were. */
  readonly onChanged: () => void;
}

export function BulkDialog(props: BulkDialogProps) {
  switch (props.name) {
    case 'delete':
      return <DeleteDialog {...props} />;
    case 'retry':
      return <RetryDialog {...props} />;
    case 'metadata':
      return <MetadataDialog {...props} />;
  }
}

const deleteBatchSize = 64;

function DeleteDialog(props: BulkDialogProps) {
  const { collection, count, paths, isAll } = props;
  const [typed, setTyped] = useState('');
  const action: BulkAction = {
    batchSize: deleteBatchSize,
    skippedStatuses: [404],
    applies: () => true,
    run: async (rows) =>
      (
        await deleteDocuments(
          collection,
          rows.map(({ path }) => path),
        )
      ).deleted_paths.length,
  };
  return (
    <RunDialog
      {...props}
      title={`Delete ${formatCounted(count, 'document')}?`}
      label="Delete"
      tone="danger"
      action={action}
      isReady={!isAll || typed === collection}
      toSummary={({ done }) => `${formatCounted(done, 'document')} deleted.`}
    >
      <p>
        {count === 1 ? 'The document is' : 'The documents are'} removed from search immediately. This cannot
        be undone.
      </p>
      {paths.length > 0 && (
        <ul>
          {paths.map((path) => (
            <li key={path}>{path}</li>
          ))}
        </ul>
      )}
      {isAll && <ConfirmationField requiredText={collection} value={typed} onChange={setTyped} />}
    </RunDialog>
  );
}

function RetryDialog(props: BulkDialogProps) {
  return (
    <RunDialog
      {...props}
      title="Retry failed documents?"
      label="Retry"
      tone="primary"
      action={retryAction}
      isReady
      toSummary={({ done, skipped }) =>
        `${formatCounted(done, 'document')} queued for retry.${skipped > 0 ? ` ${formatCount(skipped)} had not failed.` : ''}`
      }
    >
      <p>
        {formatCounted(props.count, 'document')} selected. Failed ones are processed again from the step that
        failed; others stay unchanged.
      </p>
    </RunDialog>
  );
}

const emptyChange: MetadataChange = { kind: 'set', name: '', value: '' };
/** Maximum number of fields that one run changes. */
const changesMax = 20;

function MetadataDialog(props: BulkDialogProps) {
  const [changes, setChanges] = useState<readonly MetadataChange[]>([emptyChange]);
  const named = changes.filter(({ name }) => name !== '');
  const error = findChangeError(named);
  const action: BulkAction = {
    batchSize: 1,
    skippedStatuses: [404],
    applies: ({ index_status: status, metadata }) =>
      status === 'indexed' && applyChanges(metadata, named) !== metadata,
    run: async ([row]) => {
      const { collection_name: collection, path, metadata } = row!;
      await updateDocument({ collection, path }, { metadata: applyChanges(metadata, named) });
      return 1;
    },
  };
  const replace = (position: number, change: MetadataChange) =>
    setChanges(changes.map((each, i) => (i === position ? change : each)));
  return (
    <RunDialog
      {...props}
      title={`Edit metadata of ${formatCounted(props.count, 'document')}`}
      label="Apply"
      tone="primary"
      action={action}
      isReady={named.length > 0 && error === null}
      toSummary={({ done, skipped }) =>
        `${formatCounted(done, 'document')} changed.${skipped > 0 ? ` ${formatCount(skipped)} skipped: not indexed, or unchanged.` : ''}`
      }
    >
      <p>Other fields keep their values. Only indexed documents can be changed.</p>
      <ul class="metadata-changes">
        {changes.map((change, i) => (
          <MetadataChangeRow
            key={i}
            number={i + 1}
            change={change}
            onChange={(next) => replace(i, next)}
            onRemove={
              changes.length === 1 ? null : () => setChanges(changes.filter((_, position) => position !== i))
            }
          />
        ))}
      </ul>
      {error !== null && <p class="hint wrong">{error}</p>}
      <div class="row">
        <Button disabled={changes.length >= changesMax} onClick={() => setChanges([...changes, emptyChange])}>
          <Icon name="plus" />
          Add field
        </Button>
      </div>
    </RunDialog>
  );
}

interface MetadataChangeRowProps {
  readonly number: number;
  readonly change: MetadataChange;
  readonly onChange: (change: MetadataChange) => void;
  /** Null for the only row. */
  readonly onRemove: (() => void) | null;
}

function MetadataChangeRow({ number, change, onChange, onRemove }: MetadataChangeRowProps) {
  const isList = change.name.startsWith('list:');
  return (
    <li>
      <div class="field">
        <select
          aria-label={`Change ${number}`}
          value={change.kind}
          onChange={({ currentTarget }) =>
            onChange({ ...change, kind: currentTarget.value === 'remove' ? 'remove' : 'set' })
          }
        >
          <option value="set">Set</option>
          <option value="remove">Remove</option>
        </select>
      </div>
      <div class="field">
        <input
          type="text"
          aria-label={`Name of field ${number}`}
          placeholder="year"
          autoComplete="off"
          spellcheck={false}
          value={change.name}
          onInput={({ currentTarget }) => onChange({ ...change, name: currentTarget.value })}
        />
      </div>
      <div class="field">
        <input
          type="text"
          aria-label={`Value of field ${number}`}
          placeholder={isList ? 'billing, refunds' : '2026'}
          autoComplete="off"
          disabled={change.kind === 'remove'}
          value={change.kind === 'remove' ? '' : change.value}
          onInput={({ currentTarget }) => onChange({ ...change, value: currentTarget.value })}
        />
      </div>
      {onRemove !== null && (
        <button type="button" class="icon-button" aria-label={`Remove change ${number}`} onClick={onRemove}>
          <span aria-hidden="true">×</span>
        </button>
      )}
    </li>
  );
}

interface RunDialogProps extends BulkDialogProps {
  readonly title: string;
  readonly label: string;
  readonly tone: 'primary' | 'danger';
  readonly action: BulkAction;
  readonly isReady: boolean;
  readonly toSummary: (counts: BulkCounts) => string;
  readonly children: ComponentChildren;
}

/** Asks for confirmation, runs the action and shows its progress. It can be stopped, and continues after an error. */
function RunDialog(props: RunDialogProps) {
  const { title, label, tone, action, isReady, toSummary, count, pages, onClose, onChanged } = props;
  const [counts, setCounts] = useState<BulkCounts | null>(null);
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const submission = useAsyncAction(async () => {
    abort.current = new AbortController();
    setCounts({ done: 0, skipped: 0 });
    try {
      const { signal } = abort.current;
      const total = await runBulk(pages(), action, { signal, onProgress: setCounts });
      showToast(signal.aborted ? `Stopped. ${toSummary(total)}` : toSummary(total));
      onClose();
    } finally {
      onChanged();
    }
  });
  const processed = counts === null ? 0 : counts.done + counts.skipped;
  return (
    <Dialog title={title} onClose={onClose} mayClose={!submission.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) submission.start();
        }}
      >
        <fieldset class="bulk-fields" disabled={submission.isBusy}>
          {props.children}
        </fieldset>
        {submission.isBusy && (
          <div class="bulk-progress" role="status">
            <progress max={Math.max(1, count)} value={processed} aria-label="Progress" />
            <span class="muted number">
              {formatCount(processed)} of {formatCount(count)}
            </span>
          </div>
        )}
        <ErrorMessage error={submission.error} />
        <DialogActions>
          {submission.isBusy ? (
            <Button onClick={() => abort.current.abort()}>Stop</Button>
          ) : (
            <Button onClick={onClose}>Cancel</Button>
          )}
          <Button type="submit" tone={tone} busy={submission.isBusy} disabled={!isReady}>
            {label}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
