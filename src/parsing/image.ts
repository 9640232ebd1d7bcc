import { bmpSize, decodeBmp } from './bmp.ts';
import type { DocumentTools } from './document-tools.ts';
import type { ImageKind } from './image-kind.ts';
import type { ParseLimits } from './limits.ts';
import { PageRecognition } from './page-recognition.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import {
  type ImageFacts,
  type ImageSource,
  imageFacts,
  type Scaled,
  toGreyPixels,
  toGreyPng,
} from './raster.ts';
import { skewOf, skewSide } from './skew.ts';
import { TextBudget } from './text-budget.ts';

export interface ImageContext {
  readonly limits: ParseLimits;
  readonly tools: DocumentTools;
}

/** Sides between which the engines read best: smaller pictures are enlarged, larger ones reduced. */
const sideWanted = { min: 1_600, max: 5_000 } as const;
const enlargementMax = 2;

/** An image: one page, of a TIFF all its pages, each with the text that OCR finds in it. */
export async function* parseImage(
  bytes: Uint8Array,
  kind: ImageKind,
  context: ImageContext,
): AsyncGenerator<string, DocumentFacts> {
  const { limits, tools } = context;
  const { source, facts } = await openImage(bytes, kind, context);
  const pages = kind === 'tiff' ? facts.pages : 1;
  if (pages > limits.pagesMax) {
    throw new ParseFailure('too_large', `The image has ${pages} pages; at most ${limits.pagesMax} are read.`);
  }
  const recognition = new PageRecognition(tools, limits);
  const budget = new TextBudget(limits.textUnitsMax);
  for (let page = 0; page < pages; page++) {
    tools.tell({ stage: 'recognising', page, of: pages });
    const size = page === 0 ? facts : checked(await imageFacts(source, page), kind, limits);
    const text = await recognition.read(page, {
      png: (turn) => toGreyPng(source, { page, size: readableSize(size), turn }),
      skew: async () => skewOf(await toGreyPixels(source, { page, side: skewSide })),
    });
    budget.take(text?.length ?? 0);
    yield text ?? '';
  }
  const warnings = recognition.warnings();
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

/** Opens an image of any kind. Throws `ParseFailure` when it is damaged, too large, or needs a program that is missing. */
export async function openImage(
  bytes: Uint8Array,
  kind: ImageKind,
  { limits, tools }: ImageContext,
): Promise<{ source: ImageSource; facts: ImageFacts }> {
  if (kind === 'bmp') {
    checked({ ...bmpSize(bytes), pages: 1 }, kind, limits);
    const source = { raster: decodeBmp(bytes) };
    return { source, facts: { ...source.raster, pages: 1 } };
  }
  const source = {
    bytes: kind === 'heic' ? await openHeif(tools) : bytes,
    pixelsMax: limits.imageInputPixelsMax,
  };
  return { source, facts: checked(await imageFacts(source), kind, limits) };
}

async function openHeif(tools: DocumentTools): Promise<Uint8Array> {
  const reply = await tools.ask({ kind: 'open-heif' });
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

function checked(
  facts: ImageFacts | null,
  kind: ImageKind,
  { imageInputPixelsMax }: ParseLimits,
): ImageFacts {
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

/** A square that the picture fits into, whichever way EXIF turns it. */
function readableSize({ width, height }: ImageFacts): Scaled {
  const side = Math.max(width, height);
  const wanted = Math.min(Math.max(side, sideWanted.min), sideWanted.max);
  const target = Math.round(Math.min(wanted, side * enlargementMax));
  return { width: target, height: target };
}
