import { defaultParseLimits } from '../../src/parsing/limits.ts';
import { renderPdfPage } from '../../src/parsing/pdf/pdf-page-images.ts';
import type { GrayscaleImage } from './image-fixtures.ts';
import { buildPdf } from './pdf-fixtures.ts';

/** Simulates a scan of a page with this text. PDFium renders it with built-in fonts, so the host needs none. */
export async function renderText(text: string, dotsPerInch = 150): Promise<GrayscaleImage> {
  const rendered = await renderPdfPage(buildPdf([text]), 0, {
    limits: defaultParseLimits,
    scaleOf: () => dotsPerInch / 72,
  });
  if (rendered === null) throw new Error('the page was not rendered');
  const { width, height, pixels } = rendered;
  return { width, height, pixels: Uint8Array.from({ length: width * height }, (_, i) => pixels[i * 4]!) };
}
