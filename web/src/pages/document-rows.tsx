import { useState } from 'preact/hooks';
import { documentAt, uploadTo } from '../addresses.ts';
import { isNarrow } from '../browser/media.ts';
import { Blank } from '../parts/blank.tsx';
import { Button, LinkButton } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { SkeletonRows } from '../parts/skeleton.tsx';
import { toast } from '../parts/toasts.tsx';
import { NotLoaded, Trouble } from '../parts/trouble.tsx';
import { type Seen, VirtualRows } from '../parts/virtual-rows.tsx';
import { When } from '../parts/when.tsx';
import { sentenceOf } from '../server/call.ts';
import { useDoing } from '../server/doing.ts';
import { type DocumentRow, deleteDocuments } from '../server/retrieval.ts';
import { bytes, count, counted } from '../words/numbers.ts';
import type { DocumentList } from './document-list.ts';
import { retryAll } from './retry.ts';
import { StateChip } from './state-chip.tsx';

/** Of one document; narrow, it stands in two lines, and among those that failed it has room for its reason. */
const rowHeights = { all: { wide: 48, narrow: 68 }, failed: { wide: 68, narrow: 132 } } as const;
/** So many rows before the last one that is there, the next are loaded. */
const sparedRows = 200;

/** Which documents of a list are shown. */
export type Filter = 'all' | 'failed';

/** What of a list is shown, and what can be done with it. */
interface DocumentRowsProps {
  readonly list: DocumentList;
  readonly collection: string;
  readonly prefix: string;
  readonly filter: Filter;
  readonly onRetried: () => void;
  readonly onSeen: (seen: Seen) => void;
}

export function DocumentRows({ list, collection, prefix, filter, onRetried, onSeen }: DocumentRowsProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const rows = list.rows.value;
  const isWhole = list.isComplete.value;
  const trouble = list.error.value;
  const choose = (path: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(path);
    else next.delete(path);
    setChosen(next);
  };
  const notLoaded = trouble !== null && <NotLoaded error={trouble} onRetry={() => void list.loadMore()} />;
  if (rows.length === 0) {
    if (notLoaded) return notLoaded;
    if (!isWhole) return <SkeletonRows rows={8} />;
    return <NoRows collection={collection} prefix={prefix} filter={filter} />;
  }
  const many = `${counted(rows.length, 'document')}${isWhole ? '' : ' so far; more come as you scroll'}`;
  return (
    <>
      <div class="list-head">
        <p class="soft number" role="status">
          {chosen.size > 0 ? `${counted(chosen.size, 'document')} chosen` : many}
        </p>
        <div class="row">
          {filter === 'failed' && <RetryAll list={list} onRetried={onRetried} />}
          {chosen.size > 0 && (
            <ChosenActions
              list={list}
              collection={collection}
              chosen={chosen}
              onDone={() => setChosen(new Set())}
            />
          )}
        </div>
      </div>
      <div
        class={`document-rows ${filter}`}
        role="table"
        aria-label="Documents"
        aria-rowcount={isWhole ? rows.length + 1 : -1}
      >
        <Headings />
        <VirtualRows
          rows={rows}
          rowHeight={rowHeights[filter][isNarrow.value ? 'narrow' : 'wide']}
          keyOf={(row) => row.path}
          onSeen={(seen) => {
            onSeen(seen);
            if (seen.end > rows.length - sparedRows) void list.loadMore();
          }}
          render={(row) => (
            <DocumentCells
              row={row}
              isChosen={chosen.has(row.path)}
              onChoose={(is) => choose(row.path, is)}
            />
          )}
        />
      </div>
      {notLoaded}
    </>
  );
}

function Headings() {
  return (
    <div role="rowgroup">
      <div role="row" aria-rowindex={1} class="document-row head">
        <span role="columnheader">
          <span class="unseen">Chosen</span>
        </span>
        <span role="columnheader">Path</span>
        <span role="columnheader">State</span>
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

/** Tries all of them again, also those that are not loaded. */
function RetryAll({ list, onRetried }: Pick<DocumentRowsProps, 'list' | 'onRetried'>) {
  const doing = useDoing(async () => {
    const { tried, refused } = await retryAll(list.pages());
    if (refused === null) toast(`${counted(tried, 'document')} tried again.`);
    else toast(sentenceOf(refused), 'bad');
    onRetried();
    await list.restart();
  });
  return (
    <>
      <Trouble error={doing.error} />
      <Button onClick={doing.start} busy={doing.isBusy}>
        Try all again
      </Button>
    </>
  );
}

interface ChosenActionsProps {
  readonly list: DocumentList;
  readonly collection: string;
  readonly chosen: ReadonlySet<string>;
  readonly onDone: () => void;
}

function ChosenActions({ list, collection, chosen, onDone }: ChosenActionsProps) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <Button tone="ghost" onClick={onDone}>
        Choose none
      </Button>
      <Button tone="danger" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {isDeleting && (
        <DeleteChosen
          collection={collection}
          paths={[...chosen]}
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

function NoRows({ collection, prefix, filter }: Pick<DocumentRowsProps, 'collection' | 'prefix' | 'filter'>) {
  if (filter === 'failed')
    return (
      <Blank title="None failed">
        Documents that could not be read or indexed are listed here, with the reason.
      </Blank>
    );
  if (prefix !== '')
    return (
      <Blank title="None found">
        No path in this collection begins with “{prefix}”. Capital letters count.
      </Blank>
    );
  return (
    <Blank
      title="This collection is empty"
      actions={
        <LinkButton href={uploadTo(collection)} tone="primary">
          Upload documents
        </LinkButton>
      }
    >
      Drop files or a whole folder, or send them with the API.
    </Blank>
  );
}

interface DocumentCellsProps {
  readonly row: DocumentRow;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

function DocumentCells({ row, isChosen, onChoose }: DocumentCellsProps) {
  return (
    <div class="document-row" role="presentation">
      <span role="cell">
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={`Choose ${row.path}`}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      </span>
      <span role="cell" class="cut">
        <a href={documentAt(row.collection_name, row.path)} title={row.path}>
          {row.path}
        </a>
      </span>
      <span role="cell" class="cut">
        <StateChip row={row} />
      </span>
      <span role="cell" class="number">
        {row.num_pages === null ? '–' : count(row.num_pages)}
      </span>
      <span role="cell" class="number">
        {bytes(row.size)}
      </span>
      <span role="cell" class="soft cut">
        <When at={row.created_at} />
      </span>
    </div>
  );
}

interface DeleteChosenProps {
  readonly collection: string;
  readonly paths: readonly string[];
  readonly onClose: () => void;
  readonly onDeleted: (paths: ReadonlySet<string>) => void;
}

const deletedAtOnce = 64;

function DeleteChosen({ collection, paths, onClose, onDeleted }: DeleteChosenProps) {
  return (
    <Confirm
      title={`Delete ${counted(paths.length, 'document')}?`}
      action="Delete"
      onClose={onClose}
      onConfirm={async () => {
        for (let start = 0; start < paths.length; start += deletedAtOnce)
          await deleteDocuments(collection, paths.slice(start, start + deletedAtOnce));
        onDeleted(new Set(paths));
        toast(`${counted(paths.length, 'document')} deleted.`);
      }}
    >
      <p>{paths.length === 1 ? 'It leaves' : 'They leave'} search at once. This cannot be undone.</p>
      {paths.length <= 5 && (
        <ul>
          {paths.map((path) => (
            <li key={path}>{path}</li>
          ))}
        </ul>
      )}
    </Confirm>
  );
}
