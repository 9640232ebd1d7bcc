import { computeEastAsianShare } from './charset-guess.ts';
import { type DecodedText, decodeAs, decodeStrictly } from './decode.ts';

/**
 * Detects encodings that escape other letters in ASCII by their escape sequences, all of which must be valid.
 */

/** Header of ISO-2022-KR, once before all Korean text. */
const koreanHeader = '\x1b$)C';
/** Below this number of characters, a match after a plus sign may be chance. */
const utf7LettersMin = 3;
/** Minimum share of common characters for text to count as Chinese, Japanese or Korean. */
const everydayShareMin = 0.2;
/** Scripts of UTF-7 text; unless it is CJK, its letters must belong to one of them. */
const alphabets = ['Latin', 'Greek', 'Cyrillic', 'Hebrew', 'Arabic', 'Thai', 'Devanagari'].map(
  (script) => new RegExp(`^\\p{Script=${script}}+$`, 'u'),
);

/**
 * Decodes bytes that are all ASCII (`ascii` is the same content as a string); null when they encode no other
 * letters.
 */
export function decodeEscapedText(bytes: Uint8Array, ascii: string): DecodedText | null {
  if (isIso2022Kr(ascii)) return decodeIso2022Kr(bytes);
  const [hz, utf7] = [decodeHz(ascii), decodeUtf7(ascii)];
  if (hz !== null) return { text: hz, charset: 'hz-gb-2312', warning: null };
  return utf7 === null ? null : { text: utf7, charset: 'utf-7', warning: null };
}

/** Whether the text is ISO-2022-KR, where Korean has two control characters per word. */
export function isIso2022Kr(text: string): boolean {
  return text.includes(koreanHeader);
}

/** Decodes ISO-2022-KR: between SO and SI, each byte pair is an EUC-KR character without the high bits. */
function decodeIso2022Kr(bytes: Uint8Array): DecodedText {
  let inKorean = false;
  const plain = bytes.map((byte) => {
    if (byte === 0x0e || byte === 0x0f) inKorean = byte === 0x0e;
    return inKorean && byte > 0x20 ? byte | 0x80 : byte;
  });
  const { text, warning } = decodeAs(plain, 'euc-kr');
  return {
    text: text.replaceAll(koreanHeader, '').replaceAll('\x0e', '').replaceAll('\x0f', ''),
    charset: 'iso-2022-kr',
    warning: warning?.replace('euc-kr', 'iso-2022-kr') ?? null,
  };
}

/** Decodes HZ (RFC 1843): GB 2312 without the high bits between `~{` and `~}`. */
function decodeHz(ascii: string): string | null {
  let chinese = '';
  const text = replaceAllOrNull(
    ascii,
    /~(?:\{((?:[\x21-\x77][\x21-\x7e])+)~\}|~|\r?\n|\{)/g,
    ([whole, pairs]) => {
      if (whole === '~{') return null;
      if (pairs === undefined) return whole === '~~' ? '~' : '';
      const part = decodeStrictly(
        Buffer.from(pairs, 'latin1').map((byte) => byte | 0x80),
        'gb18030',
      );
      chinese += part ?? '';
      return part;
    },
  );
  return computeEastAsianShare(chinese) >= everydayShareMin ? text : null;
}

/**
 * Decodes UTF-7 (RFC 2152): UTF-16 in base64 after a plus sign, up to a hyphen or a character outside base64.
 */
function decodeUtf7(ascii: string): string | null {
  let foreign = '';
  const text = replaceAllOrNull(ascii, /\+([A-Za-z0-9+/]*)(-?)/g, ([whole, digits]) => {
    if (whole === '+-') return '+';
    const part = decodeBase64Utf16(digits!);
    foreign += part ?? '';
    return part;
  });
  if (foreign.length < utf7LettersMin || /[A-Za-z0-9]|[^\p{L}\p{M}\p{N}\p{P}\p{S}\s]/u.test(foreign))
    return null;
  const letters = foreign.match(/\p{L}/gu)?.join('') ?? '';
  const isWriting = alphabets.some((alphabet) => alphabet.test(letters));
  return isWriting || computeEastAsianShare(foreign) >= everydayShareMin ? text : null;
}

/**
 * Returns null unless the digits are canonical: whole UTF-16 units, well-formed, last digit padded with zero
 * bits.
 */
function decodeBase64Utf16(digits: string): string | null {
  const bytes = Buffer.from(digits, 'base64').subarray(0, Math.floor((digits.length * 6) / 16) * 2);
  const text = new TextDecoder('utf-16be').decode(bytes);
  const again = bytes.toString('base64').replace(/=+$/, '');
  return digits !== '' && again === digits && text.isWellFormed() ? text : null;
}

/** Returns the text with every match replaced; null if any match cannot be replaced. */
function replaceAllOrNull(
  text: string,
  pattern: RegExp,
  replacement: (match: RegExpExecArray) => string | null,
): string | null {
  const parts: string[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const part = replacement(match);
    if (part === null) return null;
    parts.push(text.slice(at, match.index), part);
    at = match.index + match[0].length;
  }
  return parts.join('') + text.slice(at);
}
