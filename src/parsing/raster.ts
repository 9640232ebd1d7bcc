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

const [white, black] = ['#ffffff', '#000000'];
/** What is mostly transparent and, where it is not, brighter than this on average of 255, would not be seen on white. */
const brightMin = 200;
const transparentShareMin = 0.5;
const sampleSide = 200;

/** What transparent parts of an image are shown as: white, but black where only light letters are drawn. */
async function paperOf(source: ImageSource, page: number): Promise<string> {
  if ('raster' in source || !(await (await open(source, page)).metadata()).hasAlpha) return white;
  const image = (await open(source, page)).resize({ width: sampleSide, height: sampleSide, fit: 'inside' });
  const pixels = await decoded(image.toColourspace('srgb').ensureAlpha().raw().toBuffer());
  let [seen, light] = [0, 0];
  for (let at = 0; at + 4 <= pixels.length; at += 4) {
    const alpha = pixels[at + 3]!;
    seen += alpha;
    light += (alpha * (pixels[at]! + pixels[at + 1]! + pixels[at + 2]!)) / 3;
  }
  const transparent = 1 - seen / ((pixels.length / 4) * 255);
  return seen > 0 && transparent > transparentShareMin && light / seen > brightMin ? black : white;
}

/** JPEG of a page, upright as its EXIF data says, on white or what shows it, in sRGB. */
export async function toJpeg(
  source: ImageSource,
  { page = 0, size, quality }: { readonly page?: number; readonly size?: Scaled; readonly quality: number },
): Promise<Uint8Array> {
  const image = (await open(source, page)).autoOrient();
  const sized = size === undefined ? image : image.resize({ ...size, fit: 'inside' });
  const background = await paperOf(source, page);
  return await decoded(sized.flatten({ background }).toColourspace('srgb').jpeg({ quality }).toBuffer());
}

/** Grey PNG of a page for OCR, upright as its EXIF data says and then turned by `turn` degrees clockwise. */
export async function toGreyPng(
  source: ImageSource,
  { page = 0, size, turn }: { readonly page?: number; readonly size?: Scaled; readonly turn: number },
): Promise<Uint8Array> {
  const image = (await open(source, page)).autoOrient();
  const sized = size === undefined ? image : image.resize({ ...size, fit: 'inside' });
  const background = await paperOf(source, page);
  const turned = turn === 0 ? sized : sized.rotate(turn, { background });
  return await decoded(
    turned.flatten({ background }).toColourspace('b-w').png({ compressionLevel: 1 }).toBuffer(),
  );
}

/** Grey pixels of a page that fit into a square, upright as its EXIF data says. */
export async function toGreyPixels(
  source: ImageSource,
  { page = 0, side }: { readonly page?: number; readonly side: number },
): Promise<GreyPixels> {
  const image = (await open(source, page)).autoOrient();
  const size = { width: side, height: side, fit: 'inside', withoutEnlargement: true } as const;
  const background = await paperOf(source, page);
  const grey = image.flatten({ background }).resize(size).toColourspace('b-w').raw();
  const { data, info } = await decoded(grey.toBuffer({ resolveWithObject: true }));
  const { width, height, channels } = info;
  return { width, height, pixels: channels === 1 ? data : data.filter((_, i) => i % channels === 0) };
}

async function decoded<Encoded>(encoding: Promise<Encoded>): Promise<Encoded> {
  try {
    return await encoding;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // A thread that cannot be started has no room for its stack: no fault of the image.
    if (/creating thread|out of memory|cannot allocate/i.test(reason))
      throw new Error(`out of memory while an image was opened: ${reason}`, { cause: error });
    if (/pixel limit/i.test(reason))
      throw new ParseFailure('too_large', 'The image has more pixels than are read.');
    throw new ParseFailure('corrupt', `The image is damaged: ${reason.split('\n')[0]}.`);
  }
}
