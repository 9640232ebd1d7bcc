import type { ParseLimits } from '../../limits.ts';
import { PageOcr } from '../../ocr/page-ocr.ts';
import { measureSkew, skewSidePixels } from '../../ocr/skew.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentInfo } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { DocumentTools } from '../../tools/document-tools.ts';
import { decodeBmp, readBmpSize } from './bmp.ts';
import type { ImageKind } from './image-kind.ts';
import {
  type ImageInfo,
  type ImageInput,
  type PixelSize,
  readImageInfo,
  toGrayPixels,
  toGrayPng,
} from './raster.ts';

export interface ImageContext {
  readonly limits: ParseLimits;
  readonly tools: DocumentTools;
}

/** Best range of the longest side for OCR, in pixels: smaller images are enlarged, larger ones reduced. */
const sideRange = { min: 1_600, max: 5_000 } as const;
const enlargementMax = 2;

/** Parses an image: one page, or all pages of a TIFF, each with its OCR text. */
export async function* parseImage(
  bytes: Uint8Array,
  kind: ImageKind,
  context: ImageContext,
): AsyncGenerator<string, DocumentInfo> {
  const { limits, tools } = context;
  const { source, facts } = await openImage(bytes, kind, context);
  const pages = kind === 'tiff' ? facts.pages : 1;
  if (pages > limits.pagesMax) {
    throw new ParseFailure('too_large', `The image has ${pages} pages; at most ${limits.pagesMax} are read.`);
  }
  const pageOcr = new PageOcr(tools, limits);
  const budget = new TextBudget(limits.textUnitsMax);
  for (let page = 0; page < pages; page++) {
    tools.reportProgress({ stage: 'recognising', page, of: pages });
    const size = page === 0 ? facts : checkImageSize(await readImageInfo(source, page), kind, limits);
    const text = await pageOcr.recognize(page, {
      renderPng: (degrees) => toGrayPng(source, { page, size: computeOcrSize(size), turn: degrees }),
      measureSkew: async () => measureSkew(await toGrayPixels(source, { page, side: skewSidePixels })),
    });
    budget.consume(text?.length ?? 0);
    yield text ?? '';
  }
  const warnings = pageOcr.listWarnings();
  if (pages < facts.pages) warnings.push('Of an animation, only the first frame is read.');
  return {
    kind,
    contentType: `image/${kind}`,
    unordered: false,
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
  { limits, tools }: ImageContext,
): Promise<{ source: ImageInput; facts: ImageInfo }> {
  if (kind === 'bmp') {
    checkImageSize({ ...readBmpSize(bytes), pages: 1 }, kind, limits);
    const source = { raster: decodeBmp(bytes) };
    return { source, facts: { ...source.raster, pages: 1 } };
  }
  const source = {
    bytes: kind === 'heic' ? await convertHeif(tools) : bytes,
    pixelsMax: limits.imageInputPixelsMax,
  };
  return { source, facts: checkImageSize(await readImageInfo(source), kind, limits) };
}

async function convertHeif(tools: DocumentTools): Promise<Uint8Array> {
  const reply = await tools.request({ kind: 'open-heif' });
  switch (reply.kind) {
    case 'bytes':
      return reply.bytes;
    case 'missing':
      throw new ParseFailure('missing_tool', `The image is in HEIC. ${reply.message}`);
    case 'failed':
      throw new ParseFailure(reply.code, reply.message);
    case 'text':
    case 'file':
      throw new ParseFailure('crash', 'The program that opens HEIC answered something that was not asked.');
  }
}

function checkImageSize(
  facts: ImageInfo | null,
  kind: ImageKind,
  { imageInputPixelsMax }: ParseLimits,
): ImageInfo {
  if (facts === null) throw new ParseFailure('corrupt', `The ${kind.toUpperCase()} image is damaged.`);
  const { width, height } = facts;
  if (width * height > imageInputPixelsMax) {
    throw new ParseFailure(
      'too_large',
      `The image has ${width} x ${height} pixels; at most ${imageInputPixelsMax} are read.`,
    );
  }
  return facts;
}

/** Returns a square that the image fits in with any EXIF rotation. */
function computeOcrSize({ width, height }: ImageInfo): PixelSize {
  const side = Math.max(width, height);
  const targetSide = Math.min(Math.max(side, sideRange.min), sideRange.max);
  const target = Math.round(Math.min(targetSide, side * enlargementMax));
  return { width: target, height: target };
}
