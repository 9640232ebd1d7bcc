import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DocumentResponse, PageResponse } from '../../../src/schemas/documents.ts';
import { Button } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { missingPage } from '../components/missing-page.tsx';
import { Card, Page } from '../components/page.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatBytes, formatCount } from '../format/numbers.ts';
import { documentsUrl, similarDocumentsUrl, uploadUrl } from '../page-urls.ts';
import { isNotFound } from '../server/api-call.ts';
import { type LoadState, useLoad, usePoll } from '../server/load.ts';
import {
  type DocumentReference,
  deleteDocuments,
  getDocument,
  getPage,
  toLocalUrl,
} from '../server/retrieval.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/document.ts';
import { fill } from '../texts/format-text.ts';
import { locale } from '../texts/language.ts';
import { rich } from '../texts/rich-text.ts';
import { hasFailed, isSettled } from './document-states.ts';
import { DocumentViewer } from './document-viewer.tsx';
import { MetadataCard } from './metadata.tsx';
import { retryDocument } from './retry.ts';
import { StateChip } from './state-chip.tsx';
import { addUploads } from './uploads.ts';

/** Page of one document: state, pages, text and metadata. */
export function DocumentPage() {
  const { query } = useLocation();
  const { collection, path } = query;
  if (collection === undefined || path === undefined) return missingPage('document');
  return (
    <DocumentView
      key={`${collection}\n${path}`}
      reference={{ collection, path }}
      requestedIndex={Number(query.page ?? '1') - 1}
    />
  );
}

interface DocumentViewProps {
  readonly reference: DocumentReference;
  readonly requestedIndex: number;
}

function DocumentView({ reference, requestedIndex }: DocumentViewProps) {
  const [isDeleting, setDeleting] = useState(false);
  const loaded = useLoad(async (abort) => (await getDocument(reference, abort)).document, []);
  const found = loaded.data;
  const index = pageIndex(requestedIndex, found);
  const page = usePage(reference, index, found);
  const isDone = found === undefined || isSettled(found.index_status);
  usePoll(
    async (abort) => {
      if (isDone) return 'idle';
      try {
        loaded.replace((await getDocument(reference, abort)).document);
      } catch (error) {
        if (isNotFound(error)) loaded.reload();
        throw error;
      }
      return 'busy';
    },
    [isDone],
  );
  if (isNotFound(loaded.error)) return missingPage('document');
  return (
    <Page
      crumbs={[
        { title: texts.documents, href: '/app/documents' },
        { title: reference.collection, href: documentsUrl(reference.collection) },
      ]}
      title={reference.path}
      actions={
        <>
          <FindSimilar reference={reference} isIndexed={found?.index_status === 'indexed'} />
          <Download path={reference.path} address={found && toLocalUrl(found.file_url)} />
          <Button disabled={found === undefined} onClick={() => setDeleting(true)}>
            {texts.delete}
          </Button>
        </>
      }
    >
      {loaded.error !== null && found === undefined ? (
        <LoadError error={loaded.error} onRetry={loaded.reload} />
      ) : found === undefined || isPageLoading(found, page) ? (
        <DocumentSkeleton key="waiting" />
      ) : (
        <div key="document" class="document">
          <div class="stack">
            {hasFailed(found.index_status) && <Failure found={found} onRetried={loaded.reload} />}
            <DocumentViewer reference={reference} found={found} index={index} page={page} />
          </div>
          <div class="stack facts">
            <DocumentDetails found={found} />
            <MetadataCard reference={reference} found={found} onSaved={loaded.reload} />
          </div>
        </div>
      )}
      {isDeleting && <DeleteDocument reference={reference} onClose={() => setDeleting(false)} />}
    </Page>
  );
}

/** Placeholder for the whole page, so that the content appears in one step and nothing moves. */
function DocumentSkeleton() {
  return (
    <div class="document" role="status" aria-label={texts.loading}>
      <div class="card">
        <Skeleton lines={14} width="40%" />
      </div>
      <div class="card">
        <Skeleton lines={6} width="50%" />
      </div>
    </div>
  );
}

/** Whether the document has pages but the current one is not loaded yet. */
function isPageLoading(found: DocumentResponse, { data, error }: LoadState<PageResponse | null>): boolean {
  return (found.num_pages ?? 0) > 0 && (data ?? null) === null && error === null;
}

/** Index of the page to show: the requested one, clamped to the existing pages once their number is known. */
function pageIndex(requestedIndex: number, found: DocumentResponse | undefined): number {
  const validIndex = Number.isInteger(requestedIndex) ? Math.max(0, requestedIndex) : 0;
  const pages = found?.num_pages ?? null;
  return pages === null ? validIndex : Math.min(validIndex, Math.max(0, pages - 1));
}

/**
 * Loads a page of a document; null if the document has none. While another page loads, the previous one stays.
 */
