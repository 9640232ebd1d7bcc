/** Random text of every kind that a tokenizer may meet, from a seed. */
export class OddText {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A string of a few words, made of up to three kinds of characters. */
  next(): string {
    const kinds = Array.from({ length: 1 + this.#below(3) }, () => this.#pick(alphabets));
    const units = this.#below(40);
    let text = '';
    while (text.length < units) {
      const run = 1 + this.#below(this.#below(20) === 0 ? 300 : 9);
      const draw = this.#pick(kinds);
      for (let i = 0; i < run; i += 1) text += draw((count) => this.#below(count));
      if (this.#below(3) > 0) text += this.#pick(separators);
    }
    return text;
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)]!;
  }

  /** A whole number from 0 to count - 1: mulberry32. */
  #below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }
}

type Draw = (below: (count: number) => number) => string;

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

const from =
  (first: number, last: number): Draw =>
  (below) =>
    String.fromCodePoint(first + below(last - first + 1));
const of =
  (...items: readonly string[]): Draw =>
  (below) =>
    items[below(items.length)]!;

const alphabets: readonly Draw[] = [
  from(0x61, 0x7a),
  from(0x20, 0x7e),
  from(0x41, 0x5a),
  of('the', 'run', 'ning', 'token', 'un', 'able', 'er', 's', 'ing', '1', '42', 'Café', 'naïve'),
  from(0, 0x1f),
  from(0x7f, 0xff),
  from(0x100, 0x24f),
  from(0x300, 0x36f),
  from(0x370, 0x3ff),
  of('Σ', 'σ', 'ς', 'Α', 'ο', '.', "'", '\u0301', '\u00ad', ':', ' '),
  from(0x400, 0x52f),
  from(0x590, 0x6ff),
  from(0x900, 0xdff),
  from(0xe00, 0xe7f),
  from(0x1100, 0x11ff),
  from(0x1e00, 0x1fff),
  from(0x2000, 0x206f),
  from(0x2100, 0x2bff),
  from(0x3000, 0x30ff),
  from(0x4e00, 0x9fff),
  from(0xac00, 0xd7a3),
  from(0xd800, 0xdfff),
  from(0xf900, 0xffff),
  from(0x1f300, 0x1faff),
  of('👨‍👩‍👧', '🇩🇪', '❤️', '🏽', '\u200d', '\ufe0f'),
  from(0x20000, 0x2fa1f),
  from(0x10000, 0x1ffff),
  from(0, 0xffff),
  from(0, 0x10ffff),
  of('İ', 'I', 'ı', 'ß', 'ẞ', 'ﬁ', 'Å', 'Å', 'K', '½', '²', '①', '㎏', 'Ǆ', 'ǆ'),
  of('[MASK]', '[CLS]', '[SEP]', '[UNK]', '[', ']', '##', '##ing', 'MASK'),
];
