import type { Raster } from '../formats/image/raster.ts';
import type { ParseLimits } from '../limits.ts';
import { hasPages, openWithTrailer } from './pdf-open.ts';
import type { PageScale } from './pdf-source.ts';
import { PdfiumDocument } from './pdfium.ts';

/** Renders one page; null when PDFium cannot open the file or has no such page. */
export async function renderPdfPage(
  bytes: Uint8Array,
  index: number,
  { limits, scaleOf }: { readonly limits: ParseLimits; readonly scaleOf: PageScale },
): Promise<Raster | null> {
  const opened = await PdfiumDocument.open(bytes);
  if (opened === 'encrypted') return null;
  const isIntact = opened !== 'corrupt' && hasPages(opened);
  if (!isIntact && opened !== 'corrupt') opened.close();
  const document = isIntact ? opened : await openWithTrailer(bytes, limits);
  if (document === null) return null;
  try {
    return index >= 0 && index < document.pageCount ? document.render(index, scaleOf) : null;
  } finally {
    document.close();
  }
}

/**
 * Returns the size in points of a page with CJK text in fonts that are not embedded; null for any other page.
 */
export async function measureUnembeddedCjkPage(
  bytes: Uint8Array,
  index: number,
): Promise<{ readonly width: number; readonly height: number } | null> {
  const document = await PdfiumDocument.open(bytes);
  if (typeof document === 'string') return null;
  try {
    return index >= 0 && index < document.pageCount ? document.measureUnembeddedCjkPage(index) : null;
  } finally {
    document.close();
  }
}
