import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DocumentResponse, PageResponse } from '../../../src/schemas/documents.ts';
import { documentAt, documentsOf } from '../addresses.ts';
import { Blank } from '../parts/blank.tsx';
import { Button, LinkButton } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Copy } from '../parts/copy.tsx';
import { Card, Page } from '../parts/page.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { toast } from '../parts/toasts.tsx';
import { NotLoaded, Trouble } from '../parts/trouble.tsx';
import { CallError } from '../server/call.ts';
import { useDoing } from '../server/doing.ts';
import { type Loaded, useLoad, usePoll } from '../server/load.ts';
import { deleteDocuments, getDocument, getPage, local, type Place } from '../server/retrieval.ts';
import { Picture } from '../shell/pictures.tsx';
import { bytes, count } from '../words/numbers.ts';
import { MetadataCard } from './metadata.tsx';
import { retry } from './retry.ts';
import { hasFailed, isSettled } from './stages.ts';
import { StateChip } from './state-chip.tsx';

/** One document: its state, its pages, its text, its metadata. */
export function DocumentPage() {
  const { query } = useLocation();
  const { collection, path } = query;
  if (collection === undefined || path === undefined) return missingPage();
  return (
    <Shown
      key={`${collection}\n${path}`}
      place={{ collection, path }}
      asked={Number(query.page ?? '1') - 1}
    />
  );
}

/** Not a component of its own: a page that turns out to be missing stays the page that it is. */
function missingPage() {
  return (
    <Page title="Document">
      <Blank
        title="This document does not exist"
        actions={<LinkButton href="/app/documents">All documents</LinkButton>}
      >
        It may have been deleted, or the address is incomplete.
      </Blank>
    </Page>
  );
}

interface ShownProps {
  readonly place: Place;
  readonly asked: number;
}

function Shown({ place, asked }: ShownProps) {
  const [isDeleting, setDeleting] = useState(false);
  const loaded = useLoad(async (abort) => (await getDocument(place, abort)).document, []);
  const found = loaded.data;
  const index = pageIndex(asked, found);
  const page = usePage(place, index, found);
  const isDone = found === undefined || isSettled(found.index_status);
  usePoll(
    async (abort) => {
      if (isDone) return 'idle';
      try {
        loaded.replace((await getDocument(place, abort)).document);
      } catch (error) {
        if (isUnknown(error)) loaded.reload();
        throw error;
      }
      return 'busy';
    },
    [isDone],
  );
  if (isUnknown(loaded.error)) return missingPage();
  return (
    <Page
      title={place.path}
      lead={
        <>
          in <a href={documentsOf(place.collection)}>{place.collection}</a>
        </>
      }
      actions={
        <>
          <Download path={place.path} address={found && local(found.file_url)} />
          <Button onClick={() => setDeleting(true)}>Delete…</Button>
        </>
      }
    >
      {loaded.error !== null && found === undefined ? (
        <NotLoaded error={loaded.error} onRetry={loaded.reload} />
      ) : found === undefined || isAwaited(found, page) ? (
        <Waiting key="waiting" />
      ) : (
        <div key="document" class="document">
          <div class="stack">
            {hasFailed(found.index_status) && <Failure found={found} onRetried={loaded.reload} />}
            <Pages place={place} found={found} index={index} page={page} />
          </div>
          <div class="stack">
            <Facts found={found} />
            <MetadataCard place={place} found={found} onSaved={loaded.reload} />
          </div>
        </div>
      )}
      {isDeleting && <DeleteDocument place={place} onClose={() => setDeleting(false)} />}
    </Page>
  );
}

/** In the place of all of it, so that it comes in one step and nothing moves. */
function Waiting() {
  return (
    <div class="document" role="status" aria-label="Loading">
      <div class="card">
        <Skeleton lines={14} width="40%" />
      </div>
      <div class="card">
        <Skeleton lines={6} width="50%" />
      </div>
    </div>
  );
}

/** There is a page, and it is not there yet. */
function isAwaited(found: DocumentResponse, { data, error }: Loaded<PageResponse | null>): boolean {
  return (found.num_pages ?? 0) > 0 && (data ?? null) === null && error === null;
}

function isUnknown(error: unknown): boolean {
  return error instanceof CallError && error.status === 404;
}

/** The page that is shown: the one asked for, or the nearest that there is once that is known. */
function pageIndex(asked: number, found: DocumentResponse | undefined): number {
  const wanted = Number.isInteger(asked) ? Math.max(0, asked) : 0;
  const pages = found?.num_pages ?? null;
  return pages === null ? wanted : Math.min(wanted, Math.max(0, pages - 1));
}

/** A page of a document; null where the document has none. While another one loads, the last one stays. */
function usePage(
  place: Place,
  index: number,
  found: DocumentResponse | undefined,
): Loaded<PageResponse | null> {
  const pages = found?.num_pages ?? 0;
  const page = useLoad(
    async (abort) => (pages === 0 ? null : (await getPage(place, { index, withText: true }, abort)).page),
    [found?.id, pages, index],
  );
  const last = useRef(page.data);
  last.current = page.data ?? last.current;
  return { ...page, data: page.data ?? last.current };
}

