import { type Raster, toGrayPixels, toGrayPng } from '../formats/image/raster.ts';
import type { PageOcr } from '../ocr/page-ocr.ts';
import { measureSkew, skewSidePixels } from '../ocr/skew.ts';
import { isUnreadable } from '../page-text.ts';
import { ParseFailure } from '../parse-failure.ts';
import type { DocumentTools } from '../tools/document-tools.ts';
import type { PageSource } from './pdf-page-assembler.ts';
import type { PageContent, PageScale, PdfSource } from './pdf-source.ts';

/**
 * Minimum number of visible characters for the text of a page to count, and minimum image share for images to
 * hold the text.
 */
const visibleLettersMin = 16;
const imageShareMin = 0.1;

/** Whether the visible page differs from its text: a scan, or fonts without a character map. */
export function needsOcr(content: PageContent | null, source: PdfSource, index: number): boolean {
  if (content === null || source.render === null) return false;
  const { visible, broken } = content.characters;
  if (isUnreadable(content.characters)) return true;
  return visible - broken < visibleLettersMin && source.imageShare(index) >= imageShareMin;
}

interface PageOcrInput {
  readonly source: PdfSource;
  readonly index: number;
  readonly count: number;
  readonly pageOcr: PageOcr;
  readonly tools: DocumentTools;
}

/** Returns null when OCR did not read the page; its own text is then used. */
export async function recognizePage({
  source,
  index,
  count,
  pageOcr: recognition,
  tools,
}: PageOcrInput): Promise<PageSource | null> {
  tools.reportProgress({ stage: 'recognising', page: index, of: count });
  const drawPage = (scaleOf: PageScale): Raster => {
    const raster = source.render?.(index, scaleOf) ?? null;
    if (raster === null) throw new ParseFailure('corrupt', 'A page of the PDF cannot be rendered.');
    return raster;
  };
  const page = await recognition.recognize(index, {
    renderPng: (degrees) => toGrayPng({ raster: drawPage(computeOcrScale) }, { turn: degrees }),
    measureSkew: async () =>
      measureSkew(await toGrayPixels({ raster: drawPage(computeSkewScale) }, { side: skewSidePixels })),
  });
  return page === null || page.text === '' ? null : page;
}

const pointsPerInch = 72;
const ocrDotsPerInch = 200;
const ocrPixelsMax = 12_000_000;

function computeOcrScale(width: number, height: number): number {
  return Math.min(ocrDotsPerInch / pointsPerInch, Math.sqrt(ocrPixelsMax / Math.max(1, width * height)));
}

function computeSkewScale(width: number, height: number): number {
  return Math.min(computeOcrScale(width, height), skewSidePixels / Math.max(1, width, height));
}
