import { AppError } from '../base/app-error.ts';
import { decodeBase64 } from '../schemas/checks.ts';

/** The file in a JSON body, decoded. Throws `too_large` beyond `fileBytesMax`, before the bytes are made, or 400. */
export function decodeFile(base64: string, fileBytesMax: number): Buffer {
  const bytes =
    Math.floor((base64.length / 4) * 3) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);
  if (bytes > fileBytesMax) {
    throw new AppError(
      'too_large',
      `The file has ${bytes} bytes; at most ${fileBytesMax} are allowed (QUARRY_UPLOAD_BYTES_MAX).`,
    );
  }
  return decodeBase64(base64);
}
