import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { ConfirmationField } from '../components/confirmation-field.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatCount } from '../format/numbers.ts';
import { type DocumentRow, deleteDocuments, updateDocument } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/documents.ts';
import { counted, fill } from '../texts/format-text.ts';
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
      title={counted(texts.deleteCountDocuments, count)}
      label={texts.delete}
      tone="danger"
      action={action}
      isReady={!isAll || typed === collection}
      toSummary={({ done }) => counted(texts.countDocumentsDeleted, done)}
    >
      <p>{counted(texts.theDocumentsAreRemovedFrom, count)}</p>
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
      title={texts.retryFailedDocuments}
      label={texts.retry}
      tone="primary"
      action={retryAction}
      isReady
      toSummary={({ done, skipped }) =>
        counted(texts.countDocumentsQueuedForRetry, done, {
          rest: skipped > 0 ? counted(texts.countHadNotFailed, skipped) : '',
        })
      }
    >
      <p>{counted(texts.countDocumentsSelectedFailedOnes, props.count)}</p>
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
      title={counted(texts.editMetadataOfCountDocuments, props.count)}
      label={texts.apply}
      tone="primary"
      action={action}
      isReady={named.length > 0 && error === null}
      toSummary={({ done, skipped }) =>
        counted(texts.countDocumentsChangedRest, done, {
          rest: skipped > 0 ? counted(texts.countSkippedNotIndexedOr, skipped) : '',
        })
      }
    >
      <p>{texts.otherFieldsKeepTheirValues}</p>
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
          {texts.addField}
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
          aria-label={fill(texts.changeNumber, { number })}
          value={change.kind}
          onChange={({ currentTarget }) =>
            onChange({ ...change, kind: currentTarget.value === 'remove' ? 'remove' : 'set' })
          }
        >
          <option value="set">{texts.set}</option>
          <option value="remove">{texts.remove}</option>
        </select>
      </div>
      <div class="field">
        <input
          type="text"
          aria-label={fill(texts.nameOfFieldNumber, { number })}
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
          aria-label={fill(texts.valueOfFieldNumber, { number })}
          placeholder={isList ? texts.billingRefunds : '2026'}
          autoComplete="off"
          disabled={change.kind === 'remove'}
          value={change.kind === 'remove' ? '' : change.value}
          onInput={({ currentTarget }) => onChange({ ...change, value: currentTarget.value })}
        />
      </div>
      {onRemove !== null && (
        <button
          type="button"
          class="icon-button"
          aria-label={fill(texts.removeChangeNumber, { number })}
          onClick={onRemove}
        >
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
      showToast(signal.aborted ? fill(texts.stoppedTotal, { total: toSummary(total) }) : toSummary(total));
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
            <progress max={Math.max(1, count)} value={processed} aria-label={texts.progress} />
            <span class="muted number">
              {fill(texts.processedOfCount, { processed: formatCount(processed), count: formatCount(count) })}
            </span>
          </div>
        )}
        <DialogActions error={submission.error}>
          {submission.isBusy ? (
            <Button onClick={() => abort.current.abort()}>{texts.stop}</Button>
          ) : (
            <Button onClick={onClose}>{texts.cancel}</Button>
          )}
          <Button type="submit" tone={tone} busy={submission.isBusy} disabled={!isReady}>
            {label}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
