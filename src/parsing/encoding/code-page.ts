import { decodeAs } from './decode.ts';
import { findDosCharset } from './dos-charsets.ts';

/** Windows and DOS code pages, by which RTF, Outlook, Word and Excel name the encoding of 8-bit text. */

const charsets: Readonly<Record<number, string>> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gb18030',
  949: 'euc-kr',
  950: 'big5',
  1200: 'utf-16le',
  1361: 'johab',
  10000: 'macintosh',
  10007: 'x-mac-cyrillic',
  20127: 'windows-1252',
  20866: 'koi8-r',
  20932: 'euc-jp',
  21866: 'koi8-u',
  28591: 'windows-1252',
  50220: 'iso-2022-jp',
  50221: 'iso-2022-jp',
  50222: 'iso-2022-jp',
  51932: 'euc-jp',
  51949: 'euc-kr',
  54936: 'gb18030',
  65001: 'utf-8',
};

/** Returns the WHATWG name of a code page; unknown code pages map to windows-1252. */
function toCharset(codePage: number): string {
  const known = charsets[codePage];
  if (known !== undefined) return known;
  if (codePage >= 1250 && codePage <= 1258) return `windows-${codePage}`;
  if (codePage >= 28592 && codePage <= 28606 && codePage !== 28601) return `iso-8859-${codePage - 28590}`;
  return findDosCharset(`${codePage}`) ?? 'windows-1252';
}

export function decodeCodePage(bytes: Uint8Array, codePage: number): string {
  return decodeAs(bytes, toCharset(codePage)).text;
}

/**
 * Returns the code page for the character-set number in a Windows font table; null: the code page of the
 * document applies.
 */
export function getFontCodePage(characterSet: number): number | null {
  return fontCodePages[characterSet] ?? null;
}

const fontCodePages: Readonly<Record<number, number>> = {
  0: 1252,
  2: 42,
  77: 10000,
  128: 932,
  129: 949,
  130: 1361,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
  254: 437,
  255: 850,
};
