import { assert } from '../../src/core/assert.ts';

/**
 * Original tokenizer of the built-in models in TypeScript with regular expressions: native/text must produce identical
 * ids.
 */

/** Piece for a run of characters not covered by any piece; always entry 0 of a vocabulary. */
const unknownPiece = '[UNK]';

/** Prefix of a piece that continues a word. */
const continuation = '##';

/** Maximum length of a raw word; longer ones are split, so that each word takes at most linear time and memory. */
const wordUnitsMax = 256;
const cachedWordUnitsMax = 40;
const cachedWordsMax = 100_000;

const separator = 0;
const isWordPart = 1;
const wholeWord = 2;

const wordCharacter = /^[\p{L}\p{N}\p{M}]$/u;
/** Scripts without spaces and with many characters: each character is a separate word. */
const ideograph = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u;

function classOf(character: string): number {
  if (ideograph.test(character)) return wholeWord;
  return wordCharacter.test(character) ? isWordPart : separator;
}

function tabulateClasses(): Uint8Array {
  const classes = new Uint8Array(0x10000);
  for (let unit = 0; unit < classes.length; unit += 1) classes[unit] = classOf(String.fromCharCode(unit));
  return classes;
}

const unitClasses = tabulateClasses();

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** UTF-16 units of the code point at `start`: 2 for a surrogate pair, otherwise 1 (also for an unpaired surrogate). */
function unitsAt(text: string, start: number): 1 | 2 {
  if (!isHighSurrogate(text.charCodeAt(start)) || start + 1 >= text.length) return 1;
  return isLowSurrogate(text.charCodeAt(start + 1)) ? 2 : 1;
}

/**
 * Calls `visit` with every raw word of `text` in order, in linear time. A word is a maximal run of letters, digits and
 * marks (an underscore separates), or one ideograph; symbols, emoji and unpaired surrogates separate words.
 */
export function eachWord(text: string, visit: (word: string) => void): void {
  let start = -1;
  let at = 0;
  while (at < text.length) {
    const units = unitsAt(text, at);
    const kind =
      units === 2 ? classOf(text.slice(at, at + 2)) : (unitClasses[text.charCodeAt(at)] ?? separator);
    if (start >= 0 && (kind !== isWordPart || at + units - start > wordUnitsMax)) {
      visit(text.slice(start, at));
      start = -1;
    }
    if (kind === isWordPart && start < 0) start = at;
    if (kind === wholeWord) visit(text.slice(at, at + units));
    at += units;
  }
  if (start >= 0) visit(text.slice(start));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII itself
const ascii = /^[\x00-\x7f]*$/;

/** Lower case, compatibility forms unified, accents of the combining block removed ("Ｃafé" is "cafe"). */
export function normalizeWord(word: string): string {
  const lower = word.toLowerCase();
  if (ascii.test(lower)) return lower;
  return lower
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
}

/**
 * WordPiece: splits words greedily into the longest known pieces; the first piece of a word has no prefix, the following
 * ones have `##`. The ids depend only on the vocabulary, not on earlier calls.
 */
export class ReferenceWordPiece {
  readonly size: number;
  readonly #vocabulary: readonly string[];
  readonly #wordStarts = new Map<string, number>();
  readonly #continuations = new Map<string, number>();
  readonly #pieceUnitsMax: number;
  #cache = new Map<string, readonly number[]>();

  /** `vocabulary[0]` must be `[UNK]`; the index of a piece is its id. */
  constructor(vocabulary: readonly string[]) {
    assert(vocabulary[0] === unknownPiece, 'a WordPiece vocabulary begins with [UNK]');
    this.#vocabulary = vocabulary;
    this.size = vocabulary.length;
    let longest = 1;
    for (const [id, piece] of vocabulary.entries()) {
      if (id === 0) continue;
      const continues = piece.startsWith(continuation);
      const text = continues ? piece.slice(continuation.length) : piece;
      const pieces = continues ? this.#continuations : this.#wordStarts;
      assert(text !== '' && !pieces.has(text), 'the pieces of a vocabulary are distinct and not empty');
      pieces.set(text, id);
      longest = Math.max(longest, text.length);
    }
    this.#pieceUnitsMax = longest;
  }

  /** Piece with this id, as spelled in the vocabulary. */
  piece(id: number): string {
    const piece = this.#vocabulary[id];
    assert(piece !== undefined, 'the piece id is in the vocabulary');
    return piece;
  }

  /** Calls `visit` with the id of every piece of `text`, in order. */
  eachToken(text: string, visit: (id: number) => void): void {
    eachWord(text, (word) => {
      for (const id of this.wordTokens(word)) visit(id);
    });
  }

  /** All piece ids of `text`, in order. */
  encode(text: string): number[] {
    const ids: number[] = [];
    this.eachToken(text, (id) => ids.push(id));
    return ids;
  }

  /** Normalized words separated by single spaces; inverse of `encode` for text in vocabulary. */
  decode(ids: readonly number[]): string {
    let text = '';
    for (const id of ids) {
      const piece = this.piece(id);
      if (id !== 0 && piece.startsWith(continuation)) text += piece.slice(continuation.length);
      else text += text === '' ? piece : ` ${piece}`;
    }
    return text;
  }

  /** Piece ids of one raw word from `eachWord`; never empty for a word with a visible character. */
  wordTokens(word: string): readonly number[] {
    const known = this.#cache.get(word);
    if (known !== undefined) return known;
    const ids = this.#split(normalizeWord(word));
    if (word.length <= cachedWordUnitsMax) {
      if (this.#cache.size >= cachedWordsMax) this.#cache = new Map();
      this.#cache.set(word, ids);
    }
    return ids;
  }

  #split(word: string): readonly number[] {
    const ids: number[] = [];
    let at = 0;
    while (at < word.length) {
      const pieces = at === 0 ? this.#wordStarts : this.#continuations;
      let end = Math.min(word.length, at + this.#pieceUnitsMax);
      let id = pieces.get(word.slice(at, end));
      while (id === undefined && end > at + 1) {
        end -= 1;
        id = pieces.get(word.slice(at, end));
      }
      if (id !== undefined) {
        ids.push(id);
        at = end;
        continue;
      }
      // A run of unknown characters is one [UNK], regardless of its length.
      if (ids.at(-1) !== 0) ids.push(0);
      at += unitsAt(word, at);
    }
    return ids;
  }
}
