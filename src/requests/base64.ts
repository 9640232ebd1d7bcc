import { AppError } from '../core/app-error.ts';
import { decodeBase64 } from '../schemas/checks.ts';

/**
 * Decodes a file in a JSON body. Errors: `too_large` beyond `fileBytesMax`, before decoding; 400 for invalid
 * base64.
 */
export function decodeFile(file: string | Uint8Array, fileBytesMax: number): Uint8Array {
  const bytes = typeof file === 'string' ? decodedLength(file) : file.byteLength;
  if (bytes > fileBytesMax) {
    throw new AppError(
      'too_large',
      `The file has ${bytes} bytes; at most ${fileBytesMax} are allowed (QUARRY_UPLOAD_BYTES_MAX).`,
    );
  }
  return typeof file === 'string' ? decodeBase64(file) : file;
}

function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length / 4) * 3) - padding;
}

/** Decodes base64 of little-endian 32-bit floats. Errors: 400 with the name of the field. */
export function decodeVector(field: string, base64: string): Float32Array {
  let bytes: Buffer;
  try {
    bytes = decodeBase64(base64);
  } catch (cause) {
    throw new AppError('bad_request', `${field} is not valid base64.`, { cause });
  }
  const size = Float32Array.BYTES_PER_ELEMENT;
  if (bytes.length % size !== 0)
    throw new AppError(
      'bad_request',
      `${field} decodes to ${bytes.length} bytes, which is not a multiple of 4 (32-bit floats).`,
    );
  return Float32Array.from({ length: bytes.length / size }, (_, i) => bytes.readFloatLE(i * size));
}
