import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { textSyntaxOf } from '../../../src/core/file-types.ts';
import type { TextRange } from '../../../src/core/text-blocks.ts';
import type { DocumentResponse, PageResponse } from '../../../src/schemas/documents.ts';
import { canScrollFocused, useShortcuts } from '../browser/keyboard.ts';
import { isSingleColumn } from '../browser/media.ts';
import { persistedSignal } from '../browser/persisted-signal.ts';
import { Button } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { RadioGroup } from '../components/field.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { formatCount } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import type { LoadState } from '../server/load.ts';
import type { DocumentReference } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/document.ts';
import { fill } from '../texts/format-text.ts';
import { type MarkedPassage, useMarkedPassage } from './document-passage.ts';
import { hasFailed, isSettled } from './document-states.ts';
import type { TextMarks } from './marked-line.tsx';
import { nextZoom, PageImage, ZoomControls } from './page-image.tsx';
import { PageText } from './page-text.tsx';
import { parsePassageFragment } from './passage.ts';
import { ThumbnailStrip } from './thumbnail-strip.tsx';

interface DocumentViewerProps {
  readonly reference: DocumentReference;
  readonly found: DocumentResponse;
  readonly index: number;
  readonly page: LoadState<PageResponse | null>;
}

/** Parts of a page that are shown. */
type View = 'image' | 'both' | 'text';

const storedView = persistedSignal('document-view');

/** The stored view; a passage in the URL is always shown. */
function initialView(): View {
  const { value } = storedView;
  const view = value === 'image' || value === 'text' ? value : 'both';
  return view === 'image' && parsePassageFragment(window.location.hash) !== null ? 'both' : view;
}

/** The image, if any, and the text of one page at a time, with thumbnails of all pages. */
export function DocumentViewer({ reference, found, index, page }: DocumentViewerProps) {
  const { route } = useLocation();
  const [view, setView] = useState(initialView);
  const [zoom, setZoom] = useState(1);
  const pages = found.num_pages ?? 0;
  const urlOf = (to: number) => documentUrl(reference.collection, reference.path, to);
  const passage = useMarkedPassage(page.data, {
    pages,
    openPage: (to) => route(urlOf(to) + window.location.hash, true),
  });
  const goToPage = (to: number) => {
    if (to < 0 || to >= pages || to === index) return;
    passage.stopSearch();
    route(urlOf(to), true);
  };
  useViewerKeys({ index, zoom, onGoToPage: goToPage, onZoom: setZoom });
  if (pages === 0) return <NoPages found={found} />;
  const hasImages = (page.data?.image_url ?? null) !== null;
  const chooseView = (next: View) => {
    storedView.value = next;
    setView(next);
  };
  return (
    <section class="card viewer" aria-label={texts.pages}>
      <header>
        <PageTurner index={index} pages={pages} onGoToPage={goToPage} />
        {hasImages && (
          <div class="row">
            {view !== 'text' && <ZoomControls zoom={zoom} onZoom={setZoom} />}
            <RadioGroup
              legend={texts.view}
              name="view"
              value={view}
              options={viewOptions}
              onChange={chooseView}
            />
          </div>
        )}
      </header>
      <div class={`viewer-body ${hasImages ? view : 'plain'} ${pages > 1 ? '' : 'single'}`}>
        {hasImages && pages > 1 && (
          <ThumbnailStrip reference={reference} pages={pages} index={index} onGoToPage={goToPage} />
        )}
        <PageView
          path={reference.path}
          page={page}
          view={hasImages ? view : 'text'}
          zoom={zoom}
          passage={passage}
          onGoToPage={goToPage}
        />
      </div>
    </section>
  );
}

const viewOptions = [
  ['image', texts.image],
  ['both', texts.both],
  ['text', texts.text],
] as const;

interface ViewerKeys {
  readonly index: number;
  readonly zoom: number;
  readonly onGoToPage: (index: number) => void;
  readonly onZoom: (zoom: number) => void;
}

/** Keys for pages and zoom. A focused part that can be scrolled further is scrolled instead. */
function useViewerKeys({ index, zoom, onGoToPage, onZoom }: ViewerKeys): void {
  useShortcuts(({ key }) => {
    if (key === '+' || key === '=') onZoom(nextZoom(zoom, 1));
    else if (key === '-') onZoom(nextZoom(zoom, -1));
    else if (key === '0') onZoom(1);
    else {
      const direction = key === 'ArrowRight' || key === 'PageDown' ? 1 : -1;
      const isArrow = key === 'ArrowRight' || key === 'ArrowLeft';
      if (!isArrow && key !== 'PageDown' && key !== 'PageUp') return false;
      if (canScrollFocused(isArrow ? 'x' : 'y', direction)) return false;
      onGoToPage(index + direction);
    }
    return true;
  });
}

