import { ParseFailure } from '../../parse-failure.ts';
import type { Raster } from './raster.ts';

/**
 * Decoder for Windows bitmaps, which sharp does not support: 1 to 32 bits per pixel, with and without
 * run-length encoding and bit masks. bmp-js, bmp-ts and fast-bmp fail on some of these
 * (docs/decisions/parsing-libraries.md).
 */

const rle8 = 1;
const rle4 = 2;
const bitFields = 3;

interface Header {
  readonly width: number;
  readonly height: number;
  readonly topDown: boolean;
  readonly bits: number;
  readonly compression: number;
  readonly pixelsOffset: number;
  readonly palette: Uint8Array;
  readonly paletteEntryBytes: number;
  /** Red, green and blue. */
  readonly masks: readonly Mask[];
}

/** Returns width and height in pixels without decoding. */
export function readBmpSize(bytes: Uint8Array): { width: number; height: number } {
  const { width, height } = readHeader(bytes);
  return { width, height };
}

export function decodeBmp(bytes: Uint8Array): Raster {
  const header = readHeader(bytes);
  const { width, height, bits, compression } = header;
  const pixels = new Uint8Array(width * height * 4).fill(255);
  if (compression === rle8 || compression === rle4) decodeRuns(bytes, header, pixels);
  else {
    const stride = Math.ceil((width * bits) / 32) * 4;
    for (let row = 0; row < height; row++) {
      const y = header.topDown ? row : height - 1 - row;
      const at = header.pixelsOffset + row * stride;
      if (at + stride > bytes.length) break; // the file is truncated: missing rows stay white
      decodeRow(bytes.subarray(at, at + stride), header, pixels.subarray(y * width * 4, (y + 1) * width * 4));
    }
  }
  return { width, height, pixels };
}

function readHeader(bytes: Uint8Array): Header {
  if (bytes.length < 30) throw corruptBmpError();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = view.getUint32(14, true);
  const isCoreHeader = headerBytes === 12;
  if (!isCoreHeader && bytes.length < 54) throw corruptBmpError();
  const width = isCoreHeader ? view.getUint16(18, true) : view.getInt32(18, true);
  const signedHeight = isCoreHeader ? view.getInt16(20, true) : view.getInt32(22, true);
  const bits = view.getUint16(isCoreHeader ? 24 : 28, true);
  const compression = isCoreHeader ? 0 : view.getUint32(30, true);
  const masked = compression === bitFields || compression === 6;
  const paletteAt = 14 + headerBytes + (masked && headerBytes === 40 ? 12 : 0);
  const pixelsAt = view.getUint32(10, true);
  if (width <= 0 || signedHeight === 0 || ![1, 4, 8, 16, 24, 32].includes(bits) || pixelsAt > bytes.length)
    throw corruptBmpError();
  const masks =
    masked && bytes.length >= 66 ? [54, 58, 62].map((at) => view.getUint32(at, true)) : standardMasks(bits);
  return {
    width,
    height: Math.abs(signedHeight),
    topDown: signedHeight < 0,
    bits,
    compression,
    pixelsOffset: pixelsAt,
    palette: bytes.subarray(paletteAt, Math.max(paletteAt, pixelsAt)),
    paletteEntryBytes: isCoreHeader ? 3 : 4,
    masks: masks.map(toMask),
  };
}

function standardMasks(bits: number): readonly number[] {
  return bits === 16 ? [0x7c00, 0x03e0, 0x001f] : [0xff0000, 0x00ff00, 0x0000ff];
}

function corruptBmpError(): ParseFailure {
  return new ParseFailure('corrupt', 'The BMP image is damaged.');
}

function decodeRow(row: Uint8Array, header: Header, target: Uint8Array): void {
  const { width, bits, masks } = header;
  for (let x = 0; x < width; x++) {
    if (bits <= 8) {
      const shift = 8 - bits - ((x * bits) % 8);
      paint(target, x, header, (row[(x * bits) >> 3]! >> shift) & ((1 << bits) - 1));
      continue;
    }
    const at = (x * bits) >> 3;
    let value = 0;
    for (let i = 0; i < bits >> 3; i++) value |= row[at + i]! << (8 * i);
    for (let channel = 0; channel < 3; channel++)
      target[x * 4 + channel] = scaleComponent(value, masks[channel]!);
  }
}

/** Bits of a color component within a pixel. */
interface Mask {
  readonly bits: number;
  readonly shift: number;
  /** Value of the component when all its bits are set. */
  readonly max: number;
}

function toMask(bits: number): Mask {
  const shift = bits === 0 ? 0 : 31 - Math.clz32(bits & -bits);
  return { bits, shift, max: bits >>> shift };
}

/** Returns the component in `value`, scaled to 0..255. */
function scaleComponent(value: number, { bits, shift, max }: Mask): number {
  return max === 0 ? 0 : Math.round((((value & bits) >>> shift) * 255) / max);
}

function paint(
  target: Uint8Array,
  pixel: number,
  { palette, paletteEntryBytes }: Header,
  index: number,
): void {
  const at = index * paletteEntryBytes;
  for (let channel = 0; channel < 3; channel++) target[pixel * 4 + channel] = palette[at + 2 - channel] ?? 0;
}

function decodeRuns(bytes: Uint8Array, header: Header, pixels: Uint8Array): void {
  const { width, height, compression } = header;
  let [x, row, at] = [0, 0, header.pixelsOffset];
  const put = (index: number) => {
    const y = header.topDown ? row : height - 1 - row;
    if (x < width && row < height) paint(pixels, y * width + x, header, index);
    x += 1;
  };
  const indexAt = (start: number, i: number) => {
    if (compression === rle8) return bytes[start + i] ?? 0;
    const pair = bytes[start + (i >> 1)] ?? 0;
    return i % 2 === 0 ? pair >> 4 : pair & 15;
  };
  while (at + 1 < bytes.length && row < height) {
    const [count, value] = [bytes[at]!, bytes[at + 1]!];
    at += 2;
    if (count > 0) {
      for (let i = 0; i < count; i++)
        put(compression === rle8 ? value : i % 2 === 0 ? value >> 4 : value & 15);
    } else if (value === 0) {
      x = 0;
      row += 1;
    } else if (value === 1) return;
    else if (value === 2) {
      x += bytes[at] ?? 0;
      row += bytes[at + 1] ?? 0;
      at += 2;
    } else {
      for (let i = 0; i < value; i++) put(indexAt(at, i));
      at += 2 * Math.ceil((compression === rle8 ? value : Math.ceil(value / 2)) / 2);
    }
  }
}
