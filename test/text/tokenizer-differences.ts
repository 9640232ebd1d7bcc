import { Tokenizer } from '@huggingface/tokenizers';
import { BertTokenizer, type BertTokenizerJson } from '../../src/text/bert-tokenizer.ts';
import { WordPiece } from '../../src/text/wordpiece.ts';
import { ReferenceWordPiece } from './reference-word-piece.ts';
import { vocabularyPieces } from './vocabulary-pieces.ts';

type Normaliser = NonNullable<BertTokenizerJson['normalizer']>;

/** A tokenizer.json like BERT's: special tokens, every piece of our vocabulary, and characters of many scripts. */
export function tokenizerJson(
  normalizer: Partial<Normaliser> = {},
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

const uncased: Normaliser = {
  type: 'BertNormalizer',
  clean_text: true,
  handle_chinese_chars: true,
  strip_accents: null,
  lowercase: true,
};

const specials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const specialTokens = specials.map((content, id) => ({
  id,
  content,
  lstrip: content === '[MASK]',
  rstrip: content === '[SEP]',
  special: true,
  normalized: false,
}));
const pieces = [...new Set([...specials, ...vocabularyPieces(), ...scriptPieces(), 'Upper', '##Case', '##'])];

/** Half of the characters of each script, alone and continuing a word. */
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

function theirs(json: BertTokenizerJson): (text: string) => readonly number[] {
  const tokenizer = new Tokenizer({ ...json, ...rest }, {});
  return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids;
}

/** Compares text for text; says the first difference so that it can be reproduced. */
export function bertDifference(json: BertTokenizerJson, texts: readonly string[]): string | null {
  const expected = theirs(json);
  const { ids, ends } = new BertTokenizer(json).encodeAll(texts);
  for (const [i, text] of texts.entries()) {
    const found = [...ids.subarray(ends[i - 1] ?? 0, ends[i])];
    const wanted = expected(text);
    if (found.join() !== wanted.join()) return `${JSON.stringify(text)}: ${found} instead of ${wanted}`;
  }
  return null;
}

export const flagCases: readonly [string, Partial<Normaliser>][] = [
  ['uncased', {}],
  ['cased', { lowercase: false }],
  ['cased without accents', { lowercase: false, strip_accents: true }],
  ['uncased with accents', { strip_accents: false }],
  ['text as it is', { clean_text: false, handle_chinese_chars: false, lowercase: false }],
];

const builtIn = new WordPiece(vocabularyPieces());
const expected = new ReferenceWordPiece(vocabularyPieces());

/** The same for the tokenizer of the built-in models against its first implementation. */
export function plainDifference(texts: readonly string[]): string | null {
  const { ids, ends } = builtIn.encodeAll(texts);
  for (const [i, text] of texts.entries()) {
    const found = ids.subarray(ends[i - 1] ?? 0, ends[i]).join();
    const wanted = expected.encode(text).join();
    if (found !== wanted) return `${JSON.stringify(text)}: ${found} instead of ${wanted}`;
  }
  return null;
}