interface PageTurnerProps {
  readonly index: number;
  readonly pages: number;
  readonly onGoToPage: (index: number) => void;
}

function PageTurner({ index, pages, onGoToPage }: PageTurnerProps) {
  const name = fill(texts.pageIndexOfPages, { index: formatCount(index + 1), pages: formatCount(pages) });
  if (pages === 1) return <h2>{name}</h2>;
  return (
    <div class="row page-turner">
      <Button
        tone="ghost"
        aria-label={texts.previousPage}
        disabled={index === 0}
        onClick={() => onGoToPage(index - 1)}
      >
        <Icon name="previous" />
      </Button>
      <h2 aria-live="polite">{name}</h2>
      <Button
        tone="ghost"
        aria-label={texts.nextPage}
        disabled={index === pages - 1}
        onClick={() => onGoToPage(index + 1)}
      >
        <Icon name="next" />
      </Button>
    </div>
  );
}

function NoPages({ found }: { readonly found: DocumentResponse }) {
  if (hasFailed(found.index_status)) return null;
  return isSettled(found.index_status) ? (
    <EmptyState title={texts.noPages}>{texts.thisDocumentContainsNoText}</EmptyState>
  ) : (
    <EmptyState title={texts.parsing}>{texts.pagesAppearHereAfterThe}</EmptyState>
  );
}

interface PageViewProps {
  readonly path: string;
  readonly page: LoadState<PageResponse | null>;
  readonly view: View;
  readonly zoom: number;
  readonly passage: MarkedPassage;
  readonly onGoToPage: (index: number) => void;
}

/** Share of the window for the image. On narrow screens the text is below the image. */
function imageShare(view: View): number {
  if (isSingleColumn.value) return 1;
  return view === 'both' ? 0.42 : 0.62;
}

function PageView({ path, page, view, zoom, passage, onGoToPage }: PageViewProps) {
  if (page.error !== null) return <LoadError error={page.error} onRetry={page.reload} />;
  if (page.data === undefined || page.data === null) return <Skeleton lines={12} width="40%" />;
  const { image_url: image, page_index: index } = page.data;
  return (
    <div class={`page-content ${page.isLoading ? 'stale' : ''}`}>
      {image !== null && view !== 'text' && (
        <PageImage address={image} index={index} zoom={zoom} share={imageShare(view)} marks={passage.lines} />
      )}
      {(image === null || view !== 'image') && (
        <TextPane path={path} page={page.data} passage={passage} onGoToPage={onGoToPage} />
      )}
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
  const { range, cited } = passage;
  const shown = range ?? cited;
  useLayoutEffect(() => {
    if (shown !== null) scrollToPassage(body.current);
  }, [index, shown?.start, shown?.end]);
  const isEmpty = content === null || content === undefined || content.trim() === '';
  const syntax = textSyntaxOf(path);
  const showPassage = () => {
    if (shown === null && passage.page !== null) onGoToPage(passage.page);
    else scrollToPassage(body.current)?.focus({ preventScroll: true });
  };
  return (
    <div class="page-text">
      <div class="text-tools">
        {passage.page !== null && (
          <Button tone="ghost" class="small" onClick={showPassage}>
            {texts.goToPassage}
          </Button>
        )}
        {!isEmpty && syntax !== null && (
          <Button tone="ghost" class="small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            {texts.storedText}
          </Button>
        )}
        {!isEmpty && <CopyButton text={content} label={texts.copyText} />}
      </div>
      {isEmpty ? (
        <p class="muted">{texts.thisPageContainsNoText}</p>
      ) : (
        <section
          ref={body}
          class="text-body text-blocks"
          tabIndex={0}
          aria-label={fill(texts.textOfPageIndex, { index: index + 1 })}
        >
          <PageText text={content} syntax={isRaw ? null : syntax} marks={toMarks(range, cited)} />
        </section>
      )}
    </div>
  );
}

/** The cited text, with the sentence that supports the answer in it. */
function toMarks(range: TextRange | null, cited: TextRange | null): TextMarks {
  return {
    outer: cited,
    outerClass: 'cited',
    inner: range === null ? [] : [range],
    innerProps: { class: 'passage', tabIndex: -1 },
  };
}

/** Scrolls the text, or the window on narrow screens, and returns the first mark. */
function scrollToPassage(body: HTMLElement | null): HTMLElement | null {
  const mark = body?.querySelector<HTMLElement>('mark.passage') ?? body?.querySelector<HTMLElement>('.cited');
  if (body === null || mark === null || mark === undefined) return null;
  if (body.scrollHeight > body.clientHeight) {
    const distance = mark.getBoundingClientRect().top - body.getBoundingClientRect().top;
    body.scrollTop += distance - body.clientHeight / 3;
  }
  mark.scrollIntoView({ block: body.scrollHeight > body.clientHeight ? 'nearest' : 'center' });
  return mark;
}
