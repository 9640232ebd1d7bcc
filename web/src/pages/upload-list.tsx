import { computed } from '@preact/signals';
import { isNarrow } from '../browser/media.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { Chip } from '../components/chip.tsx';
import { VirtualRows } from '../components/virtual-rows.tsx';
import { formatBytes, formatCount, formatPercent } from '../format/numbers.ts';
import { documentsUrl, documentUrl, failedDocumentsUrl, searchUrl } from '../page-urls.ts';
import { organizationId } from '../server/session.ts';
import { texts } from '../texts/en/upload.ts';
import { counted, fill } from '../texts/format-text.ts';
import { hasFailed, stageLabel, stateLabels } from './document-states.ts';
import { countUploads, type UploadCounts } from './upload-counts.ts';
import { useUploadedDocuments } from './uploaded-documents.ts';
import {
  cancelUploads,
  clearUploads,
  isPending,
  overwriteUploads,
  removeUploads,
  retryUploads,
  type UploadedDocument,
  type UploadItem,
  type UploadState,
  uploads,
} from './uploads.ts';

const rowHeights = { wide: 60, narrow: 100 } as const;

/** List of pending and finished uploads, and the next steps. `all` must not be empty. */
export function UploadList({ all }: { readonly all: readonly UploadItem[] }) {
  const collection = all.at(-1)!.collection;
  const counts = countUploads(all);
  useUploadedDocuments(all);
  return (
    <section class="stack" aria-label={texts.uploads}>
      <div class="list-head">
        <p role="status" class="number">
          <Summary counts={counts} total={all.length} />
          <IndexingSummary counts={counts} total={all.length} collection={collection} />
        </p>
        <div class="row">
          <NextSteps all={all} collection={collection} isSent={counts.pending === 0} />
        </div>
      </div>
      <FailureReasons />
      <div role="table" aria-label={texts.uploads} aria-rowcount={all.length}>
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

interface SummaryProps {
  readonly counts: UploadCounts;
  readonly total: number;
}

function Summary({ counts: { pending, stored, failed, tooLarge, existing }, total }: SummaryProps) {
  return (
    <>
      {pending > 0
        ? counted(texts.storedOfCountFilesUploaded, total, { stored: formatCount(stored) })
        : counted(texts.countFilesUploaded, stored)}
      {failed > 0 && counted(texts.countFailed, failed)}
      {tooLarge > 0 && counted(texts.countTooLarge, tooLarge)}
      {existing > 0 && counted(texts.countAlreadyExist, existing)}
    </>
  );
}

/** Maximum number of distinct reasons listed; the rows show the others. */
const reasonsMax = 5;
/** Longer reasons do not fit into a row. */
const rowReasonUnitsMax = 90;

/** Reasons above the list, with the number of their files: those of several files, and those that a row would truncate. */
const listedReasons = computed(() => {
  const files = new Map<string, number>();
  for (const { state, organizationId: owner } of uploads.value) {
    const reason = owner === organizationId() ? failureOf(state) : null;
    if (reason !== null) files.set(reason, (files.get(reason) ?? 0) + 1);
  }
  const isListed = (reason: string, count: number) =>
    count > 1 || isNarrow.value || reason.length > rowReasonUnitsMax;
  return new Map([...files].filter(([reason, count]) => isListed(reason, count)).slice(0, reasonsMax));
});

function FailureReasons() {
  const files = listedReasons.value;
  if (files.size === 0) return null;
  return (
    <ul class="reasons error-text" aria-label={texts.failedUploads}>
      {[...files].map(([reason, count]) => (
        <li key={reason}>
          <strong class="number">{`${counted(texts.countFiles, count)}:`}</strong> {reason}
        </li>
      ))}
    </ul>
  );
}

/** Reason why a file was not sent, stored or indexed; null if it was not rejected. */
function failureOf(state: UploadState): string | null {
  if (state.name === 'failed' || state.name === 'too-large') return state.reason;
  if (state.name !== 'stored' || state.document === undefined || state.document === 'deleted') return null;
  const { index_status: status, error } = state.document;
  return hasFailed(status) ? (error ?? texts.theServerReportedNoReason) : null;
}

/** Indexing progress of the uploaded files. */
function IndexingSummary({
  counts: { indexing, searchable, notIndexed },
  total,
  collection,
}: SummaryProps & { readonly collection: string }) {
  return (
    <span class="muted">
      {indexing > 0 && fill(texts.indexingBeingIndexed, { indexing: formatCount(indexing) })}
      {searchable > 0 &&
        (searchable === total ? texts.allFilesAreSearchable : counted(texts.countSearchable, searchable))}
      {notIndexed > 0 && (
        <>
          {' · '}
          <a href={failedDocumentsUrl(collection)}>{counted(texts.countFilesCouldNotBe, notIndexed)}</a>
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
  const hasStored = filterByState(all, 'stored').length > 0;
  return (
    <>
      {exist.length > 0 && (
        <Button onClick={() => overwriteUploads(toIds(exist))}>{texts.replaceExisting}</Button>
      )}
      {isSent ? (
        <>
          <Button tone="ghost" onClick={clearUploads}>
            {texts.clearList}
          </Button>
          <LinkButton href={documentsUrl(collection)}>{texts.viewDocuments}</LinkButton>
          {hasStored && (
            <LinkButton href={searchUrl(collection)} tone={failed.length > 0 ? 'plain' : 'primary'}>
              {texts.search}
            </LinkButton>
          )}
        </>
      ) : (
        <Button onClick={() => cancelUploads(toIds(all.filter(isPending)))}>{texts.cancelAll}</Button>
      )}
      {failed.length > 0 && (
        <Button tone="primary" onClick={() => retryUploads(toIds(failed))}>
          {texts.retryFailed}
        </Button>
      )}
    </>
  );
}

/** Stable reference, so that a row renders again only if its upload has changed. */
const renderRow = (upload: UploadItem) => <Row upload={upload} />;

function Row({ upload }: { readonly upload: UploadItem }) {
  const { path, file, collection, state } = upload;
  const reason = failureOf(state);
  const failure = reason !== null && listedReasons.value.has(reason) ? null : reason;
  return (
    <div class="upload-row" role="presentation">
      <span role="cell" class="cut">
        {state.name === 'stored' ? <a href={documentUrl(collection, path)}>{path}</a> : path}
        <span class="muted number cut">
          {failure === null ? (
            (progressOf(state) ??
            fill(texts.sizeIntoCollection, { size: formatBytes(file.size), collection }))
          ) : (
            <span class="wrong" title={failure}>
              {failure}
            </span>
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

/** Current step of indexing, or what it waits for; null if unknown. */
function progressOf(state: UploadState): string | null {
  if (state.name !== 'stored' || state.document === undefined || state.document === 'deleted') return null;
  const { waiting_for: waitingFor, progress } = state.document;
  if (waitingFor !== undefined) return waitingFor;
  if (progress === undefined) return null;
  return stageLabel({ stage: progress.stage, done: progress.num_pages_done, pages: progress.num_pages });
}

function StoredState({ document }: { readonly document: UploadedDocument | undefined }) {
  if (document === undefined) return <Chip tone="info">{texts.uploaded}</Chip>;
  if (document === 'deleted') return <Chip>{texts.deleted}</Chip>;
  const [label, tone] = stateLabels[document.index_status];
  return <Chip tone={document.waiting_for === undefined ? tone : 'warning'}>{label}</Chip>;
}

function State({ upload: { state, file, path } }: { readonly upload: UploadItem }) {
  switch (state.name) {
    case 'waiting':
      return <Chip>{texts.waiting}</Chip>;
    case 'sending':
      return (
        <>
          <progress
            max={Math.max(1, file.size)}
            value={state.sent}
            aria-label={fill(texts.uploadingPath, { path })}
          />
          <span class="muted number">{formatPercent(state.sent, Math.max(1, file.size))}</span>
        </>
      );
    case 'stored':
      return <StoredState document={state.document} />;
    case 'exists':
      return <Chip tone="warning">{texts.alreadyExists}</Chip>;
    case 'failed':
      return <Chip tone="bad">{texts.failed}</Chip>;
    case 'canceled':
      return <Chip>{texts.canceled}</Chip>;
    case 'too-large':
      return <Chip tone="bad">{texts.tooLarge}</Chip>;
  }
}

function Actions({ upload: { id, path, state } }: { readonly upload: UploadItem }) {
  switch (state.name) {
    case 'waiting':
    case 'sending':
      return (
        <Button
          tone="ghost"
          aria-label={fill(texts.cancelPath, { path })}
          onClick={() => cancelUploads([id])}
        >
          {texts.cancel}
        </Button>
      );
    case 'exists':
      return (
        <Button aria-label={fill(texts.replacePath, { path })} onClick={() => overwriteUploads([id])}>
          {texts.replace}
        </Button>
      );
    case 'failed':
    case 'canceled':
      return (
        <Button aria-label={fill(texts.retryPath, { path })} onClick={() => retryUploads([id])}>
          {texts.retry}
        </Button>
      );
    case 'too-large':
      return (
        <Button
          tone="ghost"
          aria-label={fill(texts.removePath, { path })}
          onClick={() => removeUploads([id])}
        >
          {texts.remove}
        </Button>
      );
    case 'stored':
      return null;
  }
}
