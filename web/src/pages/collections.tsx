import { useMemo, useState } from 'preact/hooks';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { Button } from '../components/button.tsx';
import { Chip } from '../components/chip.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Menu } from '../components/menu.tsx';
import { Page } from '../components/page.tsx';
import { LoadingText, SkeletonRows } from '../components/skeleton.tsx';
import { Table } from '../components/table.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatBytes, formatCount } from '../format/numbers.ts';
import { documentsUrl, searchUrl, uploadUrl } from '../page-urls.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { deleteCollection, getStatus, listCollections } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { NewCollection } from './new-collection.tsx';

/** Concurrent status requests, and maximum number of collections that are polled. */
const concurrentRequests = 4;
const polledMax = 200;
/** Collections listed at first, and added per click on "more". */
const pageSize = 100;

/** Page of all collections: create, delete and open collections. */
export function Collections() {
  const list = useLoad(async (abort) => (await listCollections(abort)).collection_names, []);
  const [dialog, setDialog] = useState<'new' | { readonly deleting: string } | null>(null);
  const done = (message: string) => {
    showToast(message);
    list.reload();
  };
  return (
    <Page
      title="Collections"
      subtitle="A collection is a set of documents that are searched together."
      actions={
        <Button tone="primary" onClick={() => setDialog('new')}>
          New collection
        </Button>
      }
    >
      {list.error !== null && list.data === undefined ? (
        <LoadError error={list.error} onRetry={list.reload} />
      ) : list.data === undefined ? (
        <SkeletonRows />
      ) : list.data.length === 0 ? (
        <EmptyState
          title="No collections yet"
          actions={
            <Button tone="primary" onClick={() => setDialog('new')}>
              Create collection
            </Button>
          }
        >
          One collection is enough to start. Put documents that you search together into the same collection.
        </EmptyState>
      ) : (
        <CollectionTable names={list.data} onDelete={(deleting) => setDialog({ deleting })} />
      )}
      {dialog === 'new' && (
        <NewCollection onClose={() => setDialog(null)} onCreated={(name) => done(`${name} was created.`)} />
      )}
      {dialog !== null && dialog !== 'new' && (
        <ConfirmDialog
          title={`Delete ${dialog.deleting}?`}
          action="Delete collection"
          requiredText={dialog.deleting}
          onClose={() => setDialog(null)}
          onConfirm={async () => {
            await deleteCollection(dialog.deleting);
            done(`${dialog.deleting} was deleted.`);
          }}
        >
          <p>The collection and all its documents are deleted immediately. This cannot be undone.</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

interface CollectionTableProps {
  readonly names: readonly string[];
  readonly onDelete: (name: string) => void;
}

function CollectionTable({ names, onDelete }: CollectionTableProps) {
  const [max, setMax] = useState(pageSize);
  const visibleNames = useMemo(() => names.slice(0, max), [names, max]);
  const left = names.length - visibleNames.length;
  return (
    <div class="stack">
      <CollectionRows names={visibleNames} onDelete={onDelete} />
      {left > 0 && (
        <div class="row center">
          <Button onClick={() => setMax(max + pageSize)}>
            Show {formatCount(Math.min(left, pageSize))} more of {formatCount(left)}
          </Button>
        </div>
      )}
    </div>
  );
}

function CollectionRows({ names, onDelete }: CollectionTableProps) {
  const counts = useCounts(names);
  const statusText = (name: string, field: (status: StatusResponse) => string) => {
    const status = counts.get(name);
    return status === null ? '–' : status && field(status);
  };
  return (
    <Table
      caption="Collections"
      rows={names}
      keyOf={(name) => name}
      columns={[
        {
          title: 'Name',
          cell: (name) => (
            <a class="name" href={documentsUrl(name)} title={name}>
              {name}
            </a>
          ),
        },
        {
          title: 'Documents',
          isNumber: true,
          width: '8rem',
          cell: (name) => (
            <LoadingText value={statusText(name, (status) => formatCount(status.num_documents))} />
          ),
        },
        { title: 'Status', width: '11rem', cell: (name) => <CollectionState status={counts.get(name)} /> },
        {
          title: 'Indexed text',
          isNumber: true,
          width: '8rem',
          cell: (name) => (
            <LoadingText
              value={statusText(name, (status) => formatBytes(status.num_indexed_bytes))}
              width="5ch"
            />
          ),
        },
        {
          title: 'Actions',
          isActions: true,
          width: '5rem',
          cell: (name) => (
            <Menu class="at-end" name={`Actions for ${name}`} label={<Icon name="more" />}>
              <ul>
                <li>
                  <a href={documentsUrl(name)}>Documents</a>
                </li>
                <li>
                  <a href={uploadUrl(name)}>Upload</a>
                </li>
                <li>
                  <a href={searchUrl(name)}>Search</a>
                </li>
                <li class="apart">
                  <button type="button" class="danger" onClick={() => onDelete(name)}>
                    Delete…
                  </button>
                </li>
              </ul>
            </Menu>
          ),
        },
      ]}
    />
  );
}

function CollectionState({ status }: { readonly status: StatusResponse | null | undefined }) {
  if (status === null) return <Chip>Unknown</Chip>;
  if (status === undefined) return <LoadingText value={undefined} width="6ch" />;
  const inProgress = status.num_parsing_documents + status.num_indexing_documents;
  if (inProgress > 0) return <Chip tone="info">{formatCount(inProgress)} in progress</Chip>;
  if (status.num_failed_documents > 0)
    return <Chip tone="bad">{formatCount(status.num_failed_documents)} failed</Chip>;
  return (
    <Chip tone={status.num_documents === 0 ? 'neutral' : 'good'}>
      {status.num_documents === 0 ? 'Empty' : 'Indexed'}
    </Chip>
  );
}

type Counts = ReadonlyMap<string, StatusResponse | null>;

/**
 * Loads the status of each collection, a few at a time, and polls while indexing runs. Null for a collection
 * without a reply.
 */
function useCounts(names: readonly string[]): Counts {
  const [counts, setCounts] = useState<Counts>(new Map());
  const loadCounts = async (requested: readonly string[], abort: AbortSignal): Promise<'busy' | 'idle'> => {
    const remaining = [...requested];
    let isBusy = false;
    const worker = async () => {
      for (let name = remaining.shift(); name !== undefined; name = remaining.shift()) {
        const collection = name;
        const status = await getStatus(collection, abort).catch((error: unknown) => {
          if (abort.aborted) throw error;
          return null; // deleted in the meantime, or no reply: the row shows no numbers
        });
        isBusy ||= isIndexing(status);
        setCounts((before) => new Map(before).set(collection, status));
      }
    };
    await Promise.all(Array.from({ length: concurrentRequests }, worker));
    return isBusy ? 'busy' : 'idle';
  };
  useLoad((abort) => loadCounts(names, abort), [names]);
  usePoll((abort) => loadCounts(names.slice(0, polledMax), abort), [names]);
  return counts;
}

function isIndexing(status: StatusResponse | null): boolean {
  return status !== null && status.num_parsing_documents + status.num_indexing_documents > 0;
}
