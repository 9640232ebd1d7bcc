import type { ComponentType } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { DocumentSortField } from '../../../src/core/document-sort-fields.ts';
import { isNarrow } from '../browser/media.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { showToast } from '../components/toasts.tsx';
import { VirtualRows, type VisibleRange } from '../components/virtual-rows.tsx';
import { formatBytes, formatCount } from '../format/numbers.ts';
import { documentUrl, uploadUrl } from '../page-urls.ts';
import { errorMessage } from '../server/api-call.ts';
import type { DocumentRow } from '../server/retrieval.ts';
import { texts } from '../texts/en/documents.ts';
import { counted, fill } from '../texts/format-text.ts';
import type { BulkDialogName, BulkDialogProps } from './bulk-dialogs.tsx';
import type { DocumentList } from './document-list.ts';
import { type DocumentQuery, hasFilters } from './document-query.ts';
import {
  completeSelection,
  countSelected,
  type DocumentSelection,
  emptySelection,
  isSelected,
  selectedPages,
  withRows,
} from './document-selection.ts';
import { hasFailed } from './document-states.ts';
import { StateChip } from './state-chip.tsx';

/** Row heights in pixels. A narrow row has two lines; a failed one reserves space for its error message. */
const rowHeights = { plain: { wide: 48, narrow: 68 }, failed: { wide: 68, narrow: 132 } } as const;
/** Number of rows before the end of the loaded rows at which the next rows are loaded. */
const prefetchRows = 200;

/** Props of the list: visible rows and available actions. */
interface DocumentRowsProps {
  readonly list: DocumentList;
  /** Number of documents of the collection; undefined while it loads. */
  readonly total: number | undefined;
  readonly onSort: (sort: DocumentSortField, isDescending: boolean) => void;
  readonly onClearFilters: () => void;
  /** Called after this page has changed documents. */
  readonly onChanged: () => void;
  readonly onVisibleRangeChange: (visibleRange: VisibleRange) => void;
}

export function DocumentRows(props: DocumentRowsProps) {
  const { list, onSort, onClearFilters, onVisibleRangeChange } = props;
  const [selection, setSelection] = useState(emptySelection);
  const lastChanged = useRef<number | null>(null);
  const rows = list.rows.value;
  const isComplete = list.isComplete.value;
  const loadFailure = list.error.value;
  const { query } = list;
  const total = isComplete ? rows.length : (list.matching.value ?? props.total ?? rows.length);
  /** Shift also changes the rows since the last change. */
  const select = (position: number, isAdded: boolean, hasShift: boolean) => {
    const from = hasShift ? (lastChanged.current ?? position) : position;
    const changed = rows.slice(Math.min(from, position), Math.max(from, position) + 1);
    lastChanged.current = position;
    setSelection(withRows(selection, changed, isAdded));
  };
  const loadError = loadFailure !== null && (
    <LoadError error={loadFailure} onRetry={() => void list.loadMore()} />
  );
  if (rows.length === 0) {
    if (loadError) return loadError;
    if (!isComplete) return <SkeletonRows rows={8} />;
    return <EmptyRows query={query} onClearFilters={onClearFilters} />;
  }
  const kind = query.show === 'failed' ? 'failed' : 'plain';
  return (
    <>
      <ListHead {...props} selection={selection} total={total} onSelection={setSelection} />
      <div
        class={`document-rows ${kind}`}
        role="table"
        aria-label={texts.documents}
        aria-rowcount={isComplete ? rows.length + 1 : -1}
      >
        <Headings query={query} onSort={onSort} />
        <VirtualRows
          rows={rows}
          rowHeight={rowHeights[kind][isNarrow.value ? 'narrow' : 'wide']}
          keyOf={(row) => row.path}
          onVisibleRangeChange={(visibleRange) => {
            onVisibleRangeChange(visibleRange);
            if (visibleRange.end > rows.length - prefetchRows) void list.loadMore();
          }}
          render={(row, position) => (
            <DocumentCells
              row={row}
              isSelected={isSelected(selection, row.path)}
              onSelect={(isAdded, hasShift) => select(position, isAdded, hasShift)}
            />
          )}
        />
      </div>
      {loadError}
    </>
  );
}

type ListHeadProps = Omit<DocumentRowsProps, 'total'> & {
  readonly total: number;
  readonly selection: DocumentSelection;
  readonly onSelection: (selection: DocumentSelection) => void;
};

