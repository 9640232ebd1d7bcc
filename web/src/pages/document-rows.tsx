import { useState } from 'preact/hooks';
import { isNarrow } from '../browser/media.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { showToast } from '../components/toasts.tsx';
import { VirtualRows, type VisibleRange } from '../components/virtual-rows.tsx';
import { formatBytes, formatCount, formatCounted } from '../format/numbers.ts';
import { documentUrl, uploadUrl } from '../page-urls.ts';
import { errorMessage } from '../server/api-call.ts';
import { type DocumentRow, deleteDocuments } from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import type { DocumentList } from './document-list.ts';
import { retryDocuments } from './retry.ts';
import { StateChip } from './state-chip.tsx';

/** Row heights in pixels. A narrow row has two lines; a failed one reserves space for its error message. */
const rowHeights = { all: { wide: 48, narrow: 68 }, failed: { wide: 68, narrow: 132 } } as const;
/** Number of rows before the end of the loaded rows at which the next rows are loaded. */
const prefetchRows = 200;

/** Filter of the document list. */
export type DocumentFilter = 'all' | 'failed';

/** Props of the list: visible rows and available actions. */
interface DocumentRowsProps {
  readonly list: DocumentList;
  readonly collection: string;
  readonly prefix: string;
  readonly filter: DocumentFilter;
  readonly onRetried: () => void;
  readonly onVisibleRangeChange: (visibleRange: VisibleRange) => void;
}

export function DocumentRows({
  list,
  collection,
  prefix,
  filter,
  onRetried,
  onVisibleRangeChange,
}: DocumentRowsProps) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const rows = list.rows.value;
  const isComplete = list.isComplete.value;
  const loadFailure = list.error.value;
  const select = (path: string, isSelected: boolean) =>
    setSelected(withSelection(selected, path, isSelected));
  const loadError = loadFailure !== null && (
    <LoadError error={loadFailure} onRetry={() => void list.loadMore()} />
  );
  if (rows.length === 0) {
    if (loadError) return loadError;
    if (!isComplete) return <SkeletonRows rows={8} />;
    return <EmptyRows collection={collection} prefix={prefix} filter={filter} />;
  }
  const countLabel = `${formatCounted(rows.length, 'document')}${isComplete ? '' : ' loaded; scroll to load more'}`;
  return (
    <>
      <div class="list-head">
        <p class="muted number" role="status">
          {selected.size > 0 ? `${formatCounted(selected.size, 'document')} selected` : countLabel}
        </p>
        <div class="row">
          {filter === 'failed' && <RetryAll list={list} onRetried={onRetried} />}
          {selected.size > 0 && (
            <SelectionActions
              list={list}
              collection={collection}
              selected={selected}
              onDone={() => setSelected(new Set())}
            />
          )}
        </div>
      </div>
      <div
        class={`document-rows ${filter}`}
        role="table"
        aria-label="Documents"
        aria-rowcount={isComplete ? rows.length + 1 : -1}
      >
        <Headings />
        <VirtualRows
          rows={rows}
          rowHeight={rowHeights[filter][isNarrow.value ? 'narrow' : 'wide']}
          keyOf={(row) => row.path}
          onVisibleRangeChange={(visibleRange) => {
            onVisibleRangeChange(visibleRange);
            if (visibleRange.end > rows.length - prefetchRows) void list.loadMore();
          }}
          render={(row) => (
            <DocumentCells
              row={row}
              isSelected={selected.has(row.path)}
              onSelect={(isSelected) => select(row.path, isSelected)}
            />
          )}
        />
      </div>
      {loadError}
    </>
  );
}

function withSelection(paths: ReadonlySet<string>, path: string, isSelected: boolean): ReadonlySet<string> {
  const changed = new Set(paths);
  if (isSelected) changed.add(path);
  else changed.delete(path);
  return changed;
}

function Headings() {
  return (
    <div role="rowgroup">
      <div role="row" aria-rowindex={1} class="document-row head">
        <span role="columnheader">
          <span class="visually-hidden">Selected</span>
        </span>
        <span role="columnheader">Path</span>
        <span role="columnheader">Status</span>
        <span role="columnheader" class="number">
          Pages
        </span>
        <span role="columnheader" class="number">
          Size
        </span>
        <span role="columnheader">Added</span>
      </div>
    </div>
  );
}

