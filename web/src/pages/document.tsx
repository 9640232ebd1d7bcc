import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DocumentResponse } from '../../../src/schemas/documents.ts';
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
import { useLoad, usePoll } from '../server/load.ts';
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
  if (collection === undefined || path === undefined) return <Missing />;
  return (
    <Shown
      key={`${collection}\n${path}`}
      place={{ collection, path }}
      asked={Number(query.page ?? '1') - 1}
    />
  );
}

function Missing() {
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
  usePoll(async (abort) => {
    if (found === undefined || isSettled(found.index_status)) return 'idle';
    loaded.replace((await getDocument(place, abort)).document);
    return 'busy';
  }, []);
  if (loaded.error instanceof CallError && loaded.error.status === 404) return <Missing />;
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
      ) : (
        <div class="document">
          <div class="stack">
            {found !== undefined && hasFailed(found.index_status) && (
              <Failure found={found} onRetried={loaded.reload} />
            )}
            <Pages place={place} found={found} asked={asked} />
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

function Facts({ found }: { readonly found: DocumentResponse | undefined }) {
  if (found === undefined)
    return (
      <Card title="About">
        <Skeleton lines={6} width="50%" />
      </Card>
    );
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
  readonly found: DocumentResponse | undefined;
  readonly asked: number;
}

/** A page at a time: its picture, where it has one, and its text. */
function Pages({ place, found, asked }: PagesProps) {
  const { route } = useLocation();
  const pages = found?.num_pages ?? null;
  if (found !== undefined && (pages === null || pages === 0))
    return isSettled(found.index_status) ? (
      hasFailed(found.index_status) ? null : (
        <Blank title="No pages">There is no text in this document.</Blank>
      )
    ) : (
      <Blank title="Being read">Its pages are shown here when they are known.</Blank>
    );
  const last = (pages ?? 1) - 1;
  const index = Math.max(0, Math.min(Number.isInteger(asked) ? asked : 0, last));
  const turn = (to: number) => route(documentAt(place.collection, place.path, to), true);
  return (
    <section class="card" aria-label="Pages">
      <header>
        <h2>
          Page {count(index + 1)}
          {pages === null ? '' : ` of ${count(pages)}`}
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
            disabled={index === last}
            onClick={() => turn(index + 1)}
          >
            <Picture of="next" />
          </Button>
        </div>
      </header>
      {found === undefined ? (
        <Skeleton lines={12} width="40%" />
      ) : (
        <PageShown place={place} found={found} index={index} />
      )}
    </section>
  );
}

function PageShown({
  place,
  found,
  index,
}: {
  readonly place: Place;
  readonly found: DocumentResponse;
  readonly index: number;
}) {
  const page = useLoad(
    async (abort) => (await getPage(place, { index, withText: true }, abort)).page,
    [found.id, index],
  );
  if (page.error !== null) return <NotLoaded error={page.error} onRetry={page.reload} />;
  if (page.data === undefined) return <Skeleton lines={12} width="40%" />;
  const { image_url: image, content } = page.data;
  return (
    <div class={image === null ? 'page-shown' : 'page-shown two'}>
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
