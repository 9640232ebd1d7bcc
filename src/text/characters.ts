/**
 * Class of a UTF-16 unit for the analyzer. Letters, digits and marks form words; each script class forms
 * separate runs.
 */
export const characterClass = {
  other: 0,
  letter: 1,
  digit: 2,
  /** Marks, zero width joiners and soft hyphens: part of a word, never its first character. */
  mark: 3,
  han: 4,
  kana: 5,
  hangul: 6,
  /** Thai, Lao, Khmer, Myanmar: no spaces between words. */
  unspaced: 7,
  highSurrogate: 8,
} as const;

const classByUnit: Uint8Array = buildClassTable();

function buildClassTable(): Uint8Array {
  const table = new Uint8Array(0x10000);
  const { letter, digit, mark, han, kana, hangul, unspaced, highSurrogate } = characterClass;
  const pattern = /(\p{L}|\p{Nl})|(\p{N})|\p{M}/u;
  for (let unit = 0; unit < 0x10000; unit += 1) {
    if (unit >= 0x3400 && unit <= 0x9fff) continue;
    const match = pattern.exec(String.fromCharCode(unit));
    if (match !== null) table[unit] = match[1] !== undefined ? letter : match[2] !== undefined ? digit : mark;
  }
  const assign = (kind: number, ...ranges: readonly (readonly [number, number])[]): void => {
    for (const [first, last] of ranges) table.fill(kind, first, last + 1);
  };
  assign(han, [0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xf900, 0xfaff], [0x3005, 0x3007]);
  assign(kana, [0x3041, 0x3096], [0x3099, 0x309a], [0x309d, 0x309f], [0x30a1, 0x30fa], [0x30fc, 0x30ff]);
  assign(kana, [0x31f0, 0x31ff], [0xff66, 0xff9f]);
  assign(hangul, [0x1100, 0x11ff], [0x3131, 0x318e], [0xa960, 0xa97c], [0xac00, 0xd7a3], [0xd7b0, 0xd7fb]);
  assign(unspaced, [0x0e01, 0x0e3a], [0x0e40, 0x0e4e], [0x0e81, 0x0ece], [0x0edc, 0x0edf]);
  assign(unspaced, [0x1000, 0x103f], [0x1050, 0x109d], [0xa9e0, 0xa9ef], [0xa9fa, 0xa9fe], [0xaa60, 0xaa7f]);
  assign(unspaced, [0x1780, 0x17d3], [0x17d7, 0x17d7], [0x17dc, 0x17dd]);
  assign(highSurrogate, [0xd800, 0xdbff]);
  for (const unit of [0xad, 0x200c, 0x200d, 0x2060]) table[unit] = mark;
  return table;
}

/**
 * Returns the class of the unit at `index`; `other` at and beyond the end. For surrogate pairs use
 * `characterClassOfPair`.
 */
export function characterClassAt(text: string, index: number): number {
  return index < text.length ? classByUnit[text.charCodeAt(index)]! : characterClass.other;
}

const letterPattern = /^[\p{L}\p{N}]$/u;

/** Returns the class of the code point that starts with the high surrogate at `index`. */
export function characterClassOfPair(text: string, index: number): number {
  const codePoint = text.codePointAt(index) ?? 0;
  if (codePoint >= 0x20000 && codePoint <= 0x3ffff) return characterClass.han;
  return letterPattern.test(String.fromCodePoint(codePoint)) ? characterClass.letter : characterClass.other;
}
