import { decodeDosText } from './dos-charsets.ts';
import { decodeJohab } from './johab.ts';

/** Decodes bytes of a known encoding. */

export interface DecodedText {
  readonly text: string;
  /** WHATWG name of the encoding, `utf-32le`, `utf-32be`, `johab`, or a DOS name such as `ibm437`. */
  readonly charset: string;
  /** Complete sentence when bytes had to be replaced, else null. */
  readonly warning: string | null;
}

/** Decodes bytes of a known encoding; invalid bytes become U+FFFD, with a warning. */
export function decodeAs(bytes: Uint8Array, charset: string): DecodedText {
  if (charset.startsWith('utf-32')) return decodeUtf32(bytes, charset === 'utf-32le');
  if (charset === 'windows-1252') return { text: decodeWindows1252(bytes), charset, warning: null };
  const tableText = decodeWithTable(bytes, charset);
  const text = tableText ?? decodeInPieces(bytes, new TextDecoder(charset));
  const hasReplacements = text.includes('\ufffd') && decodeStrictly(bytes, charset) === null;
  const warning = hasReplacements ? `Some bytes are not valid ${charset} and were replaced by U+FFFD.` : null;
  return { text, charset, warning };
}

/** Decodes an encoding that the platform has no decoder for; null for those it supports. */
function decodeWithTable(bytes: Uint8Array, charset: string): string | null {
  return charset === 'johab' ? decodeJohab(bytes) : decodeDosText(bytes, charset);
}

/** Piece size in bytes. Decoders other than UTF-8 need many times the memory of their input. */
const decodePieceBytes = 4_194_304;

function decodeInPieces(bytes: Uint8Array, decoder: InstanceType<typeof TextDecoder>): string {
  if (decoder.encoding === 'utf-8') return decoder.decode(bytes);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += decodePieceBytes) {
    const isLast = at + decodePieceBytes >= bytes.length;
    parts.push(decoder.decode(bytes.subarray(at, at + decodePieceBytes), { stream: !isLast }));
  }
  return parts.join('');
}

/**
 * Characters of bytes 128 to 159 in windows-1252; the five undefined bytes map to themselves, as in WHATWG.
 */
const windows1252High =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

/**
 * Manual, because the TextDecoder of Node 20 and 22 decodes windows-1252 as ISO 8859-1 (nodejs/node issue
 * 56542).
 */
function decodeWindows1252(bytes: Uint8Array): string {
  return replaceC1Controls(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'));
}

/**
 * Replaces ISO 8859-1 control characters with the windows-1252 characters of the same bytes, because text
 * never contains them on purpose.
 */
export function replaceC1Controls(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (character) => windows1252High.charAt(character.charCodeAt(0) - 0x80));
}

function decodeUtf32(bytes: Uint8Array, littleEndian: boolean): DecodedText {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: string[] = [];
  let batch: number[] = [];
  let isBroken = bytes.length % 4 !== 0;
  for (let offset = 0; offset + 4 <= bytes.length; offset += 4) {
    const point = view.getUint32(offset, littleEndian);
    const isValid = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    isBroken ||= !isValid;
    batch.push(isValid ? point : 0xfffd);
    if (batch.length === 8_192) {
      parts.push(String.fromCodePoint(...batch));
      batch = [];
    }
  }
  parts.push(String.fromCodePoint(...batch));
  const charset = littleEndian ? 'utf-32le' : 'utf-32be';
  const warning = isBroken ? `Some bytes are not valid ${charset} and were replaced by U+FFFD.` : null;
  return { text: parts.join(''), charset, warning };
}

/** Returns null when the bytes are not valid in the charset. */
export function decodeStrictly(bytes: Uint8Array, charset: string): string | null {
  const tableText = decodeWithTable(bytes, charset);
  if (tableText !== null) return tableText.includes('\ufffd') ? null : tableText;
  try {
    return decodeInPieces(bytes, new TextDecoder(charset, { fatal: true }));
  } catch (error) {
    if (error instanceof TypeError) return null; // thrown by a fatal decoder for invalid bytes
    throw error;
  }
}
