import { useState } from 'preact/hooks';
import type { ModelDetails } from '../../../../src/schemas/models.ts';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatCount, formatCounted, formatDuration } from '../../format/numbers.ts';
import { documentsUrl } from '../../page-urls.ts';
import { useLoad } from '../../server/load.ts';
import { listModelDetails } from '../../server/retrieval.ts';
import { ModelTrial } from './model-trial.tsx';
import '../../style/administration.css';

/** Collections of a model that are named; the others are counted. */
const namedCollectionsMax = 3;

const kinds = [
  {
    kind: 'embedding',
    title: 'Embedding models',
    text: 'Convert texts to vectors, so that a search finds texts with the same meaning in other words.',
  },
  {
    kind: 'reranker',
    title: 'Rerankers',
    text: 'Read the query together with each result and put the best answers first.',
  },
] as const;

/** Page of all models: health, latency and use, and a trial that compares two of them. */
export function ModelsPage() {
  const list = useLoad(listModelDetails, []);
  const [tried, setTried] = useState<string | null>(null);
  const all = list.data;
  return (
    <Page title="Models" subtitle="Models of this server, their latency, and the collections that use them">
      {list.error !== null && all === undefined ? (
        <LoadError error={list.error} onRetry={list.reload} />
      ) : all === undefined ? (
        <Card>
          <SkeletonRows rows={8} />
        </Card>
      ) : (
        <>
          {kinds.map(({ kind, title, text }) => (
            <Card key={kind} title={title}>
              <p class="muted">{text}</p>
              <Table
                caption={title}
                columns={columnsFor(kind, setTried)}
                rows={all.filter((model) => model.kind === kind)}
                keyOf={({ id }) => id}
              />
            </Card>
          ))}
          <ModelTrial key={tried ?? ''} models={all} first={tried} onDone={list.reload} />
        </>
      )}
    </Page>
  );
}

const sourceNames: Readonly<Record<ModelDetails['source'], string>> = {
  'built-in': 'Built-in',
  added: 'Added',
  service: 'Service',
};

function columnsFor(
  kind: ModelDetails['kind'],
  onTry: (id: string) => void,
): readonly TableColumn<ModelDetails>[] {
  const isEmbedding = kind === 'embedding';
  return [
    { title: 'Model', cell: (model) => <ModelName model={model} /> },
    {
      title: 'State',
      cell: ({ is_available }) =>
        is_available ? <Chip tone="good">Ready</Chip> : <Chip tone="bad">Unavailable</Chip>,
    },
    { title: 'Source', cell: ({ source }) => sourceNames[source] },
    ...(isEmbedding
      ? [
          {
            title: 'Dimensions',
            isNumber: true,
            cell: ({ dimensions }: ModelDetails) => (dimensions === null ? '' : formatCount(dimensions)),
          },
        ]
      : []),
    { title: 'Median latency', width: '11rem', cell: ({ latency }) => <Latency latency={latency} /> },
    ...(isEmbedding
      ? [
          {
            title: 'Collections',
            cell: ({ collection_names }: ModelDetails) => <CollectionLinks names={collection_names} />,
          },
        ]
      : []),
    {
      title: 'Actions',
      isActions: true,
      cell: ({ id }) => (
        <Button tone="ghost" aria-label={`Try ${id}`} onClick={() => onTry(id)}>
          Try
        </Button>
      ),
    },
  ];
}

function ModelName({ model: { id, aliases, is_default: isDefault } }: { readonly model: ModelDetails }) {
  return (
    <span class="user-cell">
      <span class="chips">
        <strong>{id}</strong>
        {isDefault && <Chip tone="info">Default</Chip>}
      </span>
      {aliases.length > 0 && <span class="hint">Also {aliases.join(', ')}</span>}
    </span>
  );
}

function Latency({ latency }: Pick<ModelDetails, 'latency'>) {
  // Same height as with a latency, so that rows do not move after a trial.
  if (latency === null)
    return (
      <span class="user-cell muted">
        <span>No calls yet</span>
        <span class="hint">&nbsp;</span>
      </span>
    );
  const { calls, p50_ms: p50, p95_ms: p95, p99_ms: p99 } = latency;
  return (
    <span class="user-cell" title={`p99 ${formatDuration(p99)}`}>
      <span>{formatDuration(p50)}</span>
      <span class="hint">{`p95 ${formatDuration(p95)}, ${formatCounted(calls, 'call')}`}</span>
    </span>
  );
}

function CollectionLinks({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return <span class="muted">None</span>;
  const hidden = names.length - namedCollectionsMax;
  return (
    <span class="link-list">
      {names.slice(0, namedCollectionsMax).map((name) => (
        <a key={name} href={documentsUrl(name)}>
          {name}
        </a>
      ))}
      {hidden > 0 && <span class="muted">{`${formatCount(hidden)} more`}</span>}
    </span>
  );
}
