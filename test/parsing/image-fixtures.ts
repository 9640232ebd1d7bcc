/** Grayscale image, one byte per pixel. */
export interface GrayscaleImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** Builds a Windows bitmap with 24 bits per pixel, bottom row first. */
export function buildBmp({ width, height, pixels }: GrayscaleImage): Uint8Array {
  const stride = Math.ceil((width * 3) / 4) * 4;
  const bytes = Buffer.alloc(54 + stride * height);
  bytes.write('BM', 'latin1');
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(width, 18);
  bytes.writeInt32LE(height, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 54 + (height - 1 - y) * stride + x * 3;
      bytes.fill(pixels[y * width + x]!, at, at + 3);
    }
  }
  return bytes;
}