/** Without an address as long as the document loads; it has its place already. */
function Download({ path, address }: { readonly path: string; readonly address: string | undefined }) {
  const name = path.split('/').at(-1) ?? path;
  const link = address === undefined ? {} : { href: address };
  return (
    <a class="button" {...link} target="_blank" rel="noreferrer" download={name}>
      <span class="button-words">Download</span>
    </a>
  );
}

function DeleteDocument({ place, onClose }: { readonly place: Place; readonly onClose: () => void }) {
  const { route } = useLocation();
  return (
    <Confirm
      title="Delete this document?"
      action="Delete"
      onClose={onClose}
      onConfirm={async () => {
        await deleteDocuments(place.collection, [place.path]);
        toast(`${place.path} was deleted.`);
        route(documentsOf(place.collection));
      }}
    >
      <p>
        <strong>{place.path}</strong> leaves search at once. This cannot be undone.
      </p>
    </Confirm>
  );
}

interface FailureProps {
  readonly found: DocumentResponse;
  readonly onRetried: () => void;
}

function Failure({ found, onRetried }: FailureProps) {
  const doing = useDoing(async () => {
    await retry(found);
    onRetried();
  });
  return (
    <div class="failure" role="alert">
      <div>
        <h2>
          {found.index_status === 'parsing_failed'
            ? 'This file could not be read'
            : 'This document could not be indexed'}
        </h2>
        <p>{found.error ?? 'The server did not say why.'}</p>
        <Trouble error={doing.error} />
      </div>
      <Button onClick={doing.start} busy={doing.isBusy}>
        Try again
      </Button>
    </div>
  );
}

function Facts({ found }: { readonly found: DocumentResponse }) {
  const facts = [
    ['State', <StateChip key="state" row={{ ...found, error: null }} />],
    ['Title', found.title],
    ['Language', languageName(found.language)],
    ['Pages', found.num_pages === null ? null : count(found.num_pages)],
    ['Size', bytes(found.size)],
  ] as const;
  return (
    <Card title="About">
      <dl class="facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
        <div>
          <dt>SHA-256</dt>
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
  return code === null ? null : (new Intl.DisplayNames(undefined, { type: 'language' }).of(code) ?? code);
}

interface PagesProps {
  readonly place: Place;
  readonly found: DocumentResponse;
  readonly index: number;
  readonly page: Loaded<PageResponse | null>;
}

/** A page at a time: its picture, where it has one, and its text. */
function Pages({ place, found, index, page }: PagesProps) {
  const { route } = useLocation();
  const pages = found.num_pages ?? 0;
  if (pages === 0)
    return isSettled(found.index_status) ? (
      hasFailed(found.index_status) ? null : (
        <Blank title="No pages">There is no text in this document.</Blank>
      )
    ) : (
      <Blank title="Being read">Its pages are shown here when they are known.</Blank>
    );
  const turn = (to: number) => route(documentAt(place.collection, place.path, to), true);
  return (
    <section class="card" aria-label="Pages">
      <header>
        <h2>
          Page {count(index + 1)} of {count(pages)}
        </h2>
        <div class="row">
          <Button
            tone="ghost"
            aria-label="Previous page"
            disabled={index === 0}
            onClick={() => turn(index - 1)}
          >
            <Picture of="previous" />
          </Button>
          <Button
            tone="ghost"
            aria-label="Next page"
            disabled={index === pages - 1}
            onClick={() => turn(index + 1)}
          >
            <Picture of="next" />
          </Button>
        </div>
      </header>
      <PageShown page={page} />
    </section>
  );
}

function PageShown({ page }: { readonly page: Loaded<PageResponse | null> }) {
  if (page.error !== null) return <NotLoaded error={page.error} onRetry={page.reload} />;
  if (page.data === undefined || page.data === null) return <Skeleton lines={12} width="40%" />;
  const { image_url: image, content, page_index: index } = page.data;
  return (
    <div class={`page-shown ${image === null ? '' : 'two'} ${page.isLoading ? 'old' : ''}`}>
      {image !== null && (
        <a class="page-image" href={local(image)} target="_blank" rel="noreferrer">
          <img src={`${local(image)}&width=768`} alt={`Page ${index + 1} as it looks`} loading="lazy" />
        </a>
      )}
      <div class="page-text">
        {content === null || content === undefined || content.trim() === '' ? (
          <p class="soft">There is no text on this page.</p>
        ) : (
          <>
            <div class="text-tools">
              <Copy text={content} label="Copy text" />
            </div>
            {/* Whatever the document says, it is text here. */}
            <pre tabIndex={0}>{content}</pre>
          </>
        )}
      </div>
    </div>
  );
}
