import { useMemo, useState } from 'preact/hooks';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { documentsOf, playgroundOf, uploadTo } from '../addresses.ts';
import { Blank } from '../parts/blank.tsx';
import { Button } from '../parts/button.tsx';
import { Chip } from '../parts/chip.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Menu } from '../parts/menu.tsx';
import { Page } from '../parts/page.tsx';
import { Pending, SkeletonRows } from '../parts/skeleton.tsx';
import { Table } from '../parts/table.tsx';
import { toast } from '../parts/toasts.tsx';
import { NotLoaded } from '../parts/trouble.tsx';
import { useLoad, usePoll } from '../server/load.ts';
import { deleteCollection, getStatus, listCollections } from '../server/retrieval.ts';
import { Picture } from '../shell/pictures.tsx';
import { bytes, count } from '../words/numbers.ts';
import { NewCollection } from './new-collection.tsx';

/** Collections whose numbers are asked for at one time, and those that are looked at again and again. */
const askedAtOnce = 4;
const watchedMax = 200;
/** Collections that are listed before one asks for more, and then each time. */
const shownAtOnce = 100;

/** All collections: create one, delete one, and the way into each. */
export function Collections() {
  const list = useLoad(async (abort) => (await listCollections(abort)).collection_names, []);
  const [dialog, setDialog] = useState<'new' | { readonly deleting: string } | null>(null);
  const done = (words: string) => {
    toast(words);
    list.reload();
  };
  return (
    <Page
      title="Collections"
      lead="A collection holds documents that are searched together."
      actions={
        <Button tone="primary" onClick={() => setDialog('new')}>
          New collection
        </Button>
      }
    >
      {list.error !== null && list.data === undefined ? (
        <NotLoaded error={list.error} onRetry={list.reload} />
      ) : list.data === undefined ? (
        <SkeletonRows />
      ) : list.data.length === 0 ? (
        <Blank
          title="No collections yet"
          actions={
            <Button tone="primary" onClick={() => setDialog('new')}>
              Create the first one
            </Button>
          }
        >
          Most people begin with one. Documents that answer the same questions belong together.
        </Blank>
      ) : (
        <CollectionTable names={list.data} onDelete={(deleting) => setDialog({ deleting })} />
      )}
      {dialog === 'new' && (
        <NewCollection onClose={() => setDialog(null)} onCreated={(name) => done(`${name} was created.`)} />
      )}
      {dialog !== null && dialog !== 'new' && (
        <Confirm
          title={`Delete ${dialog.deleting}?`}
          action="Delete collection"
          typed={dialog.deleting}
          onClose={() => setDialog(null)}
          onConfirm={async () => {
            await deleteCollection(dialog.deleting);
            done(`${dialog.deleting} was deleted.`);
          }}
        >
          <p>The collection and all its documents are deleted at once. This cannot be undone.</p>
        </Confirm>
      )}
    </Page>
  );
}

interface CollectionTableProps {
  readonly names: readonly string[];
  readonly onDelete: (name: string) => void;
}

function CollectionTable({ names, onDelete }: CollectionTableProps) {
  const [most, setMost] = useState(shownAtOnce);
  const shown = useMemo(() => names.slice(0, most), [names, most]);
  const left = names.length - shown.length;
  return (
    <div class="stack">
      <CollectionRows names={shown} onDelete={onDelete} />
      {left > 0 && (
        <div class="row center">
          <Button onClick={() => setMost(most + shownAtOnce)}>
            Show {count(Math.min(left, shownAtOnce))} more of {count(left)}
          </Button>
        </div>
      )}
    </div>
  );
}

function CollectionRows({ names, onDelete }: CollectionTableProps) {
  const counts = useCounts(names);
  const of = (name: string, field: (status: StatusResponse) => string) => {
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
            <a class="name" href={documentsOf(name)} title={name}>
              {name}
            </a>
          ),
        },
        {
          title: 'Documents',
          isNumber: true,
          width: '8rem',
          cell: (name) => <Pending value={of(name, (status) => count(status.num_documents))} />,
        },
        { title: 'State', width: '11rem', cell: (name) => <State status={counts.get(name)} /> },
        {
          title: 'Indexed text',
          isNumber: true,
          width: '8rem',
          cell: (name) => (
            <Pending value={of(name, (status) => bytes(status.num_indexed_bytes))} width="5ch" />
          ),
        },
        {
          title: 'Actions',
          isActions: true,
          width: '5rem',
          cell: (name) => (
            <Menu class="at-end" name={`Actions for ${name}`} label={<Picture of="more" />}>
              <ul>
                <li>
                  <a href={documentsOf(name)}>Documents</a>
                </li>
                <li>
                  <a href={uploadTo(name)}>Upload into it</a>
                </li>
                <li>
                  <a href={playgroundOf(name)}>Ask it</a>
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

function State({ status }: { readonly status: StatusResponse | null | undefined }) {
  if (status === null) return <Chip>Not known</Chip>;
  if (status === undefined) return <Pending value={undefined} width="6ch" />;
  const underWay = status.num_parsing_documents + status.num_indexing_documents;
  if (underWay > 0) return <Chip tone="info">{count(underWay)} under way</Chip>;
  if (status.num_failed_documents > 0)
    return <Chip tone="bad">{count(status.num_failed_documents)} failed</Chip>;
  return (
    <Chip tone={status.num_documents === 0 ? 'neutral' : 'good'}>
      {status.num_documents === 0 ? 'Empty' : 'Indexed'}
    </Chip>
  );
}

type Counts = ReadonlyMap<string, StatusResponse | null>;

/** The numbers of each collection, a few at a time, again while something is under way; null where none came. */
function useCounts(names: readonly string[]): Counts {
  const [counts, setCounts] = useState<Counts>(new Map());
  const ask = async (asked: readonly string[], abort: AbortSignal): Promise<'busy' | 'idle'> => {
    const waiting = [...asked];
    let isBusy = false;
    const worker = async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        const of = name;
        const status = await getStatus(of, abort).catch((error: unknown) => {
          if (abort.aborted) throw error;
          return null; // deleted meanwhile, or no answer: the row says that nothing is known
        });
        isBusy ||= isUnderWay(status);
        setCounts((before) => new Map(before).set(of, status));
      }
    };
    await Promise.all(Array.from({ length: askedAtOnce }, worker));
    return isBusy ? 'busy' : 'idle';
  };
  useLoad((abort) => ask(names, abort), [names]);
  usePoll((abort) => ask(names.slice(0, watchedMax), abort), [names]);
  return counts;
}

function isUnderWay(status: StatusResponse | null): boolean {
  return status !== null && status.num_parsing_documents + status.num_indexing_documents > 0;
}
