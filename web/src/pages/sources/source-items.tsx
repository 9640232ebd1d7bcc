import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip, type ChipTone } from '../../components/chip.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { documentUrl } from '../../page-urls.ts';
import { useLoad } from '../../server/load.ts';
import { type ListedItem, listSourceItems, type SourceInfo } from '../../server/sources.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/sources.ts';

const pageSize = 50;

const results: Readonly<Record<ListedItem['result'], readonly [label: string, tone: ChipTone]>> = {
  added: [texts.added, 'good'],
  updated: [texts.updated, 'good'],
  failed: [texts.failed, 'bad'],
};

/** Items of a source with the result of each; at first those that failed, if there are any. */
export function SourceItems({ source }: { readonly source: SourceInfo }) {
  const [selection, setSelection] = useState<'all' | 'failed' | null>(null);
  const shown = selection ?? ((source.last_run?.counts.failed ?? 0) > 0 ? 'failed' : 'all');
  return (
    <Card
      title={texts.items}
      actions={
        <RadioGroup
          legend={texts.itemsToShow}
          name="items"
          value={shown}
          options={[
            ['all', texts.all],
            ['failed', texts.failed],
          ]}
          onChange={setSelection}
        />
      }
    >
      <ItemTable
        key={`${shown} ${source.last_run?.ended_at}`}
        source={source}
        isFailed={shown === 'failed'}
      />
    </Card>
  );
}

interface ItemTableProps {
  readonly source: SourceInfo;
  readonly isFailed: boolean;
}

function ItemTable({ source, isFailed }: ItemTableProps) {
  const request = { source_name: source.source_name, only_failed: isFailed, limit: pageSize };
  const first = useLoad((abort) => listSourceItems(request, abort), []);
  const [more, setMore] = useState<readonly ListedItem[]>([]);
  const [next, setNext] = useState<string | null>(null);
  useEffect(() => {
    setMore([]);
    setNext(first.data?.next_key_gt ?? null);
  }, [first.data]);
  const loading = useAsyncAction(async () => {
    const page = await listSourceItems({ ...request, key_gt: next });
    setMore((before) => [...before, ...page.items]);
    setNext(page.next_key_gt);
  });
  if (first.data === undefined)
    return first.error === null ? (
      <SkeletonRows rows={3} />
    ) : (
      <LoadError error={first.error} onRetry={first.reload} />
    );
  const rows = [...first.data.items, ...more];
  if (rows.length === 0)
    return <p class="empty-note">{isFailed ? texts.noItemFailed : texts.noItemsYetTheyAppear}</p>;
  return (
    <>
      <Table
        caption={texts.items}
        columns={columnsFor(source.collection_name)}
        rows={rows}
        keyOf={({ key }) => key}
      />
      <ErrorMessage error={loading.error} />
      {next !== null && (
        <div class="row center">
          <Button busy={loading.isBusy} onClick={loading.start}>
            {texts.showMoreItems}
          </Button>
        </div>
      )}
    </>
  );
}

/** Whether the item failed because its path belongs to a document that the source did not add; the error names it. */
function isConflict(path: string, error: string | null): boolean {
  return error?.includes(`"${path}"`) === true;
}

function columnsFor(collection: string | null): TableColumn<ListedItem>[] {
  return [
    {
      title: texts.document,
      cell: ({ path, sha256, error }) => (
        <span class="user-cell">
          {collection === null || (sha256 === null && !isConflict(path, error)) ? (
            <span>{path}</span>
          ) : (
            <a class="name" href={documentUrl(collection, path)} title={path}>
              {path}
            </a>
          )}
          {error !== null && <span class="hint">{error}</span>}
        </span>
      ),
    },
    {
      title: texts.result,
      width: '8rem',
      cell: ({ result }) => <Chip tone={results[result][1]}>{results[result][0]}</Chip>,
    },
    { title: texts.time, width: '9rem', cell: ({ at }) => <RelativeTime at={at} /> },
  ];
}
