import { isNarrow } from '../browser/media.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { Chip } from '../components/chip.tsx';
import { VirtualRows } from '../components/virtual-rows.tsx';
import { formatBytes, formatCount, formatCounted } from '../format/numbers.ts';
import { documentsUrl, documentUrl, failedDocumentsUrl, playgroundUrl } from '../page-urls.ts';
import { useIndexingProgress } from './indexing-progress.tsx';
import {
  cancelUploads,
  clearUploads,
  isPending,
  overwriteUploads,
  retryUploads,
  type UploadItem,
} from './uploads.ts';

const rowHeights = { wide: 60, narrow: 100 } as const;

/** List of pending and finished uploads, and the next steps. `all` must not be empty. */
export function UploadList({ all }: { readonly all: readonly UploadItem[] }) {
  const collection = all.at(-1)!.collection;
  const isSent = !all.some(isPending);
  return (
    <section class="stack" aria-label="Uploads">
      <div class="list-head">
        <p role="status" class="number">
          <Summary all={all} />
          <IndexingSummary
            key={`${isSent}`}
            collection={collection}
            done={isSent ? searchableLabel(all) : null}
          />
        </p>
        <div class="row">
          <NextSteps all={all} collection={collection} isSent={isSent} />
        </div>
      </div>
      <FailureReasons all={all} />
      <div role="table" aria-label="Uploads" aria-rowcount={all.length}>
        <VirtualRows
          rows={all}
          rowHeight={isNarrow.value ? rowHeights.narrow : rowHeights.wide}
          keyOf={({ id }) => String(id)}
          render={renderRow}
        />
      </div>
    </section>
  );
}

const toIds = (subset: readonly UploadItem[]) => subset.map(({ id }) => id);
const filterByState = (all: readonly UploadItem[], stateName: UploadItem['state']['name']) =>
  all.filter(({ state }) => state.name === stateName);

function Summary({ all }: { readonly all: readonly UploadItem[] }) {
  const stored = filterByState(all, 'stored').length;
  const failed = filterByState(all, 'failed').length;
  const tooLarge = filterByState(all, 'too-large').length;
  const exist = filterByState(all, 'exists').length;
  return (
    <>
      {all.some(isPending)
        ? `${formatCount(stored)} of ${formatCounted(all.length, 'file')} uploaded`
        : `${formatCounted(stored, 'file')} uploaded`}
      {failed > 0 && `, ${formatCount(failed)} failed`}
      {tooLarge > 0 && `, ${formatCount(tooLarge)} too large`}
      {exist > 0 && `, ${formatCount(exist)} already exist`}
    </>
  );
}

/** Maximum number of distinct reasons listed; the rows show the others. */
const reasonsMax = 5;

/** Distinct reasons of failed uploads in full; rows may truncate them. */
function FailureReasons({ all }: { readonly all: readonly UploadItem[] }) {
  const files = new Map<string, number>();
  for (const { state } of all)
    if (state.name === 'failed' || state.name === 'too-large')
      files.set(state.reason, (files.get(state.reason) ?? 0) + 1);
  if (files.size === 0) return null;
  return (
    <ul class="reasons error-text" aria-label="Failed uploads">
      {[...files].slice(0, reasonsMax).map(([reason, count]) => (
        <li key={reason}>
          <strong class="number">{formatCounted(count, 'file')}:</strong> {reason}
        </li>
      ))}
    </ul>
  );
}

/** Text shown when all stored files are searchable; null if none was stored. */
function searchableLabel(all: readonly UploadItem[]): string | null {
  const stored = filterByState(all, 'stored').length;
  if (stored === 0) return null;
  return stored === all.length ? 'all files are searchable' : 'uploaded files are searchable';
}

interface IndexingSummaryProps {
  readonly collection: string;
  /** Text shown when indexing has ended; null while files are being sent. */
  readonly done: string | null;
}

