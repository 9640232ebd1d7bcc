import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isSingleColumn } from '../browser/media.ts';
import { formatCount } from '../format/numbers.ts';
import { useLoad } from '../server/load.ts';
import { type DocumentReference, getPage, toLocalUrl } from '../server/retrieval.ts';
import { texts } from '../texts/en/document.ts';

/** Length of an entry along the strip, in pixels. */
const entryLength = { vertical: 124, horizontal: 84 } as const;
/** Entries rendered beyond the visible ones, on both sides. */
const overscan = 2;
/** A page that stays visible for less time, while the strip is scrolled, is not loaded. */
const loadDelayMs = 120;

interface ThumbnailStripProps {
  readonly reference: DocumentReference;
  readonly pages: number;
  readonly index: number;
  readonly onGoToPage: (index: number) => void;
}

/**
 * Small images of all pages, beside the page or above it on narrow screens. Only entries near the visible part exist,
 * and only they load. The current page is the only tab stop.
 */
export function ThumbnailStrip({ reference, pages, index, onGoToPage }: ThumbnailStripProps) {
  const strip = useRef<HTMLElement>(null);
  const direction = isSingleColumn.value ? 'horizontal' : 'vertical';
  const length = entryLength[direction];
  const [first, end] = useVisibleEntries(strip, { length, isVertical: direction === 'vertical' });
  useRevealedEntry(strip, { index, length, isVertical: direction === 'vertical' });
  const shown = new Set([index]);
  for (let each = Math.max(0, first - overscan); each < Math.min(pages, end + overscan); each += 1)
    shown.add(each);
  const size = { [direction === 'vertical' ? 'height' : 'width']: `${pages * length}px` };
  const axis = direction === 'vertical' ? 'Y' : 'X';
  return (
    <nav ref={strip} class="thumbnails" aria-label={texts.thumbnails}>
      <ol style={size}>
        {[...shown]
          .sort((one, other) => one - other)
          .map((each) => (
            <li key={each} style={{ transform: `translate${axis}(${each * length}px)` }}>
              <button
                type="button"
                aria-current={each === index ? 'page' : undefined}
                tabIndex={each === index ? 0 : -1}
                onClick={() => onGoToPage(each)}
              >
                <ThumbnailImage reference={reference} index={each} />
                <span class="number">
                  <span class="visually-hidden">{texts.page}</span>
                  {formatCount(each + 1)}
                </span>
              </button>
            </li>
          ))}
      </ol>
    </nav>
  );
}

interface EntryLayout {
  readonly length: number;
  readonly isVertical: boolean;
}

/** Returns the first visible entry and the one after the last. */
function useVisibleEntries(
  strip: RefObject<HTMLElement | null>,
  { length, isVertical }: EntryLayout,
): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  useLayoutEffect(() => {
    const element = strip.current;
    if (element === null) return;
    const measure = () => {
      const [start, size] = isVertical
        ? [element.scrollTop, element.clientHeight]
        : [element.scrollLeft, element.clientWidth];
      const [first, end] = [Math.floor(start / length), Math.ceil((start + size) / length)];
      setRange((before) => (before[0] === first && before[1] === end ? before : [first, end]));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [length, isVertical]);
  return range;
}

/** Keeps the current entry in view when the page or the size of the strip changes. */
function useRevealedEntry(
  strip: RefObject<HTMLElement | null>,
  { index, length, isVertical }: EntryLayout & { readonly index: number },
): void {
  useLayoutEffect(() => {
    const element = strip.current;
    if (element === null) return;
    const reveal = () => revealEntry(element, { index, length, isVertical });
    reveal();
    const observer = new ResizeObserver(reveal);
    observer.observe(element);
    return () => observer.disconnect();
  }, [index, length, isVertical]);
}

/** Scrolls the strip, not the page, to an entry, and keeps the focus on the current page. */
function revealEntry(
  strip: HTMLElement,
  { index, length, isVertical }: EntryLayout & { readonly index: number },
) {
  const [start, size] = isVertical
    ? [strip.scrollTop, strip.clientHeight]
    : [strip.scrollLeft, strip.clientWidth];
  const position = index * length;
  if (position < start || position + length > start + size) {
    const centered = position - (size - length) / 2;
    strip.scrollTo(isVertical ? { top: centered } : { left: centered });
  }
  if (strip.contains(document.activeElement))
    strip.querySelector<HTMLElement>('[aria-current]')?.focus({ preventScroll: true });
}

function ThumbnailImage({
  reference,
  index,
}: {
  readonly reference: DocumentReference;
  readonly index: number;
}) {
  const { collection, path } = reference;
  const image = useLoad(
    async (abort) => {
      await delay(loadDelayMs, abort);
      return (await getPage(reference, { index, withText: false }, abort)).page.image_url;
    },
    [collection, path, index],
  );
  return (
    <span class="thumbnail-image">
      {image.data !== undefined && image.data !== null && (
        <img src={`${toLocalUrl(image.data)}&width=128`} alt="" loading="lazy" />
      )}
    </span>
  );
}

function delay(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    abort.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(abort.reason);
    });
  });
}