/** Retries all failed documents, including those that are not loaded. */
function RetryAll({ list, onRetried }: Pick<DocumentRowsProps, 'list' | 'onRetried'>) {
  const retry = useAsyncAction(async () => {
    const { retriedCount, failure } = await retryDocuments(list.pages());
    if (failure === null) showToast(`${formatCounted(retriedCount, 'document')} queued for retry.`);
    else showToast(errorMessage(failure), 'bad');
    onRetried();
    await list.restart();
  });
  return (
    <>
      <ErrorMessage error={retry.error} />
      <Button onClick={retry.start} busy={retry.isBusy}>
        Retry all
      </Button>
    </>
  );
}

interface SelectionActionsProps {
  readonly list: DocumentList;
  readonly collection: string;
  readonly selected: ReadonlySet<string>;
  readonly onDone: () => void;
}

function SelectionActions({ list, collection, selected, onDone }: SelectionActionsProps) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <Button tone="ghost" onClick={onDone}>
        Clear selection
      </Button>
      <Button tone="danger" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {isDeleting && (
        <DeleteSelectedDialog
          collection={collection}
          paths={[...selected]}
          onClose={() => setDeleting(false)}
          onDeleted={(paths) => {
            list.remove(paths);
            onDone();
          }}
        />
      )}
    </>
  );
}

function EmptyRows({
  collection,
  prefix,
  filter,
}: Pick<DocumentRowsProps, 'collection' | 'prefix' | 'filter'>) {
  if (filter === 'failed')
    return (
      <EmptyState title="No failed documents">
        Documents that could not be parsed or indexed are listed here with the reason.
      </EmptyState>
    );
  if (prefix !== '')
    return (
      <EmptyState title="No matching documents">
        No path in this collection starts with “{prefix}”. Paths are case-sensitive.
      </EmptyState>
    );
  return (
    <EmptyState
      title="This collection is empty"
      actions={
        <LinkButton href={uploadUrl(collection)} tone="primary">
          Upload documents
        </LinkButton>
      }
    >
      Upload files or folders here, or add documents with the API.
    </EmptyState>
  );
}

interface DocumentCellsProps {
  readonly row: DocumentRow;
  readonly isSelected: boolean;
  readonly onSelect: (isSelected: boolean) => void;
}

function DocumentCells({ row, isSelected, onSelect }: DocumentCellsProps) {
  return (
    <div class="document-row" role="presentation">
      <span role="cell">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={`Select ${row.path}`}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </span>
      <span role="cell" class="cut">
        <a href={documentUrl(row.collection_name, row.path)} title={row.path}>
          {row.path}
        </a>
      </span>
      <span role="cell" class="cut">
        <StateChip row={row} />
      </span>
      <span role="cell" class="number">
        {row.num_pages === null ? '–' : formatCount(row.num_pages)}
      </span>
      <span role="cell" class="number">
        {formatBytes(row.size)}
      </span>
      <span role="cell" class="muted cut">
        <RelativeTime at={row.created_at} />
      </span>
    </div>
  );
}

interface DeleteSelectedDialogProps {
  readonly collection: string;
  readonly paths: readonly string[];
  readonly onClose: () => void;
  readonly onDeleted: (paths: ReadonlySet<string>) => void;
}

const deleteBatchSize = 64;

function DeleteSelectedDialog({ collection, paths, onClose, onDeleted }: DeleteSelectedDialogProps) {
  return (
    <ConfirmDialog
      title={`Delete ${formatCounted(paths.length, 'document')}?`}
      action="Delete"
      onClose={onClose}
      onConfirm={async () => {
        for (let start = 0; start < paths.length; start += deleteBatchSize)
          await deleteDocuments(collection, paths.slice(start, start + deleteBatchSize));
        onDeleted(new Set(paths));
        showToast(`${formatCounted(paths.length, 'document')} deleted.`);
      }}
    >
      <p>
        {paths.length === 1 ? 'The document is' : 'The documents are'} removed from search immediately. This
        cannot be undone.
      </p>
      {paths.length <= 5 && (
        <ul>
          {paths.map((path) => (
            <li key={path}>{path}</li>
          ))}
        </ul>
      )}
    </ConfirmDialog>
  );
}
