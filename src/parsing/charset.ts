/** Bytes -> text. Order: byte order mark, NUL pattern of UTF-16/32, what the caller knows, UTF-8, legacy charsets. */

export interface DecodedText {
  readonly text: string;
  /** WHATWG name of the encoding, or `utf-32le` / `utf-32be`. */
  readonly charset: string;
  /** A whole sentence when bytes had to be replaced. */
  readonly warning: string | null;
}

/** Bytes that legacy charsets are told apart by. */
const sampleBytes = 65_536;

/** One broken sequence per this many sound ones is damage in UTF-8 text, not another charset. */
const soundPerBroken = 50;

/**
 * Decodes text of any common encoding. `declared` is a charset named inside the document (HTML meta, XML declaration);
 * it counts unless the bytes say otherwise. Never throws; unreadable bytes become U+FFFD and a warning.
 */
export function decodeText(bytes: Uint8Array, declared: string | null = null): DecodedText {
  const marked = byteOrderMark(bytes);
  if (marked !== null) return decodeAs(bytes.subarray(marked.length), marked.charset);
  const wide = wideCharset(bytes);
  if (wide !== null) return decodeAs(bytes, wide);
  const utf8 = decodeStrictly(bytes, 'utf-8');
  if (utf8 !== null) return declaredOver(bytes, utf8, declared);
  if (mostlyUtf8(bytes)) return decodeAs(bytes, 'utf-8');
  const named = declared === null ? null : knownCharset(declared);
  if (named !== null && named !== 'utf-8') return decodeAs(bytes, named);
  return decodeAs(bytes, legacyCharset(bytes.subarray(0, sampleBytes)));
}

/** ISO-2022-JP is pure ASCII to UTF-8, so only there a declaration beats sound UTF-8. */
function declaredOver(bytes: Uint8Array, utf8: string, declared: string | null): DecodedText {
  const named = declared === null ? null : knownCharset(declared);
  const opensKanji = ['\x1b$B', '\x1b$@'].some((opener) => utf8.includes(opener));
  if (opensKanji && (named === null || named === 'iso-2022-jp')) {
    const decoded = decodeStrictly(bytes, 'iso-2022-jp');
    if (decoded !== null) return { text: decoded, charset: 'iso-2022-jp', warning: null };
  }
  return { text: utf8, charset: 'utf-8', warning: null };
}

/** The mark that opens the text, and its length in bytes. */
export function byteOrderMark(bytes: Uint8Array): { charset: string; length: number } | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return { charset: 'utf-32le', length: 4 };
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return { charset: 'utf-32be', length: 4 };
  if (a === 0xff && b === 0xfe) return { charset: 'utf-16le', length: 2 };
  if (a === 0xfe && b === 0xff) return { charset: 'utf-16be', length: 2 };
  if (a === 0xef && b === 0xbb && c === 0xbf) return { charset: 'utf-8', length: 3 };
  return null;
}

/**
 * UTF-16 or UTF-32 without a mark, told by where the NUL bytes lie: text in these encodings has its NULs in fixed
 * positions, because spaces and line breaks do.
 */
export function wideCharset(bytes: Uint8Array): string | null {
  const sample = bytes.subarray(0, 4_096);
  const groups = Math.floor(sample.length / 4);
  if (groups === 0) return sample.length >= 2 ? wideFromPairs(sample) : null;
  const zeros = [0, 0, 0, 0];
  for (let i = 0; i < groups * 4; i++) if (sample[i] === 0) zeros[i % 4]! += 1;
  const [a, b, c, d] = zeros.map((count) => count / groups) as [number, number, number, number];
  if (bytes.length % 4 === 0 && d === 1 && c > 0.9 && a < 0.1) return 'utf-32le';
  if (bytes.length % 4 === 0 && a === 1 && b > 0.9 && d < 0.1) return 'utf-32be';
  return wideFromPairs(sample);
}

