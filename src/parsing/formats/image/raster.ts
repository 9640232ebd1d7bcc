import type { GrayPixels } from '../../ocr/skew.ts';
import { ParseFailure } from '../../parse-failure.ts';

/** Pixels in RGBA, `width * height * 4` bytes. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** An image as it was stored, or pixels that something else has decoded. */
export type ImageInput =
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

async function openSharp(source: ImageInput, page: number) {
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

export interface ImageInfo {
  readonly width: number;
  readonly height: number;
  /** Pages of a TIFF, frames of an animation. */
  readonly pages: number;
}

/** Null: nothing can decode the image. */
export async function readImageInfo(source: ImageInput, page = 0): Promise<ImageInfo | null> {
  if ('raster' in source) return { ...source.raster, pages: 1 };
  const image = await openSharp({ ...source, pixelsMax: Number.MAX_SAFE_INTEGER }, page);
  const metadata = await image.metadata().catch(() => null); // every reason means the same: no header that sharp knows
  if (metadata?.width === undefined || metadata.height === undefined) return null;
  // Of an animation, the height is that of all frames where they were asked for, else of one.
  return {
    width: metadata.width,
    height: metadata.pageHeight ?? metadata.height,
    pages: metadata.pages ?? 1,
  };
}

/** The box, in pixels, that an upright picture is scaled to fit into. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

const [white, black] = ['#ffffff', '#000000'];
/** What is mostly transparent and, where it is not, brighter than this on average of 255, would not be seen on white. */
const brightnessMin = 200;
const transparentShareMin = 0.5;
const sampleSide = 200;

/** What transparent parts of an image are shown as: white, but black where only light letters are drawn. */
async function chooseBackground(source: ImageInput, page: number): Promise<string> {
  if ('raster' in source || !(await (await openSharp(source, page)).metadata()).hasAlpha) return white;
  const image = (await openSharp(source, page)).resize({
    width: sampleSide,
    height: sampleSide,
    fit: 'inside',
  });
  const pixels = await awaitSharp(image.toColourspace('srgb').ensureAlpha().raw().toBuffer());
  let [alphaTotal, lightTotal] = [0, 0];
  for (let at = 0; at + 4 <= pixels.length; at += 4) {
    const alpha = pixels[at + 3]!;
    alphaTotal += alpha;
    lightTotal += (alpha * (pixels[at]! + pixels[at + 1]! + pixels[at + 2]!)) / 3;
  }
  const transparent = 1 - alphaTotal / ((pixels.length / 4) * 255);
  return alphaTotal > 0 && transparent > transparentShareMin && lightTotal / alphaTotal > brightnessMin
    ? black
    : white;
}

/** JPEG of a page, upright as its EXIF data says, on white or what shows it, in sRGB. */
export async function toJpeg(
  source: ImageInput,
  {
    page = 0,
    size,
    quality,
  }: { readonly page?: number; readonly size?: PixelSize; readonly quality: number },
): Promise<Uint8Array> {
  const image = (await openSharp(source, page)).autoOrient();
  const sized = size === undefined ? image : image.resize({ ...size, fit: 'inside' });
  const background = await chooseBackground(source, page);
  return await awaitSharp(sized.flatten({ background }).toColourspace('srgb').jpeg({ quality }).toBuffer());
}

/** Grey PNG of a page for OCR, upright as its EXIF data says and then turned by `turn` degrees clockwise. */
export async function toGrayPng(
  source: ImageInput,
  {
    page = 0,
    size,
    turn: degrees,
  }: { readonly page?: number; readonly size?: PixelSize; readonly turn: number },
): Promise<Uint8Array> {
  const image = (await openSharp(source, page)).autoOrient();
  const sized = size === undefined ? image : image.resize({ ...size, fit: 'inside' });
  const background = await chooseBackground(source, page);
  const turned = degrees === 0 ? sized : sized.rotate(degrees, { background });
  return await awaitSharp(
    turned.flatten({ background }).toColourspace('b-w').png({ compressionLevel: 1 }).toBuffer(),
  );
}

/** Grey pixels of a page that fit into a square, upright as its EXIF data says. */
export async function toGrayPixels(
  source: ImageInput,
  { page = 0, side }: { readonly page?: number; readonly side: number },
): Promise<GrayPixels> {
  const image = (await openSharp(source, page)).autoOrient();
  const size = { width: side, height: side, fit: 'inside', withoutEnlargement: true } as const;
  const background = await chooseBackground(source, page);
  const gray = image.flatten({ background }).resize(size).toColourspace('b-w').raw();
  const { data, info } = await awaitSharp(gray.toBuffer({ resolveWithObject: true }));
  const { width, height, channels } = info;
  return { width, height, pixels: channels === 1 ? data : data.filter((_, i) => i % channels === 0) };
}

async function awaitSharp<Encoded>(encoding: Promise<Encoded>): Promise<Encoded> {
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
