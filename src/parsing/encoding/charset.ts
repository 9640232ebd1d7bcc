import { computeEastAsianShare, guessLegacyCharset } from './charset-guess.ts';
import { type DecodedText, decodeAs, decodeStrictly } from './decode.ts';
import { findDosCharset } from './dos-charsets.ts';
import { decodeEscapedText } from './escaped-charsets.ts';

/**
 * Bytes -> text. Order: byte order mark, NUL pattern of UTF-16/32, UTF-8, declared charset, legacy charsets.
 */

/** Bytes examined to distinguish legacy charsets. */
const sampleBytes = 65_536;

/** Below this number of characters, many may be common ones by chance. */
const eastAsianPairsMin = 6;

/**
 * Minimum valid sequences per invalid one at which the text counts as damaged UTF-8, not as another charset.
 */
const validPerInvalidMin = 50;

/**
 * Decodes text of any common encoding. `declared` is a charset named inside the document (HTML meta, XML
 * declaration); it applies unless the bytes contradict it. Never throws; undecodable bytes become U+FFFD and
 * a warning.
 */
export function decodeText(bytes: Uint8Array, declared: string | null = null): DecodedText {
  const byteOrderMark = findByteOrderMark(bytes);
  if (byteOrderMark !== null) return decodeAs(bytes.subarray(byteOrderMark.length), byteOrderMark.charset);
  const wide = detectWideCharset(bytes);
  if (wide !== null) return decodeAs(bytes, wide);
  const utf8 = decodeStrictly(bytes, 'utf-8');
  if (utf8 !== null) return resolveAsciiEscapes(bytes, utf8, declared);
  if (isMostlyUtf8(bytes)) return decodeAs(bytes, 'utf-8');
  const declaredCharset = declared === null ? null : resolveCharsetLabel(declared);
  if (declaredCharset !== null && declaredCharset !== 'utf-8') return decodeAs(bytes, declaredCharset);
  return decodeAs(bytes, guessLegacyCharset(bytes.subarray(0, sampleBytes)));
}

/**
 * Resolves encodings that escape other letters in ASCII and are therefore also valid UTF-8; a declared
 * charset takes precedence only over ISO-2022-JP.
 */
function resolveAsciiEscapes(bytes: Uint8Array, utf8: string, declared: string | null): DecodedText {
  const named = declared === null ? null : resolveCharsetLabel(declared);
  const hasKanjiEscape = ['\x1b$B', '\x1b$@'].some((opener) => utf8.includes(opener));
  if (hasKanjiEscape && (named === null || named === 'iso-2022-jp')) {
    const decoded = decodeStrictly(bytes, 'iso-2022-jp');
    if (decoded !== null) return { text: decoded, charset: 'iso-2022-jp', warning: null };
  }
  const escaped = utf8.length === bytes.length ? decodeEscapedText(bytes, utf8) : null;
  return escaped ?? { text: utf8, charset: 'utf-8', warning: null };
}

/** Returns the charset and the length in bytes of the byte order mark at the start. */
export function findByteOrderMark(bytes: Uint8Array): { charset: string; length: number } | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return { charset: 'utf-32le', length: 4 };
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return { charset: 'utf-32be', length: 4 };
  if (a === 0xff && b === 0xfe) return { charset: 'utf-16le', length: 2 };
  if (a === 0xfe && b === 0xff) return { charset: 'utf-16be', length: 2 };
  if (a === 0xef && b === 0xbb && c === 0xbf) return { charset: 'utf-8', length: 3 };
  return null;
}

/**
 * Detects UTF-16 or UTF-32 without a byte order mark by the positions of NUL bytes, which are fixed because
 * spaces and line breaks contain them.
 */
