import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DocumentResponse, PageResponse } from '../../../src/schemas/documents.ts';
import { Button } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { formatCount } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import type { LoadState } from '../server/load.ts';
import { type DocumentReference, toLocalUrl } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { type MarkedPassage, useMarkedPassage } from './document-passage.ts';
import { hasFailed, isSettled } from './document-states.ts';
import { PageText, textSyntaxOf } from './page-text.tsx';

interface DocumentViewerProps {
  readonly reference: DocumentReference;
  readonly found: DocumentResponse;
  readonly index: number;
  readonly page: LoadState<PageResponse | null>;
}

/** The image, if any, and the text of one page at a time. */
export function DocumentViewer({ reference, found, index, page }: DocumentViewerProps) {
  const { route } = useLocation();
  const pages = found.num_pages ?? 0;
  const urlOf = (to: number) => documentUrl(reference.collection, reference.path, to);
  const passage = useMarkedPassage(page.data, {
    pages,
    openPage: (to) => route(urlOf(to) + window.location.hash, true),
  });
  if (pages === 0) return <NoPages found={found} />;
  const goToPage = (to: number) => {
    passage.stopSearch();
    route(urlOf(to), true);
  };
  return (
    <section class="card" aria-label="Pages">
      <header>
        <h2>
          Page {formatCount(index + 1)} of {formatCount(pages)}
        </h2>
        <div class="row">
          <Button
            tone="ghost"
            aria-label="Previous page"
            disabled={index === 0}
            onClick={() => goToPage(index - 1)}
          >
            <Icon name="previous" />
          </Button>
          <Button
            tone="ghost"
            aria-label="Next page"
            disabled={index === pages - 1}
            onClick={() => goToPage(index + 1)}
          >
            <Icon name="next" />
          </Button>
        </div>
      </header>
      <PageView path={reference.path} page={page} passage={passage} onGoToPage={goToPage} />
    </section>
  );
}

function NoPages({ found }: { readonly found: DocumentResponse }) {
  if (hasFailed(found.index_status)) return null;
  return isSettled(found.index_status) ? (
    <EmptyState title="No pages">This document contains no text.</EmptyState>
  ) : (
    <EmptyState title="Parsing">Pages appear here after the document is parsed.</EmptyState>
  );
}

interface PageViewProps {
  readonly path: string;
  readonly page: LoadState<PageResponse | null>;
  readonly passage: MarkedPassage;
  readonly onGoToPage: (index: number) => void;
}

function PageView({ path, page, passage, onGoToPage }: PageViewProps) {
  if (page.error !== null) return <LoadError error={page.error} onRetry={page.reload} />;
  if (page.data === undefined || page.data === null) return <Skeleton lines={12} width="40%" />;
  const { image_url: image, page_index: index } = page.data;
  return (
    <div class={`page-content ${image === null ? '' : 'two'} ${page.isLoading ? 'stale' : ''}`}>
      {image !== null && (
        <a class="page-image" href={toLocalUrl(image)} target="_blank" rel="noreferrer">
          <img src={`${toLocalUrl(image)}&width=768`} alt={`Rendered page ${index + 1}`} loading="lazy" />
        </a>
      )}
      <TextPane path={path} page={page.data} passage={passage} onGoToPage={onGoToPage} />
    </div>
  );
}

interface TextPaneProps {
  readonly path: string;
  readonly page: PageResponse;
  readonly passage: MarkedPassage;
  readonly onGoToPage: (index: number) => void;
}

/** Text of the page, scrolled to the marked passage. */
function TextPane({ path, page, passage, onGoToPage }: TextPaneProps) {
  const [isRaw, setRaw] = useState(false);
  const body = useRef<HTMLElement>(null);
  const { content, page_index: index } = page;
  const { range } = passage;
  useLayoutEffect(() => {
    if (range !== null) scrollToPassage(body.current);
  }, [index, range?.start, range?.end]);
  const isEmpty = content === null || content === undefined || content.trim() === '';
  const syntax = textSyntaxOf(path);
  const showPassage = () => {
    if (range === null && passage.page !== null) onGoToPage(passage.page);
    else scrollToPassage(body.current)?.focus({ preventScroll: true });
  };
  return (
    <div class="page-text">
      <div class="text-tools">
        {passage.page !== null && (
          <Button tone="ghost" class="small" onClick={showPassage}>
            Go to passage
          </Button>
        )}
        {!isEmpty && syntax !== null && (
          <Button tone="ghost" class="small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            Stored text
          </Button>
        )}
        {!isEmpty && <CopyButton text={content} label="Copy text" />}
      </div>
      {isEmpty ? (
        <p class="muted">This page contains no text.</p>
      ) : (
        <section ref={body} class="text-body" tabIndex={0} aria-label={`Text of page ${index + 1}`}>
          <PageText text={content} syntax={isRaw ? null : syntax} passage={range} />
        </section>
      )}
    </div>
  );
}

/** Scrolls the text, or the window on narrow screens, and returns the first mark. */
function scrollToPassage(body: HTMLElement | null): HTMLElement | null {
  const mark = body?.querySelector<HTMLElement>('mark.passage') ?? null;
  if (body === null || mark === null) return null;
  if (body.scrollHeight > body.clientHeight) {
    const distance = mark.getBoundingClientRect().top - body.getBoundingClientRect().top;
    body.scrollTop += distance - body.clientHeight / 3;
  }
  mark.scrollIntoView({ block: body.scrollHeight > body.clientHeight ? 'nearest' : 'center' });
  return mark;
}
