import { useMemo, useState } from 'preact/hooks';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { Button } from '../components/button.tsx';
import { Chip } from '../components/chip.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { Menu } from '../components/menu.tsx';
import { Page } from '../components/page.tsx';
import { LoadingText, SkeletonRows } from '../components/skeleton.tsx';
import { Table } from '../components/table.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatBytes, formatCount, formatPercent } from '../format/numbers.ts';
import { collectionUrl, documentsUrl, searchUrl, uploadUrl } from '../page-urls.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { deleteCollection, getCollectionStatus, listCollections } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/collections.ts';
import { fill } from '../texts/format-text.ts';
import { CurationsOverlay, openCurations } from './curations-overlay.tsx';
import { NewCollection } from './new-collection.tsx';
import { openSynonyms, SynonymsOverlay } from './synonyms-overlay.tsx';

const CollectionSettings = lazyPart<{ readonly name: string; readonly onClose: () => void }>(() =>
  import('./collection-settings.tsx').then((module) => module.CollectionSettings),
);

/** Concurrent status requests, and maximum number of collections that are polled. */
const concurrentRequests = 4;
const polledMax = 200;
/** Collections listed at first, and added per click on "more". */
const pageSize = 100;

/** Page of all collections: create, delete and open collections. */
export function Collections() {
  const list = useLoad(async (abort) => (await listCollections(abort)).collection_names, []);
  const [dialog, setDialog] = useState<
    'new' | { readonly deleting: string } | { readonly settings: string } | null
  >(null);
  const done = (message: string) => {
    showToast(message);
    list.reload();
  };
  return (
    <Page
      title={texts.collections}
      subtitle={texts.aCollectionIsASet}
      actions={
        <Button tone="primary" onClick={() => setDialog('new')}>
          {texts.newCollection}
        </Button>
      }
    >
      {list.error !== null && list.data === undefined ? (
        <LoadError error={list.error} onRetry={list.reload} />
      ) : list.data === undefined ? (
        <SkeletonRows />
      ) : list.data.length === 0 ? (
        <EmptyState
          title={texts.noCollectionsYet}
          actions={
            <Button tone="primary" onClick={() => setDialog('new')}>
              {texts.createCollection}
            </Button>
          }
        >
          {texts.oneCollectionIsEnoughTo}
        </EmptyState>
      ) : (
        <CollectionTable
          names={list.data}
          onDelete={(deleting) => setDialog({ deleting })}
          onSettings={(settings) => setDialog({ settings })}
        />
      )}
      {dialog === 'new' && (
        <NewCollection
          onClose={() => setDialog(null)}
          onCreated={(name) => done(fill(texts.nameWasCreated, { name }))}
        />
      )}
      <SynonymsOverlay />
      <CurationsOverlay />
      {dialog !== null && dialog !== 'new' && 'settings' in dialog && (
        <CollectionSettings name={dialog.settings} onClose={() => setDialog(null)} />
      )}
      {dialog !== null && dialog !== 'new' && 'deleting' in dialog && (
        <ConfirmDialog
          title={fill(texts.deleteDeleting, { deleting: dialog.deleting })}
          action={texts.deleteCollection}
          requiredText={dialog.deleting}
          onClose={() => setDialog(null)}
          onConfirm={async () => {
            await deleteCollection(dialog.deleting);
            done(fill(texts.deletingWasDeleted, { deleting: dialog.deleting }));
          }}
        >
          <p>{texts.theCollectionAndAllIts}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

interface CollectionTableProps {
  readonly names: readonly string[];
  readonly onDelete: (name: string) => void;
  readonly onSettings: (name: string) => void;
}

function CollectionTable({ names, onDelete, onSettings }: CollectionTableProps) {
  const [max, setMax] = useState(pageSize);
  const visibleNames = useMemo(() => names.slice(0, max), [names, max]);
  const left = names.length - visibleNames.length;
  return (
    <div class="stack">
      <CollectionRows names={visibleNames} onDelete={onDelete} onSettings={onSettings} />
      {left > 0 && (
        <div class="row center">
          <Button onClick={() => setMax(max + pageSize)}>
            {fill(texts.showCountMoreOfLeft, {
              count: formatCount(Math.min(left, pageSize)),
              left: formatCount(left),
            })}
          </Button>
        </div>
      )}
    </div>
  );
}

function CollectionRows({ names, onDelete, onSettings }: CollectionTableProps) {
  const counts = useCounts(names);
  const statusText = (name: string, field: (status: StatusResponse) => string) => {
    const status = counts.get(name);
    return status === null ? '–' : status && field(status);
  };
  return (
    <Table
      caption={texts.collections}
      rows={names}
      keyOf={(name) => name}
      columns={[
        {
          title: texts.name,
          cell: (name) => (
            <a class="name" href={collectionUrl(name)} title={name}>
              {name}
            </a>
          ),
        },
        {
          title: texts.documents,
          isNumber: true,
          width: '8rem',
          cell: (name) => (
            <LoadingText value={statusText(name, (status) => formatCount(status.num_documents))} />
          ),
        },
        {
          title: texts.chunks,
          isNumber: true,
          width: '7rem',
          cell: (name) => (
            <LoadingText value={statusText(name, ({ details }) => formatCount(details?.num_chunks ?? 0))} />
          ),
        },
        {
          title: texts.onDisk,
          isNumber: true,
          width: '7rem',
          cell: (name) => <LoadingText value={statusText(name, sizeOnDisk)} width="5ch" />,
        },
        {
          title: texts.model,
          width: '9rem',
          cell: (name) => (
            <LoadingText value={statusText(name, ({ embedding_model: model }) => model ?? '–')} width="8ch" />
          ),
        },
        { title: texts.status, width: '9rem', cell: (name) => <CollectionState status={counts.get(name)} /> },
        {
          title: texts.actions,
          isActions: true,
          width: '5rem',
          cell: (name) => <CollectionMenu name={name} onDelete={onDelete} onSettings={onSettings} />,
        },
      ]}
    />
  );
}

function CollectionMenu({
  name,
  onDelete,
  onSettings,
}: Omit<CollectionTableProps, 'names'> & { readonly name: string }) {
  return (
    <Menu class="at-end" name={fill(texts.actionsForName, { name })} label={<Icon name="more" />}>
      <ul>
        <li>
          <a href={documentsUrl(name)}>{texts.documents}</a>
        </li>
        <li>
          <a href={uploadUrl(name)}>{texts.upload}</a>
        </li>
        <li>
          <a href={searchUrl(name)}>{texts.search}</a>
        </li>
        <li>
          <button type="button" onClick={() => onSettings(name)}>
            {texts.detailsAndSettings}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => openSynonyms(name)}>
            {texts.synonyms}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => openCurations(name)}>
            {texts.pinnedAndHiddenResults}
          </button>
        </li>
        <li class="apart">
          <button type="button" class="danger" onClick={() => onDelete(name)}>
            {texts.delete}
          </button>
        </li>
      </ul>
    </Menu>
  );
}

/** Original files and the snapshot of the index. */
function sizeOnDisk({ details }: StatusResponse): string {
  return formatBytes((details?.num_stored_bytes ?? 0) + (details?.num_index_disk_bytes ?? 0));
}

function CollectionState({ status }: { readonly status: StatusResponse | null | undefined }) {
  if (status === null) return <Chip>{texts.unknown}</Chip>;
  if (status === undefined) return <LoadingText value={undefined} width="6ch" />;
  const state = status.details?.index_state;
  if (state === 'loading') return <Chip tone="info">{texts.loading}</Chip>;
  if (state === 'repairing') return <Chip tone="warning">{texts.beingRepaired}</Chip>;
  const change = status.model_changes?.[0];
  if (change !== undefined)
    return (
      <Chip tone={change.waiting_for === undefined ? 'info' : 'warning'}>
        {fill(texts.newModelNumDocumentsDone, {
          numDocumentsDone: formatPercent(change.num_documents_done, change.num_documents),
        })}
      </Chip>
    );
  const inProgress = status.num_parsing_documents + status.num_indexing_documents;
  if (inProgress > 0)
    return (
      <Chip tone="info">{fill(texts.inProgressInProgress, { inProgress: formatCount(inProgress) })}</Chip>
    );
  if (status.num_failed_documents > 0)
    return (
      <Chip tone="bad">
        {fill(texts.numFailedDocumentsFailed, {
          numFailedDocuments: formatCount(status.num_failed_documents),
        })}
      </Chip>
    );
  return (
    <Chip tone={status.num_documents === 0 ? 'neutral' : 'good'}>
      {status.num_documents === 0 ? texts.empty : texts.indexed}
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
        const status = await getCollectionStatus(collection, abort).catch((error: unknown) => {
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
  if (status === null) return false;
  const isChanging = status.model_changes !== undefined || status.details?.index_state !== 'ready';
  return isChanging || status.num_parsing_documents + status.num_indexing_documents > 0;
}
