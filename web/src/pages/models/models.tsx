import { useState } from 'preact/hooks';
import type { ModelDetails } from '../../../../src/schemas/models.ts';
import { Button } from '../../components/button.tsx';
import { Chip, Tag } from '../../components/chip.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { documentsUrl } from '../../page-urls.ts';
import { useLoad } from '../../server/load.ts';
import { listModelDetails } from '../../server/retrieval.ts';
import { ModelTrial } from './model-trial.tsx';
import '../../style/administration.css';
import { texts } from '../../texts/en/models.ts';
import { counted, fill } from '../../texts/format-text.ts';

/** Collections of a model that are named; the others are counted. */
const namedCollectionsMax = 3;

const kinds = [
  {
    kind: 'embedding',
    title: texts.embeddingModels,
    text: texts.convertTextsToVectorsSo,
  },
  {
    kind: 'reranker',
    title: texts.rerankers,
    text: texts.readTheQueryTogetherWith,
  },
] as const;

/** Page of all models: health, latency and use, and a trial that compares two of them. */
export function ModelsPage() {
  const list = useLoad(listModelDetails, []);
  const [tried, setTried] = useState<string | null>(null);
  const all = list.data;
  return (
    <Page title={texts.models} subtitle={texts.modelsOfThisServerTheir}>
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
  'built-in': texts.builtIn,
  added: texts.added,
  service: texts.service,
};

function columnsFor(
  kind: ModelDetails['kind'],
  onTry: (id: string) => void,
): readonly TableColumn<ModelDetails>[] {
  const isEmbedding = kind === 'embedding';
  return [
    { title: texts.model, cell: (model) => <ModelName model={model} /> },
    {
      title: texts.state,
      cell: ({ is_available }) =>
        is_available ? <Chip tone="good">{texts.ready}</Chip> : <Chip tone="bad">{texts.unavailable}</Chip>,
    },
    { title: texts.source, cell: ({ source }) => sourceNames[source] },
    ...(isEmbedding
      ? [
          {
            title: texts.dimensions,
            isNumber: true,
            cell: ({ dimensions }: ModelDetails) => (dimensions === null ? '' : formatCount(dimensions)),
          },
        ]
      : []),
    { title: texts.medianLatency, width: '11rem', cell: ({ latency }) => <Latency latency={latency} /> },
    ...(isEmbedding
      ? [
          {
            title: texts.collections,
            cell: ({ collection_names }: ModelDetails) => <CollectionLinks names={collection_names} />,
          },
        ]
      : []),
    {
      title: texts.actions,
      isActions: true,
      cell: ({ id }) => (
        <Button tone="ghost" aria-label={fill(texts.tryId, { id })} onClick={() => onTry(id)}>
          {texts.try}
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
        {isDefault && <Tag>{texts.default}</Tag>}
      </span>
      {aliases.length > 0 && (
        <span class="hint">{fill(texts.alsoAliases, { aliases: aliases.join(', ') })}</span>
      )}
    </span>
  );
}

function Latency({ latency }: Pick<ModelDetails, 'latency'>) {
  if (latency === null) return <span class="model-latency muted">{texts.noCallsYet}</span>;
  const { calls, p50_ms: p50, p95_ms: p95, p99_ms: p99 } = latency;
  return (
    <span class="model-latency" title={fill(texts.p99P99, { p99: formatDuration(p99) })}>
      <span>{formatDuration(p50)}</span>
      <span class="hint">
        {`p95 ${formatDuration(p95)}`}
        <span class="calls">{`, ${counted(texts.countCalls, calls)}`}</span>
      </span>
    </span>
  );
}

function CollectionLinks({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return <span class="muted">{texts.none}</span>;
  const hidden = names.length - namedCollectionsMax;
  return (
    <span class="link-list">
      {names.slice(0, namedCollectionsMax).map((name) => (
        <a key={name} href={documentsUrl(name)}>
          {name}
        </a>
      ))}
      {hidden > 0 && <span class="muted">{fill(texts.hiddenMore, { hidden: formatCount(hidden) })}</span>}
    </span>
  );
}