/** Number of documents, selection of all, and the actions on the selection. */
function ListHead({ list, total, selection, onSelection, onChanged }: ListHeadProps) {
  const [dialog, setDialog] = useState<BulkDialogName | null>(null);
  const { query } = list;
  const count = countSelected(selection, total);
  const isAll = selection.kind === 'all';
  const changed = () => {
    onSelection(emptySelection);
    onChanged();
    list.restart().catch((error: unknown) => showToast(errorMessage(error), 'bad'));
  };
  const mayRetry = isAll || [...selection.rows.values()].some((row) => hasFailed(row.index_status));
  return (
    <div class="list-head">
      <label class="check select-all">
        <input
          type="checkbox"
          aria-label={texts.selectAllDocuments}
          checked={count > 0 && count === total}
          ref={(box) => {
            if (box !== null) box.indeterminate = count > 0 && count < total;
          }}
          onChange={() => onSelection(count > 0 ? emptySelection : completeSelection)}
        />
        <span class="muted number" role="status">
          {count > 0 ? counted(texts.countDocumentsSelected, count) : counted(texts.countDocuments, total)}
        </span>
      </label>
      <div class="row">
        {count > 0 ? (
          <>
            <Button tone="ghost" onClick={() => onSelection(emptySelection)}>
              {texts.clearSelection}
            </Button>
            {mayRetry && <Button onClick={() => setDialog('retry')}>{texts.retryFailed}</Button>}
            <Button onClick={() => setDialog('metadata')}>{texts.editMetadata}</Button>
            <Button tone="danger" onClick={() => setDialog('delete')}>
              {texts.delete}
            </Button>
          </>
        ) : (
          query.show === 'failed' && (
            <Button
              onClick={() => {
                onSelection(completeSelection);
                setDialog('retry');
              }}
            >
              {texts.retryAll}
            </Button>
          )
        )}
      </div>
      {dialog !== null && (
        <LazyBulkDialog
          name={dialog}
          collection={query.collection}
          count={count}
          paths={selection.kind === 'some' && count <= 5 ? [...selection.rows.keys()] : []}
          isAll={isAll}
          pages={() => selectedPages(list, selection)}
          onClose={() => setDialog(null)}
          onChanged={changed}
        />
      )}
    </div>
  );
}

let loadedDialog: ComponentType<BulkDialogProps> | null = null;

/** The dialogs load at first use. */
function LazyBulkDialog(props: BulkDialogProps) {
  const [, setLoaded] = useState(loadedDialog !== null);
  const isLoading = useRef(false);
  if (loadedDialog === null && !isLoading.current) {
    isLoading.current = true;
    import('./bulk-dialogs.tsx').then(
      ({ BulkDialog }) => {
        loadedDialog = BulkDialog;
        setLoaded(true);
      },
      (error: unknown) => {
        showToast(errorMessage(error), 'bad');
        props.onClose();
      },
    );
  }
  const Dialog = loadedDialog;
  return Dialog === null ? null : <Dialog {...props} />;
}

const columns: readonly (readonly [DocumentSortField, string, 'number' | undefined])[] = [
  ['path', texts.path, undefined],
  ['index_status', texts.status, undefined],
  ['num_pages', texts.pages, 'number'],
  ['size', texts.size, 'number'],
  ['created_at', texts.added, undefined],
];
/** Columns whose greatest values are of interest first. */
const descendingFirst: ReadonlySet<DocumentSortField> = new Set(['num_pages', 'size', 'created_at']);

/** Column headings, which sort the list. A second click reverses the order. */
function Headings({ query, onSort }: { readonly query: DocumentQuery } & Pick<DocumentRowsProps, 'onSort'>) {
  return (
    <div role="rowgroup">
      <div role="row" aria-rowindex={1} class="document-row head">
        <span role="columnheader">
          <span class="visually-hidden">{texts.selected}</span>
        </span>
        {columns.map(([field, title, kind]) => {
          const isSorted = query.sort === field;
          const direction = query.isDescending ? 'descending' : 'ascending';
          return (
            <span key={field} role="columnheader" class={kind} aria-sort={isSorted ? direction : 'none'}>
              <button
                type="button"
                class="sort-button"
                onClick={() => onSort(field, isSorted ? !query.isDescending : descendingFirst.has(field))}
              >
                {title}
                <span class="sort-mark" aria-hidden="true">
                  {isSorted ? (query.isDescending ? '↓' : '↑') : ''}
                </span>
              </button>
            </span>
          );
        })}
      </div>
    </div>
  );
}

interface EmptyRowsProps {
  readonly query: DocumentQuery;
  readonly onClearFilters: () => void;
}

function EmptyRows({ query, onClearFilters }: EmptyRowsProps) {
  if (hasFilters(query))
    return (
      <EmptyState
        title={texts.noMatchingDocuments}
        actions={<Button onClick={onClearFilters}>{texts.clearFilters}</Button>}
      >
        {query.text === ''
          ? texts.noDocumentInThisCollection
          : fill(texts.noDocumentWhosePathContains, { text: query.text })}
      </EmptyState>
    );
  if (query.show === 'failed')
    return <EmptyState title={texts.noFailedDocuments}>{texts.documentsThatCouldNotBe}</EmptyState>;
  if (query.show !== 'all')
    return (
      <EmptyState
        title={query.show === 'pending' ? texts.noDocumentsInProgress : texts.noIndexedDocuments}
        actions={<Button onClick={onClearFilters}>{texts.showAll}</Button>}
      >
        {query.show === 'pending' ? texts.documentsAppearHereFromThe : texts.documentsAppearHereAsSoon}
      </EmptyState>
    );
  return (
    <EmptyState
      title={texts.thisCollectionIsEmpty}
      actions={
        <LinkButton href={uploadUrl(query.collection)} tone="primary">
          {texts.uploadDocuments}
        </LinkButton>
      }
    >
      {texts.uploadFilesOrFoldersHere}
    </EmptyState>
  );
}

interface DocumentCellsProps {
  readonly row: DocumentRow;
  readonly isSelected: boolean;
  readonly onSelect: (isSelected: boolean, hasShift: boolean) => void;
}

function DocumentCells({ row, isSelected, onSelect }: DocumentCellsProps) {
  return (
    <div class="document-row" role="presentation">
      <span role="cell">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={fill(texts.selectPath, { path: row.path })}
          onClick={(event) => onSelect(event.currentTarget.checked, event.shiftKey)}
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
