import type { GrayPixels } from '../../ocr/skew.ts';
import { ParseFailure } from '../../parse-failure.ts';

/** RGBA pixels, `width * height * 4` bytes. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** An encoded image, or pixels that are already decoded. */
export type ImageInput =
  | { readonly bytes: Uint8Array; readonly pixelsMax: number }
  | { readonly raster: Raster };

/** Loads sharp; no other module uses it. It decodes and encodes images inside the parser process. */
async function loadSharp() {
  const { default: sharp } = await import('sharp').catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new ParseFailure('missing_tool', `Images need the sharp package, which failed to load: ${reason}`);
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
  /** Number of pages of a TIFF, or frames of an animation. */
  readonly pages: number;
}

/** Returns null when the image cannot be decoded. */
export async function readImageInfo(source: ImageInput, page = 0): Promise<ImageInfo | null> {
  if ('raster' in source) return { ...source.raster, pages: 1 };
  const image = await openSharp({ ...source, pixelsMax: Number.MAX_SAFE_INTEGER }, page);
  const metadata = await image.metadata().catch(() => null); // every error means that sharp does not recognize the header
  if (metadata?.width === undefined || metadata.height === undefined) return null;
  // For an animation, `height` covers all requested frames, while `pageHeight` is that of one frame.
  return {
    width: metadata.width,
    height: metadata.pageHeight ?? metadata.height,
    pages: metadata.pages ?? 1,
  };
}

/** Box in pixels that an upright image is scaled to fit. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

const [white, black] = ['#ffffff', '#000000'];
/**
 * Minimum mean brightness (0 to 255) of the visible parts, and minimum transparent share, at which an image
 * would be invisible on white.
 */
const brightnessMin = 200;
const transparentShareMin = 0.5;
const sampleSide = 200;

/** Returns the background color for transparent parts: white, or black if only light content is drawn. */
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

/** Encodes a page as sRGB JPEG, oriented by its EXIF data, on a background that makes it visible. */
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

/**
 * Encodes a page as gray PNG for OCR, oriented by its EXIF data and then rotated clockwise by `turn` degrees.
 */
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

/** Returns the gray pixels of a page scaled to fit a square, oriented by its EXIF data. */
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
    // A thread that cannot be started lacks memory for its stack, which is not a fault of the image.
    if (/creating thread|out of memory|cannot allocate/i.test(reason))
      throw new Error(`out of memory while opening an image: ${reason}`, { cause: error });
    if (/pixel limit/i.test(reason))
      throw new ParseFailure('too_large', 'The image exceeds the pixel limit.');
    throw new ParseFailure('corrupt', `The image is damaged: ${reason.split('\n')[0]}.`);
  }
}