export function detectWideCharset(bytes: Uint8Array): string | null {
  const sample = bytes.subarray(0, 4_096);
  const groups = Math.floor(sample.length / 4);
  if (groups === 0) return sample.length >= 2 ? detectUtf16(sample) : null;
  const zeros = [0, 0, 0, 0];
  for (let i = 0; i < groups * 4; i++) if (sample[i] === 0) zeros[i % 4]! += 1;
  const [a, b, c, d] = zeros.map((count) => count / groups) as [number, number, number, number];
  if (bytes.length % 4 === 0 && d === 1 && c > 0.9 && a < 0.1) return 'utf-32le';
  if (bytes.length % 4 === 0 && a === 1 && b > 0.9 && d < 0.1) return 'utf-32be';
  return detectUtf16(sample);
}

function detectUtf16(sample: Uint8Array): string | null {
  const pairs = Math.floor(sample.length / 2);
  let evenZeros = 0;
  let oddZeros = 0;
  for (let i = 0; i < pairs * 2; i += 2) {
    if (sample[i] === 0) evenZeros += 1;
    if (sample[i + 1] === 0) oddZeros += 1;
  }
  const [rare, common] = [0.02 * pairs, 0.2 * pairs];
  if (oddZeros >= common && evenZeros <= rare && isValidWideText(sample, 'utf-16le')) return 'utf-16le';
  if (evenZeros >= common && oddZeros <= rare && isValidWideText(sample, 'utf-16be')) return 'utf-16be';
  // Non-Latin alphabets have NULs in spaces and line breaks only.
  if (oddZeros > 0 && evenZeros === 0 && isReadable(sample, 'utf-16le')) return 'utf-16le';
  if (evenZeros > 0 && oddZeros === 0 && isReadable(sample, 'utf-16be')) return 'utf-16be';
  // Scripts without spaces may have no NUL at all.
  if (pairs < eastAsianPairsMin || isMostlyUtf8(sample)) return null;
  return ['utf-16le', 'utf-16be'].find((charset) => isEastAsian(sample, charset)) ?? null;
}

/**
 * Whether nearly all characters are letters, digits or punctuation; for random bytes it is at most two
 * thirds.
 */
function isReadable(sample: Uint8Array, charset: string): boolean {
  const text = isValidWideText(sample, charset) ? new TextDecoder(charset).decode(sample) : '';
  const written = text.match(/[\p{L}\p{M}\p{N}\p{P}\s]/gu)?.length ?? 0;
  return text.length > 0 && written / text.length >= 0.95;
}

/**
 * Whether common CJK characters are a large part of the text, which never happens for misinterpreted bytes.
 */
function isEastAsian(sample: Uint8Array, charset: string): boolean {
  return isReadable(sample, charset) && computeEastAsianShare(new TextDecoder(charset).decode(sample)) >= 0.3;
}

/**
 * Whether the text has no control characters except line breaks and tabs; 16-bit binary numbers do have them.
 */
function isValidWideText(sample: Uint8Array, charset: string): boolean {
  const text = decodeStrictly(sample.subarray(0, sample.length & ~1), charset);
  return text !== null && computeControlShare(text) === 0;
}

/**
 * Returns the share of DEL and of C0 control characters other than tab, line feed, form feed and carriage
 * return.
 */
export function computeControlShare(text: string): number {
  if (text.length === 0) return 0;
  const controls = text.match(/(?![\t\n\f\r\x80-\x9f])\p{Cc}/gu)?.length ?? 0;
  return controls / text.length;
}

function resolveCharsetLabel(label: string): string | null {
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch (error) {
    if (error instanceof RangeError) return findDosCharset(label.trim()); // a label outside the WHATWG standard
    throw error;
  }
}

/** Whether there are many valid multi-byte sequences and few invalid ones: truncated or damaged UTF-8. */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  let validCount = 0;
  let invalidCount = 0;
  let index = 0;
  while (index < bytes.length) {
    const lead = bytes[index]!;
    const length =
      lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length === 1) {
      index += 1;
      continue;
    }
    let step = 1;
    while (step < length && (bytes[index + step]! & 0xc0) === 0x80) step += 1;
    if (length > 0 && step === length) validCount += 1;
    else invalidCount += 1;
    index += step;
  }
  return validCount >= invalidCount * validPerInvalidMin || (invalidCount === 1 && validCount >= 4);
}
