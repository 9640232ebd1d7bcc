import { computeEastAsianShare } from './charset-guess.ts';
import { type DecodedText, decodeAs, decodeStrictly } from './decode.ts';

/** Encodings that write other letters in ASCII are told by their escape sequences, every one of which must be sound. */

/** What says that a text is ISO-2022-KR, once and before all Korean. */
const koreanHeader = '\x1b$)C';
/** Of fewer characters, what stands behind a plus sign may be some by chance. */
const utf7LettersMin = 3;
/** Share of everyday characters from which writing is taken for Chinese, Japanese or Korean. */
const everydayShareMin = 0.2;
/** Alphabets one of which a text in UTF-7 is in, unless it is Chinese, Japanese or Korean. */
const alphabets = ['Latin', 'Greek', 'Cyrillic', 'Hebrew', 'Arabic', 'Thai', 'Devanagari'].map(
  (script) => new RegExp(`^\\p{Script=${script}}+$`, 'u'),
);

/** The text of bytes that are all ASCII (`ascii` is the same as a string); null when they hold no other letters. */
export function decodeEscapedText(bytes: Uint8Array, ascii: string): DecodedText | null {
  if (isIso2022Kr(ascii)) return decodeIso2022Kr(bytes);
  const [hz, utf7] = [decodeHz(ascii), decodeUtf7(ascii)];
  if (hz !== null) return { text: hz, charset: 'hz-gb-2312', warning: null };
  return utf7 === null ? null : { text: utf7, charset: 'utf-7', warning: null };
}

/** Korean in ISO-2022-KR has two control characters to a word. */
export function isIso2022Kr(text: string): boolean {
  return text.includes(koreanHeader);
}

/** Between SO and SI each pair of bytes is a character of EUC-KR less its highest bits. */
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

/** HZ (RFC 1843): GB 2312 less its highest bits between `~{` and `~}`. */
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

/** UTF-7 (RFC 2152): UTF-16 in base 64 behind a plus sign, up to a hyphen or to what is no base 64. */
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

/** Null when the digits are not what a writer would write: whole units, well formed, zeros to fill the last digit. */
function decodeBase64Utf16(digits: string): string | null {
  const bytes = Buffer.from(digits, 'base64').subarray(0, Math.floor((digits.length * 6) / 16) * 2);
  const text = new TextDecoder('utf-16be').decode(bytes);
  const again = bytes.toString('base64').replace(/=+$/, '');
  return digits !== '' && again === digits && text.isWellFormed() ? text : null;
}

/** The text with every match replaced; null as soon as one cannot be. */
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
