import { Tokenizer } from '@huggingface/tokenizers';
import { BertTokenizer, type BertTokenizerJson } from '../../src/text/bert-tokenizer.ts';
import { WordPiece } from '../../src/text/wordpiece.ts';
import { eachWord, ReferenceWordPiece } from './reference-word-piece.ts';
import { vocabularyPieces } from './vocabulary-pieces.ts';

type NormalizerJson = NonNullable<BertTokenizerJson['normalizer']>;

/** tokenizer.json like BERT's: special tokens, every piece of our vocabulary, and characters of many scripts. */
export function tokenizerJson(
  normalizer: Partial<NormalizerJson> = {},
  addedTokens: BertTokenizerJson['added_tokens'] = specialTokens,
): BertTokenizerJson {
  return {
    normalizer: { ...uncased, ...normalizer },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
    },
    added_tokens: addedTokens,
  };
}

const uncased: NormalizerJson = {
  type: 'BertNormalizer',
  clean_text: true,
  handle_chinese_chars: true,
  strip_accents: null,
  lowercase: true,
};

const specialTokenTexts = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const specialTokens = specialTokenTexts.map((content, id) => ({
  id,
  content,
  lstrip: content === '[MASK]',
  rstrip: content === '[SEP]',
  special: true,
  normalized: false,
}));
const pieces = [
  ...new Set([...specialTokenTexts, ...vocabularyPieces(), ...scriptPieces(), 'Upper', '##Case', '##']),
];

/** Half of the characters of each script, as words and as continuations. */
function scriptPieces(): string[] {
  const ranges: readonly [number, number][] = [
    [0x21, 0x7e],
    [0xa1, 0x24f],
    [0x370, 0x6ff],
    [0x900, 0xe7f],
    [0x1100, 0x11ff],
    [0x2000, 0x2bff],
    [0x3000, 0x30ff],
    [0x4e00, 0x5fff],
    [0x1f300, 0x1f6ff],
    [0x20000, 0x200ff],
  ];
  return ranges.flatMap(([first, last]) =>
    Array.from({ length: (last - first) >> 1 }, (_, i) => String.fromCodePoint(first + 2 * i)).flatMap(
      (character) => [character, `##${character}`],
    ),
  );
}

const rest = { decoder: null, post_processor: null };

function huggingFaceTokenizer(json: object): (text: string) => readonly number[] {
  const tokenizer = new Tokenizer({ ...json, ...rest }, {});
  return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids;
}

/** Compares the ids of each text; returns the first difference with enough detail to reproduce it. */
export function findBertDifference(json: BertTokenizerJson): (texts: readonly string[]) => string | null {
  const expectedIdsOf = huggingFaceTokenizer(json);
  const tokenizer = new BertTokenizer(json);
  return (texts) => {
    const { ids, ends } = tokenizer.encodeAll(texts);
    for (const [i, text] of texts.entries()) {
      const found = [...ids.subarray(ends[i - 1] ?? 0, ends[i])];
      const expectedIds = expectedIdsOf(text);
      if (found.join() !== expectedIds.join())
        return `${JSON.stringify(text)}: ${found} instead of ${expectedIds}`;
    }
    return null;
  };
}

export const flagCases: readonly [string, Partial<NormalizerJson>][] = [
  ['uncased', {}],
  ['cased', { lowercase: false }],
  ['cased without accents', { lowercase: false, strip_accents: true }],
  ['uncased with accents', { strip_accents: false }],
  ['unchanged text', { clean_text: false, handle_chinese_chars: false, lowercase: false }],
];

const builtIn = new WordPiece(vocabularyPieces());
const referenceTokenizer = new ReferenceWordPiece(vocabularyPieces());

/** As `findBertDifference`, for the tokenizer of the built-in models against its original implementation. */
export function findPlainDifference(texts: readonly string[]): string | null {
  const { ids, ends } = builtIn.encodeAll(texts);
  for (const [i, text] of texts.entries()) {
    const found = ids.subarray(ends[i - 1] ?? 0, ends[i]).join();
    const expectedIds = referenceTokenizer.encode(text).join();
    if (found !== expectedIds) return `${JSON.stringify(text)}: ${found} instead of ${expectedIds}`;
  }
  return null;
}

/** Maximum word length compared: the library takes quadratic time, and longer words have the same runs as short ones. */
const referenceWordUnitsMax = 40;

/**
 * As `findBertDifference`, for the tokenizer of the built-in models against @huggingface/tokenizers, with more pieces than
 * the models have so that words of many scripts are known. No tokenizer.json describes its behavior in two cases:
 * - It splits a text into words first and normalizes each of them; the library normalizes the whole text, which may
 *   create other words ("½" becomes "1", a fraction slash and "2"). So the library gets each word separately.
 * - A run of characters not covered by any piece is one [UNK] beside the known pieces of its word; in the library the
 *   whole word is [UNK]. So only the presence of [UNK] is compared; ReferenceWordPiece checks the pieces.
 */
export function findBuiltInDifference(): (texts: readonly string[]) => string | null {
  const vocabulary = ['[UNK]', ...new Set([...vocabularyPieces().slice(1), ...scriptPieces()])];
  const tokenizer = new WordPiece(vocabulary);
  const expected = huggingFaceTokenizer(plainTokenizerJson(vocabulary));
  const wordDifference = (word: string, found: Int32Array): string | null => {
    if (word.length > referenceWordUnitsMax) return null;
    const expectedIds = expected(word);
    const same = expectedIds.includes(0) ? found.includes(0) : found.join() === expectedIds.join();
    return same ? null : `${JSON.stringify(word)}: ${found} instead of ${expectedIds}`;
  };
  return (texts) => {
    const words: string[] = [];
    for (const text of texts) eachWord(text, (word) => words.push(word));
    const { ids, ends } = tokenizer.encodeAll(words);
    for (const [i, word] of words.entries()) {
      const difference = wordDifference(word, ids.subarray(ends[i - 1] ?? 0, ends[i]));
      if (difference !== null) return difference;
    }
    // The ids of a text are those of its words.
    let at = 0;
    const whole = tokenizer.encodeAll(texts);
    for (const [i, text] of texts.entries()) {
      eachWord(text, () => at++);
      if (whole.ends[i] !== (ends[at - 1] ?? 0))
        return `${JSON.stringify(text)} ends at another position than its words`;
    }
    return whole.ids.join() === ids.join() ? null : 'texts have different ids from their words';
  };
}

function plainTokenizerJson(vocabulary: readonly string[]): object {
  return {
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Lowercase' },
        { type: 'NFKD' },
        { type: 'Replace', pattern: { Regex: '[\\u0300-\\u036f]' }, content: '' },
        { type: 'NFC' },
      ],
    },
    pre_tokenizer: null,
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      // One letter expands to 18 at most.
      max_input_chars_per_word: 18 * referenceWordUnitsMax,
      vocab: Object.fromEntries(vocabulary.map((piece, id) => [piece, id])),
    },
    added_tokens: [],
  };
}
