/** Random text of all kinds that a tokenizer may receive, from a seed. */
export class RandomUnicodeText {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** String of a few words, with characters of up to three kinds. */
  next(): string {
    const kinds = Array.from({ length: 1 + this.#randomBelow(3) }, () =>
      this.#pickRandom(characterGenerators),
    );
    const units = this.#randomBelow(40);
    let text = '';
    while (text.length < units) {
      const run = 1 + this.#randomBelow(this.#randomBelow(20) === 0 ? 300 : 9);
      const draw = this.#pickRandom(kinds);
      for (let i = 0; i < run; i += 1) text += draw((count) => this.#randomBelow(count));
      if (this.#randomBelow(3) > 0) text += this.#pickRandom(separators);
    }
    return text;
  }

  #pickRandom<T>(items: readonly T[]): T {
    return items[this.#randomBelow(items.length)]!;
  }

  /** Integer from 0 to count - 1 (mulberry32). */
  #randomBelow(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }
}

type CharacterGenerator = (below: (count: number) => number) => string;

const separators = [
  ' ',
  ' ',
  ' ',
  '\n',
  '\t',
  ', ',
  '. ',
  '-',
  "'",
  '’',
  ':',
  '\u00a0',
  '\u2028',
  '\u3000',
  '\r',
];

const codePointRange =
  (first: number, last: number): CharacterGenerator =>
  (below) =>
    String.fromCodePoint(first + below(last - first + 1));
const oneOf =
  (...items: readonly string[]): CharacterGenerator =>
  (below) =>
    items[below(items.length)]!;

const characterGenerators: readonly CharacterGenerator[] = [
  codePointRange(0x61, 0x7a),
  codePointRange(0x20, 0x7e),
  codePointRange(0x41, 0x5a),
  oneOf('the', 'run', 'ning', 'token', 'un', 'able', 'er', 's', 'ing', '1', '42', 'Café', 'naïve'),
  codePointRange(0, 0x1f),
  codePointRange(0x7f, 0xff),
  codePointRange(0x100, 0x24f),
  codePointRange(0x300, 0x36f),
  codePointRange(0x370, 0x3ff),
  oneOf('Σ', 'σ', 'ς', 'Α', 'ο', '.', "'", '\u0301', '\u00ad', ':', ' '),
  codePointRange(0x400, 0x52f),
  codePointRange(0x590, 0x6ff),
  codePointRange(0x900, 0xdff),
  codePointRange(0xe00, 0xe7f),
  codePointRange(0x1100, 0x11ff),
  codePointRange(0x1e00, 0x1fff),
  codePointRange(0x2000, 0x206f),
  codePointRange(0x2100, 0x2bff),
  codePointRange(0x3000, 0x30ff),
  codePointRange(0x4e00, 0x9fff),
  codePointRange(0xac00, 0xd7a3),
  codePointRange(0xd800, 0xdfff),
  codePointRange(0xf900, 0xffff),
  codePointRange(0x1f300, 0x1faff),
  oneOf('👨‍👩‍👧', '🇩🇪', '❤️', '🏽', '\u200d', '\ufe0f'),
  codePointRange(0x20000, 0x2fa1f),
  codePointRange(0x10000, 0x1ffff),
  codePointRange(0, 0xffff),
  codePointRange(0, 0x10ffff),
  oneOf('İ', 'I', 'ı', 'ß', 'ẞ', 'ﬁ', 'Å', 'Å', 'K', '½', '²', '①', '㎏', 'Ǆ', 'ǆ'),
  oneOf('[MASK]', '[CLS]', '[SEP]', '[UNK]', '[', ']', '##', '##ing', 'MASK'),
];