function usePage(
  reference: DocumentReference,
  index: number,
  found: DocumentResponse | undefined,
): LoadState<PageResponse | null> {
  const pages = found?.num_pages ?? 0;
  const page = useLoad(
    async (abort) => (pages === 0 ? null : (await getPage(reference, { index, withText: true }, abort)).page),
    [found?.id, pages, index],
  );
  const last = useRef(page.data);
  last.current = page.data ?? last.current;
  return { ...page, data: page.data ?? last.current };
}

/** Attributes of a link that has no target yet. */
const unavailableLink = { role: 'link', 'aria-disabled': 'true' } as const;

/** Download button, without a URL while the document loads, so that it does not move later. */
function Download({ path, address }: { readonly path: string; readonly address: string | undefined }) {
  const name = path.split('/').at(-1) ?? path;
  const link = address === undefined ? unavailableLink : { href: address };
  return (
    <a class="button" {...link} target="_blank" rel="noreferrer" download={name}>
      <span class="button-label">{texts.download}</span>
    </a>
  );
}

/** Link to the documents that are most similar. It has no URL until the document is indexed. */
function FindSimilar({
  reference: { collection, path },
  isIndexed,
}: {
  readonly reference: DocumentReference;
  readonly isIndexed: boolean;
}) {
  const link = isIndexed
    ? { href: similarDocumentsUrl(collection, path) }
    : { ...unavailableLink, title: texts.availableAfterTheDocumentIs };
  return (
    <a class="button" {...link}>
      <span class="button-label">{texts.findSimilar}</span>
    </a>
  );
}

function DeleteDocument({
  reference,
  onClose,
}: {
  readonly reference: DocumentReference;
  readonly onClose: () => void;
}) {
  const { route } = useLocation();
  return (
    <ConfirmDialog
      title={texts.deleteThisDocument}
      action={texts.delete2}
      onClose={onClose}
      onConfirm={async () => {
        await deleteDocuments(reference.collection, [reference.path]);
        showToast(fill(texts.pathWasDeleted, { path: reference.path }));
        route(documentsUrl(reference.collection));
      }}
    >
      <p>{rich(texts.pathIsRemovedFromSearch, { path: <strong>{reference.path}</strong> })}</p>
    </ConfirmDialog>
  );
}

interface FailureProps {
  readonly found: DocumentResponse;
  readonly onRetried: () => void;
}

function Failure({ found, onRetried }: FailureProps) {
  const submission = useAsyncAction(async () => {
    await retryDocument(found);
    onRetried();
  });
  return (
    <div class="failure" role="alert">
      <div>
        <h2>
          {found.index_status === 'parsing_failed' ? texts.thisFileCouldNotBe : texts.thisDocumentCouldNotBe}
        </h2>
        <p>{found.error ?? texts.theServerReportedNoReason}</p>
        <ErrorMessage error={submission.error} />
      </div>
      <div class="row">
        <Button onClick={submission.start} busy={submission.isBusy}>
          {texts.retry}
        </Button>
        {found.index_status === 'parsing_failed' && <ReplaceFile found={found} />}
      </div>
    </div>
  );
}

/** Uploads another file to the path: the next attempt to parse the same file mostly fails again. */
function ReplaceFile({ found: { collection_name: collection, path } }: { readonly found: DocumentResponse }) {
  const { route } = useLocation();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button tone="primary" onClick={() => input.current?.click()}>
        {texts.replaceFile}
      </Button>
      <input
        ref={input}
        class="visually-hidden"
        type="file"
        tabIndex={-1}
        aria-label={texts.replaceFile}
        onChange={({ currentTarget: { files } }) => {
          const [file] = files ?? [];
          if (file === undefined) return;
          // The server checks the size.
          addUploads(collection, [{ file, path }], { bytesMax: Number.POSITIVE_INFINITY, overwrite: true });
          route(uploadUrl(collection));
        }}
      />
    </>
  );
}

function DocumentDetails({ found }: { readonly found: DocumentResponse }) {
  const details = [
    [texts.status, <StateChip key="state" row={{ ...found, error: null }} />],
    [texts.title, found.title],
    [texts.language, languageName(found.language)],
    [texts.pages, found.num_pages === null ? null : formatCount(found.num_pages)],
    [texts.size, formatBytes(found.size)],
  ] as const;
  return (
    <Card title={texts.details}>
      <dl class="properties">
        {details.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
        <div>
          <dt>{texts.sha256}</dt>
          <dd>
            <code class="cut" title={found.sha256}>
              {found.sha256.slice(0, 12)}…
            </code>
          </dd>
        </div>
      </dl>
      {found.warnings.length > 0 && (
        <ul class="warnings">
          {found.warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function languageName(code: string | null): string | null {
  return code === null ? null : (new Intl.DisplayNames(locale, { type: 'language' }).of(code) ?? code);
}
