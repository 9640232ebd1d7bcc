/**
 * Johab (KS X 1001, annex 3; code page 1361): Korean syllables encoded by their parts. TextDecoder does not
 * support it.
 */

/** Index of each five-bit part, or -1 where the bits are undefined. */
const initials = buildParts([[2, 20]]);
const medials = buildParts([
  [3, 7],
  [10, 15],
  [18, 23],
  [26, 29],
]);
const finals = buildParts([
  [1, 17],
  [19, 29],
]);
const [firstSyllable, medialCount, finalCount] = [0xac00, 21, 28];

function buildParts(ranges: readonly (readonly [first: number, last: number])[]): Int8Array {
  const parts = new Int8Array(32).fill(-1);
  let next = 0;
  for (const [first, last] of ranges) for (let bits = first; bits <= last; bits++) parts[bits] = next++;
  return parts;
}

/** Decodes Johab; invalid bytes become U+FFFD. */
export function decodeJohab(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i++) {
    const [lead, trail] = [bytes[i]!, bytes[i + 1]];
    if (lead < 0x80) parts.push(String.fromCharCode(lead));
    else if (trail === undefined || trail < 0x31) parts.push('\ufffd');
    else {
      parts.push(lead < 0xd8 ? decodeSyllable(lead * 256 + trail) : decodeSymbolOrHanja(lead, trail));
      i += 1;
    }
  }
  return parts.join('');
}

function decodeSyllable(pair: number): string {
  const bits = [(pair >> 10) & 31, (pair >> 5) & 31, pair & 31] as const;
  const [initial, medial, final] = [initials[bits[0]]!, medials[bits[1]]!, finals[bits[2]]!];
  if (initial >= 0 && medial >= 0 && final >= 0)
    return String.fromCharCode(firstSyllable + (initial * medialCount + medial) * finalCount + final);
  const [noInitial, noMedial] = [bits[0] === 1, bits[1] === 2];
  if (noInitial && final === 0) return vowels.charAt(medial) || '\ufffd';
  if (noMedial && final === 0) return initialLetters.charAt(initial) || '\ufffd';
  return (noInitial && noMedial && finalLetters.charAt(final - 1)) || '\ufffd';
}

/** Isolated parts, in the order of their indexes. */
const initialLetters = 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ';
const vowels = 'ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ';
const finalLetters = 'ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ';

/**
 * Decodes all other characters, which are in rows of KS X 1001, two per lead byte; EUC-KR has the same rows.
 */
function decodeSymbolOrHanja(lead: number, trail: number): string {
  const row = lead < 0xe0 ? 2 * (lead - 0xd9) : 2 * (lead - 0xe0) + 0x29;
  const column = trail < 0x91 ? trail - 0x31 : trail - 0x43;
  const inSecond = column >= 0x5e;
  const pair = [0xa1 + row + (inSecond ? 1 : 0), 0xa1 + column - (inSecond ? 0x5e : 0)];
  return pair.every((byte) => byte >= 0xa1 && byte <= 0xfe)
    ? eucKrDecoder.decode(Uint8Array.from(pair))
    : '\ufffd';
}

const eucKrDecoder = new TextDecoder('euc-kr');
