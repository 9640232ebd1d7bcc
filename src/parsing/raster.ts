import { ParseFailure } from './parse-failure.ts';
import type { GreyPixels } from './skew.ts';

/** Pixels in RGBA, `width * height * 4` bytes. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** An image as it was stored, or pixels that something else has decoded. */
export type ImageSource =
  | { readonly bytes: Uint8Array; readonly pixelsMax: number }
  | { readonly raster: Raster };

/** The only file that touches sharp. It decodes and encodes images inside the parser process. */
async function loadSharp() {
  const { default: sharp } = await import('sharp').catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new ParseFailure(
      'missing_tool',
      `Images need the sharp package, which this host cannot load: ${reason}`,
    );
  });
  sharp.cache(false);
  sharp.concurrency(1);
  return sharp;
}

async function open(source: ImageSource, page: number) {
  const sharp = await loadSharp();
  if ('raster' in source) {
    const { pixels, width, height } = source.raster;
    return sharp(pixels, { raw: { width, height, channels: 4 } });
  }
  return sharp(source.bytes, {
    page,
    limitInputPixels: source.pixelsMax,
    failOn: 'none',
    sequentialRead: true,
  });
}

export interface ImageFacts {
  readonly width: number;
  readonly height: number;
  /** Pages of a TIFF, frames of an animation. */
  readonly pages: number;
}

/** Null: nothing can decode the image. */
export async function imageFacts(source: ImageSource, page = 0): Promise<ImageFacts | null> {
  if ('raster' in source) return { ...source.raster, pages: 1 };
  const image = await open({ ...source, pixelsMax: Number.MAX_SAFE_INTEGER }, page);
  const read = await image.metadata().catch(() => null); // every reason means the same: no header that sharp knows
  if (read?.width === undefined || read.height === undefined) return null;
  // Of an animation, the height is that of all frames where they were asked for, else of one.
  return { width: read.width, height: read.pageHeight ?? read.height, pages: read.pages ?? 1 };
}

/** The box, in pixels, that an upright picture is scaled to fit into. */
export interface Scaled {
  readonly width: number;
  readonly height: number;
}

/** JPEG of a page, upright as its EXIF data says, on white, in sRGB. */
export async function toJpeg(
  source: ImageSource,
  { page = 0, size, quality }: { readonly page?: number; readonly size?: Scaled; readonly quality: number },
): Promise<Uint8Array> {
  const image = (await open(source, page)).autoOrient();
  const sized = size === undefined ? image : image.resize({ ...size, fit: 'inside' });
  return await decoded(
    sized.flatten({ background: '#ffffff' }).toColourspace('srgb').jpeg({ quality }).toBuffer(),
  );
}

/** Grey PNG of a page for OCR, upright as its EXIF data says and then turned by `turn` degrees clockwise, on white. */
export async function toGreyPng(
  source: ImageSource,
  { page = 0, size, turn }: { readonly page?: number; readonly size?: Scaled; readonly turn: number },
): Promise<Uint8Array> {
  const image = (await open(source, page)).autoOrient();
  const sized = size === undefined ? image : image.resize({ ...size, fit: 'inside' });
  const turned = turn === 0 ? sized : sized.rotate(turn, { background: '#ffffff' });
  return await decoded(
    turned.flatten({ background: '#ffffff' }).toColourspace('b-w').png({ compressionLevel: 1 }).toBuffer(),
  );
}

/** Grey pixels of a page that fit into a square, upright as its EXIF data says, on white. */
export async function toGreyPixels(
  source: ImageSource,
  { page = 0, side }: { readonly page?: number; readonly side: number },
): Promise<GreyPixels> {
  const image = (await open(source, page)).autoOrient();
  const size = { width: side, height: side, fit: 'inside', withoutEnlargement: true } as const;
  const grey = image.flatten({ background: '#ffffff' }).resize(size).toColourspace('b-w').raw();
  const { data, info } = await decoded(grey.toBuffer({ resolveWithObject: true }));
  const { width, height, channels } = info;
  return { width, height, pixels: channels === 1 ? data : data.filter((_, i) => i % channels === 0) };
}

async function decoded<Encoded>(encoding: Promise<Encoded>): Promise<Encoded> {
  try {
    return await encoding;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (/pixel limit/i.test(reason))
      throw new ParseFailure('too_large', 'The image has more pixels than are read.');
    throw new ParseFailure('corrupt', `The image is damaged: ${reason.split('\n')[0]}.`);
  }
}