/** Indexing progress of the uploaded files. */
function IndexingSummary({ collection, done }: IndexingSummaryProps) {
  const found = useIndexingProgress(collection);
  if (found === undefined) return null;
  const { inProgress, failed } = found;
  return (
    <span class="muted">
      {inProgress > 0
        ? ` · ${formatCounted(inProgress, 'document')} being indexed`
        : done !== null && ` · ${done}`}
      {failed > 0 && (
        <>
          {' · '}
          <a href={failedDocumentsUrl(collection)}>
            {formatCounted(failed, 'document')} could not be indexed
          </a>
        </>
      )}
    </span>
  );
}

interface NextStepsProps {
  readonly all: readonly UploadItem[];
  readonly collection: string;
  /** Whether all files are sent. */
  readonly isSent: boolean;
}

function NextSteps({ all, collection, isSent }: NextStepsProps) {
  const exist = filterByState(all, 'exists');
  const failed = filterByState(all, 'failed');
  return (
    <>
      {exist.length > 0 && <Button onClick={() => overwriteUploads(toIds(exist))}>Replace existing</Button>}
      {failed.length > 0 && <Button onClick={() => retryUploads(toIds(failed))}>Retry failed</Button>}
      {isSent ? (
        <>
          <Button tone="ghost" onClick={clearUploads}>
            Clear list
          </Button>
          <LinkButton href={documentsUrl(collection)}>View documents</LinkButton>
          <LinkButton href={playgroundUrl(collection)} tone="primary">
            Search
          </LinkButton>
        </>
      ) : (
        <Button onClick={() => cancelUploads(toIds(all.filter(isPending)))}>Cancel all</Button>
      )}
    </>
  );
}

/** Stable reference, so that a row renders again only if its upload has changed. */
const renderRow = (upload: UploadItem) => <Row upload={upload} />;

function Row({ upload }: { readonly upload: UploadItem }) {
  const { path, file, collection, state } = upload;
  return (
    <div class="upload-row" role="presentation">
      <span role="cell" class="cut">
        {state.name === 'stored' ? <a href={documentUrl(collection, path)}>{path}</a> : path}
        <span class="muted number cut">
          {state.name === 'failed' || state.name === 'too-large' ? (
            <span class="wrong" title={state.reason}>
              {state.reason}
            </span>
          ) : (
            `${formatBytes(file.size)} into ${collection}`
          )}
        </span>
      </span>
      <span role="cell" class="upload-state">
        <State upload={upload} />
      </span>
      <span role="cell" class="row">
        <Actions upload={upload} />
      </span>
    </div>
  );
}

function State({ upload: { state, file, path } }: { readonly upload: UploadItem }) {
  switch (state.name) {
    case 'waiting':
      return <Chip>Waiting</Chip>;
    case 'sending':
      return <progress max={Math.max(1, file.size)} value={state.sent} aria-label={`Uploading ${path}`} />;
    case 'stored':
      return <Chip tone="good">Uploaded</Chip>;
    case 'exists':
      return <Chip tone="warning">Already exists</Chip>;
    case 'failed':
      return <Chip tone="bad">Failed</Chip>;
    case 'canceled':
      return <Chip>Canceled</Chip>;
    case 'too-large':
      return <Chip tone="bad">Too large</Chip>;
  }
}

function Actions({ upload: { id, path, state } }: { readonly upload: UploadItem }) {
  switch (state.name) {
    case 'waiting':
    case 'sending':
      return (
        <Button tone="ghost" aria-label={`Cancel ${path}`} onClick={() => cancelUploads([id])}>
          Cancel
        </Button>
      );
    case 'exists':
      return (
        <Button aria-label={`Replace ${path}`} onClick={() => overwriteUploads([id])}>
          Replace
        </Button>
      );
    case 'failed':
    case 'canceled':
      return (
        <Button aria-label={`Retry ${path}`} onClick={() => retryUploads([id])}>
          {' '}
          Retry{' '}
        </Button>
      );
    case 'stored':
    case 'too-large':
      return null;
  }
}
