import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { documentsUrl, newSourceUrl, sourceUrl } from '../../page-urls.ts';
import { useLoad, usePoll } from '../../server/load.ts';
import { listCollections } from '../../server/retrieval.ts';
import { organization } from '../../server/session.ts';
import { listSources, type SourceInfo, type SourceKind } from '../../server/sources.ts';
import { texts } from '../../texts/en/sources.ts';
import { fill } from '../../texts/format-text.ts';
import { type SourceDialog, SourceDialogs, SourceMenu } from './source-dialogs.tsx';
import { SourceForm } from './source-form.tsx';
import { originOf, sourceKindDescriptions } from './source-kinds.ts';
import {
  currentCounts,
  describeCounts,
  isBusy,
  LastRunCell,
  NextRunCell,
  SourceState,
} from './source-status.tsx';

/** Page of the sources that collections of the organization follow. */
export function SourcesPage() {
  const currentId = organization.value?.organization_id;
  const list = useLoad(listSources, [currentId]);
  const collections = useLoad(listCollections, [currentId]);
  const [dialog, setDialog] = useState<SourceDialog | null>(null);
  const [newKind, setNewKind] = useState<SourceKind | null>(null);
  const hasBusy = list.data?.some(isBusy) === true;
  usePoll(
    async (abort) => {
      const sources = await listSources(abort);
      list.replace(sources);
      return sources.some(isBusy) ? 'busy' : 'idle';
    },
    [currentId, hasBusy],
  );
  const names = collections.data?.collection_names;
  const add = (
    <Button tone="primary" disabled={names === undefined} onClick={() => setNewKind('directory')}>
      {texts.addSource}
    </Button>
  );
  return (
    <Page title={texts.sources} subtitle={texts.aSourceMakesACollection} actions={add}>
      {list.data === undefined || names === undefined ? (
        <Pending
          error={list.error ?? collections.error}
          onRetry={() => {
            list.reload();
            collections.reload();
          }}
        />
      ) : list.data.length === 0 ? (
        <NoSources onAdd={setNewKind} />
      ) : (
        <Card>
          <Table
            caption={texts.sources}
            columns={columnsFor({ onOpenDialog: setDialog, onChanged: list.reload })}
            rows={list.data}
            keyOf={({ source_name }) => source_name}
          />
        </Card>
      )}
      {newKind !== null && (
        <NewSourceForm kind={newKind} collections={names ?? []} onClose={() => setNewKind(null)} />
      )}
      {dialog !== null && (
        <SourceDialogs dialog={dialog} onClose={() => setDialog(null)} onChanged={list.reload} />
      )}
    </Page>
  );
}

function Pending({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (error !== null) return <LoadError error={error} onRetry={onRetry} />;
  return (
    <Card>
      <SkeletonRows />
    </Card>
  );
}

interface NewSourceFormProps {
  readonly kind: SourceKind;
  readonly collections: readonly string[];
  readonly onClose: () => void;
}

/** Opens the page of the new source, with its dry run if it does not run yet. */
function NewSourceForm({ kind, collections, onClose }: NewSourceFormProps) {
  const { route } = useLocation();
  return (
    <SourceForm
      before={null}
      firstKind={kind}
      collections={collections}
      onClose={onClose}
      onDone={(created) => {
        if (created === null) return;
        const { name, pending } = created;
        showToast(fill(texts.nameWasAdded, { name }));
        route(pending === null ? sourceUrl(name) : newSourceUrl(name, pending));
      }}
    />
  );
}

/** The kinds of origins; each opens the form. */
function NoSources({ onAdd }: { readonly onAdd: (kind: SourceKind) => void }) {
  return (
    <EmptyState
      title={texts.noSourcesYet}
      actions={
        <ul class="source-kinds">
          {Object.entries(sourceKindDescriptions).map(([kind, { name }]) => (
            <li key={kind}>
              <Button onClick={() => onAdd(kind as SourceKind)}>{name}</Button>
            </li>
          ))}
        </ul>
      }
    >
      {texts.connectAFolderAWebsite}
    </EmptyState>
  );
}

interface RowActions {
  readonly onOpenDialog: (dialog: SourceDialog) => void;
  readonly onChanged: () => void;
}

function columnsFor({ onOpenDialog, onChanged }: RowActions): TableColumn<SourceInfo>[] {
  return [
    {
      title: texts.name,
      cell: (source) => (
        <span class="user-cell">
          <a class="name" href={sourceUrl(source.source_name)} title={source.source_name}>
            {source.source_name}
          </a>
          <span class="hint">{`${sourceKindDescriptions[source.kind].name} ${originOf(source)}`}</span>
        </span>
      ),
    },
    {
      title: texts.collection,
      cell: ({ collection_name: name }) =>
        name === null ? <span class="hint">{texts.deleted}</span> : <a href={documentsUrl(name)}>{name}</a>,
    },
    { title: texts.state, width: '8rem', cell: (source) => <SourceState source={source} /> },
    { title: texts.lastRun, width: '9rem', cell: ({ last_run: run }) => <LastRunCell run={run} /> },
    {
      title: texts.result,
      width: '10rem',
      cell: (source) => {
        const counts = currentCounts(source);
        return counts && describeCounts(counts);
      },
    },
    { title: texts.nextRun, width: '9rem', cell: (source) => <NextRunCell source={source} /> },
    {
      title: texts.actions,
      isActions: true,
      width: '5rem',
      cell: (source) => <SourceMenu source={source} onOpenDialog={onOpenDialog} onChanged={onChanged} />,
    },
  ];
}