function wideFromPairs(sample: Uint8Array): string | null {
  const pairs = Math.floor(sample.length / 2);
  let evenZeros = 0;
  let oddZeros = 0;
  for (let i = 0; i < pairs * 2; i += 2) {
    if (sample[i] === 0) evenZeros += 1;
    if (sample[i + 1] === 0) oddZeros += 1;
  }
  const [rare, common] = [0.02 * pairs, 0.2 * pairs];
  if (oddZeros >= common && evenZeros <= rare && soundWide(sample, 'utf-16le')) return 'utf-16le';
  if (evenZeros >= common && oddZeros <= rare && soundWide(sample, 'utf-16be')) return 'utf-16be';
  return null;
}

/** Text holds no control characters but line breaks and tabs; numbers stored in two bytes do. */
function soundWide(sample: Uint8Array, charset: string): boolean {
  const text = decodeStrictly(sample.subarray(0, sample.length & ~1), charset);
  return text !== null && controlShare(text) === 0;
}

/** Share of C0 control characters other than tab, line feed, form feed and carriage return, and of DEL. */
export function controlShare(text: string): number {
  if (text.length === 0) return 0;
  const controls = text.match(/(?![\t\n\f\r\x80-\x9f])\p{Cc}/gu)?.length ?? 0;
  return controls / text.length;
}

/** Bytes of a known encoding; what is not valid in it becomes U+FFFD, with a warning. */
export function decodeAs(bytes: Uint8Array, charset: string): DecodedText {
  if (charset.startsWith('utf-32')) return decodeUtf32(bytes, charset === 'utf-32le');
  if (charset === 'windows-1252') return { text: decodeWindows1252(bytes), charset, warning: null };
  const text = new TextDecoder(charset).decode(bytes);
  const replaced = text.includes('\ufffd') && decodeStrictly(bytes, charset) === null;
  const warning = replaced ? `Some bytes are not valid ${charset} and were replaced by U+FFFD.` : null;
  return { text, charset, warning };
}

/** What bytes 128 to 159 mean in windows-1252; the five that mean nothing keep their number, as WHATWG has it. */
const windows1252High =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

/** By hand, because the TextDecoder of Node 20 and 22 takes windows-1252 for ISO 8859-1 (nodejs/node issue 56542). */
function decodeWindows1252(bytes: Uint8Array): string {
  return withoutC1(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'));
}

/** Control characters of ISO 8859-1 as what windows-1252 means by their bytes: no text holds them on purpose. */
export function withoutC1(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (character) => windows1252High.charAt(character.charCodeAt(0) - 0x80));
}

function decodeUtf32(bytes: Uint8Array, littleEndian: boolean): DecodedText {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: string[] = [];
  let batch: number[] = [];
  let broken = bytes.length % 4 !== 0;
  for (let offset = 0; offset + 4 <= bytes.length; offset += 4) {
    const point = view.getUint32(offset, littleEndian);
    const sound = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    broken ||= !sound;
    batch.push(sound ? point : 0xfffd);
    if (batch.length === 8_192) {
      parts.push(String.fromCodePoint(...batch));
      batch = [];
    }
  }
  parts.push(String.fromCodePoint(...batch));
  const charset = littleEndian ? 'utf-32le' : 'utf-32be';
  const warning = broken ? `Some bytes are not valid ${charset} and were replaced by U+FFFD.` : null;
  return { text: parts.join(''), charset, warning };
}

function decodeStrictly(bytes: Uint8Array, charset: string): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null; // what a fatal decoder throws for bytes outside its charset
    throw error;
  }
}

function knownCharset(label: string): string | null {
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch (error) {
    if (error instanceof RangeError) return null; // a label that no standard knows
    throw error;
  }
}

/** Many sound multi-byte sequences and few broken ones: UTF-8 that was cut or damaged somewhere. */
function mostlyUtf8(bytes: Uint8Array): boolean {
  let sound = 0;
  let broken = 0;
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
    if (length > 0 && step === length) sound += 1;
    else broken += 1;
    index += step;
  }
  return sound >= broken * soundPerBroken || (broken === 1 && sound >= 4);
}

/** A guess at the charset of bytes that are not UTF-8: the East Asian ones by their structure, then single-byte ones. */
function legacyCharset(sample: Uint8Array): string {
  return eastAsianCharset(sample) ?? singleByteCharset(sample);
}

