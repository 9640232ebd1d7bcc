import { detect } from './detect.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import { renderPdfPage } from './pdf.ts';
import type { RenderedPage } from './pdfium.ts';

export interface ImageSize {
  readonly widthMax: number;
  readonly dotsPerInch: number;
  /** JPEG quality 1..100. */
  readonly quality: number;
}

const pointsPerInch = 72;

/** JPEG of one page of a PDF. Null: the document has no page images, or not this page. Runs only in the parser process. */
export async function renderPageImage(
  bytes: Uint8Array,
  page: number,
  size: ImageSize,
  limits: ParseLimits,
): Promise<Uint8Array | null> {
  if ((await detect(bytes, null, limits)).kind !== 'pdf') return null;
  const rendered = await renderPdfPage(bytes, page, (width, height) => scaleFor(width, height, size, limits));
  return rendered === null ? null : encodeJpeg(rendered, size.quality);
}

/** Pixels per point: the wanted resolution, less when the page would be too wide, too long or too large. */
export function scaleFor(width: number, height: number, size: ImageSize, limits: ParseLimits): number {
  const [w, h] = [Math.max(width, 1), Math.max(height, 1)];
  return Math.min(
    size.dotsPerInch / pointsPerInch,
    size.widthMax / w,
    limits.imageSideMax / Math.max(w, h),
    Math.sqrt(limits.imagePixelsMax / (w * h)),
  );
}

async function encodeJpeg({ pixels, width, height }: RenderedPage, quality: number): Promise<Uint8Array> {
  const { default: sharp } = await import('sharp').catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new ParseFailure(
      'missing_tool',
      `Page images need the sharp package, which this host cannot load: ${reason}`,
    );
  });
  sharp.cache(false);
  sharp.concurrency(1);
  const image = sharp(pixels, { raw: { width, height, channels: 4 } });
  return image.removeAlpha().jpeg({ quality }).toBuffer();
}
