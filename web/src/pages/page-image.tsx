import { useRef } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { formatPercent } from '../format/numbers.ts';
import { toLocalUrl } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/document.ts';
import { fill } from '../texts/format-text.ts';
import type { PassageLine } from './document-passage.ts';

/** Widths relative to the pane; 1 fits the width. */
const zoomLevels = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4] as const;

/** Returns the next zoom level in a direction, or the same one at the end. */
export function nextZoom(zoom: number, direction: 1 | -1): number {
  const found =
    direction > 0 ? zoomLevels.find((each) => each > zoom) : zoomLevels.findLast((each) => each < zoom);
  return found ?? zoom;
}

/** Some of the widths that the server renders: the browser loads the smallest one that is sharp. */
const imageWidths = [384, 512, 768, 1_024, 1_536, 2_000] as const;

interface PageImageProps {
  /** URL of the image from the API. */
  readonly address: string;
  /** Index of the page. */
  readonly index: number;
  readonly zoom: number;
  /** Share of the window that the pane takes at zoom 1. */
  readonly share: number;
  /** Places to mark. The text beside the image has the same marks for screen readers. */
  readonly marks: readonly PassageLine[];
}

/** Image of a page in a pane that scrolls when the image is larger. Shows the first mark once the image has its size. */
export function PageImage({ address, index, zoom, share, marks }: PageImageProps) {
  const url = toLocalUrl(address);
  const pane = useRef<HTMLElement>(null);
  return (
    <section
      ref={pane}
      class={zoom > 1 ? 'page-image zoomed' : 'page-image'}
      tabIndex={0}
      aria-label={fill(texts.imageOfPageIndex, { index: index + 1 })}
    >
      <div class="page-frame" style={{ width: `${zoom * 100}%` }}>
        <img
          key={url}
          src={`${url}&width=1024`}
          srcset={imageWidths.map((width) => `${url}&width=${width} ${width}w`).join(', ')}
          sizes={`${Math.round(share * zoom * 100)}vw`}
          alt={fill(texts.renderedPageIndex, { index: index + 1 })}
          onLoad={() => scrollToMark(pane.current)}
        />
        {marks.map(({ left, top, width, height, isStrong }, i) => (
          <span
            key={i}
            class={isStrong ? 'page-mark strong' : 'page-mark'}
            aria-hidden="true"
            style={{ left: percent(left), top: percent(top), width: percent(width), height: percent(height) }}
          />
        ))}
      </div>
    </section>
  );
}

function percent(fraction: number): string {
  return `${fraction * 100}%`;
}

function scrollToMark(pane: HTMLElement | null): void {
  const mark = pane?.querySelector<HTMLElement>('.page-mark.strong') ?? pane?.querySelector('.page-mark');
  if (pane === null || mark === null || mark === undefined) return;
  const distance = mark.getBoundingClientRect().top - pane.getBoundingClientRect().top;
  pane.scrollTop += distance - pane.clientHeight / 3;
}

interface ZoomControlsProps {
  readonly zoom: number;
  readonly onZoom: (zoom: number) => void;
}

export function ZoomControls({ zoom, onZoom }: ZoomControlsProps) {
  const [smaller, larger] = [nextZoom(zoom, -1), nextZoom(zoom, 1)];
  return (
    <div class="zoom-controls" role="group" aria-label={texts.zoom}>
      <Button
        tone="ghost"
        aria-label={texts.zoomOut}
        disabled={smaller === zoom}
        onClick={() => onZoom(smaller)}
      >
        <Icon name="minus" />
      </Button>
      <Button
        tone="ghost"
        aria-label={fill(texts.fitWidthNowZoom, { zoom: formatPercent(zoom, 1) })}
        onClick={() => onZoom(1)}
      >
        <span class="number">{formatPercent(zoom, 1)}</span>
      </Button>
      <Button
        tone="ghost"
        aria-label={texts.zoomIn}
        disabled={larger === zoom}
        onClick={() => onZoom(larger)}
      >
        <Icon name="plus" />
      </Button>
    </div>
  );
}
