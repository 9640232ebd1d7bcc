import type { ParseLimits } from '../../limits.ts';
import { PageOcr } from '../../ocr/page-ocr.ts';
import { measureSkew, skewSidePixels } from '../../ocr/skew.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { PageText } from '../../parsed-page.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { DocumentTools } from '../../tools/document-tools.ts';
import type { ParseContext } from '../format.ts';
import { decodeBmp, readBmpSize } from './bmp.ts';
import {
  type ImageInfo,
  type ImageInput,
  type PixelSize,
  readImageInfo,
  toGrayPixels,
  toGrayPng,
} from './raster.ts';

export type ImageKind = 'png' | 'jpeg' | 'webp' | 'gif' | 'tiff' | 'bmp' | 'heic';

/** Best range of the longest side for OCR, in pixels: smaller images are enlarged, larger ones reduced. */
const sideRange = { min: 1_600, max: 5_000 } as const;
const enlargementMax = 2;

/** Parses an image: one page, or all pages of a TIFF, each with its OCR text. */
export async function* parseImage(
  bytes: Uint8Array,
  kind: ImageKind,
  context: ParseContext,
): AsyncGenerator<string | PageText, DocumentDetails> {
  const { limits, tools } = context;
  const { source, info } = await openImage(bytes, kind, context);
  const pages = kind === 'tiff' ? info.pages : 1;
  if (pages > limits.pagesMax) {
    throw new ParseFailure('too_large', `The image has ${pages} pages; the limit is ${limits.pagesMax}.`);
  }
  const pageOcr = new PageOcr(tools, limits);
  const budget = new TextBudget(limits.textUnitsMax);
  for (let page = 0; page < pages; page++) {
    tools.reportProgress({ stage: 'recognising', page, of: pages });
    const size = page === 0 ? info : checkImageSize(await readImageInfo(source, page), kind, limits);
    const recognized = await pageOcr.recognize(page, {
      renderPng: (degrees) => toGrayPng(source, { page, size: computeOcrSize(size), turn: degrees }),
      measureSkew: async () => measureSkew(await toGrayPixels(source, { page, side: skewSidePixels })),
    });
    budget.consume(recognized?.text.length ?? 0);
    yield recognized ?? '';
  }
  const warnings = pageOcr.listWarnings();
  if (pages < info.pages) warnings.push('Only the first frame of the animation was read.');
  return {
    headings: false,
    title: null,
    language: null,
    warnings,
  };
}

/**
 * Opens an image of any kind. Errors: `ParseFailure` when it is damaged, too large, or needs a program that
 * is not installed.
 */
export async function openImage(
  bytes: Uint8Array,
  kind: ImageKind,
  { limits, tools }: ParseContext,
): Promise<{ source: ImageInput; info: ImageInfo }> {
  if (kind === 'bmp') {
    checkImageSize({ ...readBmpSize(bytes), pages: 1 }, kind, limits);
    const source = { raster: decodeBmp(bytes) };
    return { source, info: { ...source.raster, pages: 1 } };
  }
  const source = {
    bytes: kind === 'heic' ? await convertHeif(tools) : bytes,
    pixelsMax: limits.imageInputPixelsMax,
  };
  return { source, info: checkImageSize(await readImageInfo(source), kind, limits) };
}

async function convertHeif(tools: DocumentTools): Promise<Uint8Array> {
  const reply = await tools.request({ kind: 'open-heif' });
  switch (reply.kind) {
    case 'bytes':
      return reply.bytes;
    case 'missing':
      throw new ParseFailure('missing_tool', `The HEIC image was not read. ${reply.message}`);
    case 'failed':
      throw new ParseFailure(reply.code, reply.message);
    case 'text':
    case 'file':
      throw new ParseFailure('crash', 'The HEIC converter returned an unexpected reply.');
  }
}

function checkImageSize(
  info: ImageInfo | null,
  kind: ImageKind,
  { imageInputPixelsMax }: ParseLimits,
): ImageInfo {
  if (info === null) throw new ParseFailure('corrupt', `The ${kind.toUpperCase()} image is damaged.`);
  const { width, height } = info;
  if (width * height > imageInputPixelsMax) {
    throw new ParseFailure(
      'too_large',
      `The image has ${width} x ${height} pixels; the limit is ${imageInputPixelsMax}.`,
    );
  }
  return info;
}

/** Returns a square that the image fits in with any EXIF rotation. */
function computeOcrSize({ width, height }: ImageInfo): PixelSize {
  const side = Math.max(width, height);
  const targetSide = Math.min(Math.max(side, sideRange.min), sideRange.max);
  const target = Math.round(Math.min(targetSide, side * enlargementMax));
  return { width: target, height: target };
}
