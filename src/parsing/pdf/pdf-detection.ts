import { findByteOrderMark } from '../encoding/charset.ts';
import type { SourceFile } from '../source-file.ts';

/**
 * Up to 1 KiB of arbitrary bytes may precede the header; in that case the file must also contain PDF objects.
 * A file with a byte order mark is a text about PDF.
 */
export function isPdf(file: SourceFile): boolean {
  if (findByteOrderMark(file.bytes) !== null) return false;
  const head = file.readLatin1(1_024 + 8);
  if (/^\s*%PDF-/.test(head)) return true;
  const { buffer, byteOffset, length } = file.bytes;
  return /%PDF-\d\.\d/.test(head) && Buffer.from(buffer, byteOffset, length).includes('endobj');
}
