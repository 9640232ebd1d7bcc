import { Button } from '../components/button.tsx';
import { formatPercent } from '../format/numbers.ts';
import { toLocalUrl } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';

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
}

/** Image of a page in a pane that scrolls when the image is larger. */
export function PageImage({ address, index, zoom, share }: PageImageProps) {
  const url = toLocalUrl(address);
  return (
    <section class="page-image" tabIndex={0} aria-label={`Image of page ${index + 1}`}>
      <img
        key={url}
        src={`${url}&width=1024`}
        srcset={imageWidths.map((width) => `${url}&width=${width} ${width}w`).join(', ')}
        sizes={`${Math.round(share * zoom * 100)}vw`}
        alt={`Rendered page ${index + 1}`}
        style={{ width: `${zoom * 100}%` }}
      />
    </section>
  );
}

interface ZoomControlsProps {
  readonly zoom: number;
  readonly onZoom: (zoom: number) => void;
}

export function ZoomControls({ zoom, onZoom }: ZoomControlsProps) {
  const [smaller, larger] = [nextZoom(zoom, -1), nextZoom(zoom, 1)];
  return (
    <div class="zoom-controls" role="group" aria-label="Zoom">
      <Button tone="ghost" aria-label="Zoom out" disabled={smaller === zoom} onClick={() => onZoom(smaller)}>
        <Icon name="minus" />
      </Button>
      <Button tone="ghost" aria-label={`Fit width, now ${formatPercent(zoom, 1)}`} onClick={() => onZoom(1)}>
        <span class="number">{formatPercent(zoom, 1)}</span>
      </Button>
      <Button tone="ghost" aria-label="Zoom in" disabled={larger === zoom} onClick={() => onZoom(larger)}>
        <Icon name="plus" />
      </Button>
    </div>
  );
}