interface PairCharset {
  readonly charset: string;
  /** Share of the decoded non-ASCII characters that must be everyday characters of the language. */
  readonly shareMin: number;
  readonly everyday: RegExp;
  /** The bytes that the most frequent characters start with; null: any. */
  readonly leads: readonly [number, number] | null;
}

const pairCharsets: readonly PairCharset[] = [
  { charset: 'euc-jp', shareMin: 0.3, everyday: /[\u3041-\u3096\u30a1-\u30fc]/g, leads: null },
  { charset: 'shift_jis', shareMin: 0.3, everyday: /[\u3041-\u3096\u30a1-\u30fc]/g, leads: null },
  { charset: 'euc-kr', shareMin: 0.7, everyday: /[\uac00-\ud7a3]/g, leads: [0xb0, 0xc8] },
  { charset: 'gb18030', shareMin: 0.6, everyday: /[\u4e00-\u9fff]/g, leads: [0xb0, 0xd7] },
  { charset: 'big5', shareMin: 0.6, everyday: /[\u4e00-\u9fff]/g, leads: [0xa4, 0xc6] },
];

function eastAsianCharset(sample: Uint8Array): string | null {
  for (const candidate of pairCharsets) {
    const text = decodePairs(sample, candidate.charset);
    if (text === null) continue;
    const foreign = text.match(/[^\0-\x7f]/g)?.length ?? 0;
    const everyday = text.match(candidate.everyday)?.length ?? 0;
    const leads = candidate.leads === null ? 1 : leadShare(sample, candidate.leads);
    if (foreign > 0 && everyday / foreign >= candidate.shareMin && leads >= 0.6) return candidate.charset;
  }
  return null;
}

/** Strictly decoded, forgiving one character that the end of the sample cuts. */
function decodePairs(sample: Uint8Array, charset: string): string | null {
  return decodeStrictly(sample, charset) ?? decodeStrictly(sample.subarray(0, -1), charset);
}

/** Share of two-byte characters whose first byte lies in the range. */
function leadShare(sample: Uint8Array, [first, last]: readonly [number, number]): number {
  let pairs = 0;
  let inside = 0;
  for (let i = 0; i < sample.length; i++) {
    const byte = sample[i]!;
    if (byte < 0x81) continue;
    pairs += 1;
    if (byte >= first && byte <= last) inside += 1;
    i += 1;
  }
  return pairs === 0 ? 0 : inside / pairs;
}

const alphabets: readonly { charset: string; letters: RegExp }[] = [
  { charset: 'windows-1251', letters: /[\u0400-\u045f]/g },
  { charset: 'koi8-r', letters: /[\u0400-\u045f]/g },
  { charset: 'ibm866', letters: /[\u0400-\u045f]/g },
  { charset: 'windows-1253', letters: /[\u0386-\u03ce]/g },
  { charset: 'windows-1255', letters: /[\u05d0-\u05ea]/g },
  { charset: 'windows-1256', letters: /[\u0621-\u064a]/g },
  { charset: 'windows-874', letters: /[\u0e01-\u0e4e]/g },
];

/**
 * A text in a Latin alphabet has single accented letters among ASCII ones; in every other alphabet the bytes above 127
 * come in runs. Between those the winner has the most letters and the fewest capitals inside words.
 */
function singleByteCharset(sample: Uint8Array): string {
  const latin = Buffer.from(sample).toString('latin1');
  const high = latin.match(/[\x80-\xff]/g)?.length ?? 0;
  const ascii = latin.match(/[A-Za-z]/g)?.length ?? 0;
  if (high <= ascii * 0.5) return 'windows-1252';
  let best = { charset: 'windows-1252', score: 0.6 };
  for (const { charset, letters } of alphabets) {
    const text = new TextDecoder(charset).decode(sample);
    const found = text.match(letters)?.length ?? 0;
    const misplaced = text.match(/\p{Ll}\p{Lu}/gu)?.length ?? 0;
    const unassigned = text.match(/[\u0080-\u009f\ufffd\u2500-\u259f]/g)?.length ?? 0;
    const score = (found - 3 * misplaced - 3 * unassigned) / high;
    if (score > best.score) best = { charset, score };
  }
  return best.charset;
}
