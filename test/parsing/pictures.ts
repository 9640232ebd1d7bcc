import { defaultParseLimits } from '../../src/parsing/limits.ts';
import { renderPdfPage } from '../../src/parsing/pdf.ts';
import { type GreyPicture, pdfWithPages } from './fixtures.ts';

/** What a scanner makes of a page with this text: PDFium draws it with its own fonts, so no host needs any. */
export async function pictureOf(text: string, dotsPerInch = 150): Promise<GreyPicture> {
  const drawn = await renderPdfPage(pdfWithPages([text]), 0, {
    limits: defaultParseLimits,
    scaleOf: () => dotsPerInch / 72,
  });
  if (drawn === null) throw new Error('the page was not drawn');
  const { width, height, pixels } = drawn;
  return { width, height, pixels: Uint8Array.from({ length: width * height }, (_, i) => pixels[i * 4]!) };
}
