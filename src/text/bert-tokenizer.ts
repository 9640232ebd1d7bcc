import { assert } from '../core/assert.ts';
import { addon } from '../index/addon.ts';
import type { TokenizerHandle } from '../index/native-text.ts';
import type { EncodedTexts } from './wordpiece.ts';

/** Fields read from a `tokenizer.json`. */
export interface BertTokenizerJson {
  readonly normalizer: {
    readonly type: string;
    readonly clean_text?: boolean;
    readonly handle_chinese_chars?: boolean;
    /** Null: same as `lowercase`. */
    readonly strip_accents?: boolean | null;
    readonly lowercase?: boolean;
  } | null;
  readonly pre_tokenizer: { readonly type: string } | null;
  readonly model: {
    readonly type?: string;
    readonly unk_token: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word?: number;
    readonly fuse_unk?: boolean;
    readonly vocab: Readonly<Record<string, number>>;
  };
  readonly added_tokens: readonly {
    readonly id: number;
    readonly content: string;
    readonly lstrip?: boolean;
    readonly rstrip?: boolean;
    readonly special?: boolean;
    readonly normalized?: boolean;
  }[];
}

/**
 * A WordPiece tokenizer of the BERT family, from its `tokenizer.json`. Returns the same ids as the library
 * `@huggingface/tokenizers`, without the special tokens added by a post-processor.
 */
export class BertTokenizer {
  readonly handle: TokenizerHandle;

  /** Throws an `AssertionError` if the file requires an unsupported feature. */
  constructor(json: BertTokenizerJson) {
    const { normalizer, pre_tokenizer: words, model, added_tokens: addedTokens } = json;
    assert(normalizer?.type === 'BertNormalizer', 'the normalizer of the tokenizer is a BertNormalizer');
    assert(words?.type === 'BertPreTokenizer', 'the pre-tokenizer of the tokenizer is a BertPreTokenizer');
    assert((model.type ?? 'WordPiece') === 'WordPiece', 'the model of the tokenizer is WordPiece');
    assert(model.continuing_subword_prefix === continuation, `continuation pieces have the prefix "##"`);
    assert(model.fuse_unk !== true, 'each unknown word is one token');
    for (const { content, normalized, special } of addedTokens) {
      assert(/^\S+$/.test(content), 'an added token is not empty and contains no white space');
      assert((normalized ?? special !== true) === false, 'added tokens match before normalization');
    }
    const options = toNativeOptions({ normalizer, model, added_tokens: addedTokens });
    this.handle = addon.bertTokenizerOpen(options, JSON.stringify(options));
  }

  /** Returns all ids of each text, in order. */
  encodeAll(texts: readonly string[]): EncodedTexts {
    return addon.tokenizerEncode(this.handle, texts);
  }
}

const continuation = '##';
const wordCharactersMaxDefault = 100;

function toNativeOptions({
  normalizer,
  model,
  added_tokens: addedTokens,
}: Pick<BertTokenizerJson, 'model' | 'added_tokens'> & {
  normalizer: NonNullable<BertTokenizerJson['normalizer']>;
}) {
  // The content of an added token may also result from a word, for example after lower-casing.
  const ids = new Map(Object.entries(model.vocab));
  for (const { content, id } of addedTokens) ids.set(content, id);
  const unknown = ids.get(model.unk_token);
  assert(unknown !== undefined, 'the unknown token has an id');
  // No word contains white space, so pieces with white space can never match.
  const pieces = [...ids].filter(([piece]) => !/\s/.test(piece));
  const lowercases = normalizer.lowercase === true;
  const { strip_accents: stripAccents } = normalizer;
  return {
    pieces: pieces.map(([piece]) => piece).join('\n'),
    ids: Int32Array.from(pieces, ([, id]) => id),
    unknown,
    wordCharactersMax: model.max_input_chars_per_word ?? wordCharactersMaxDefault,
    cleansText: normalizer.clean_text === true,
    spacesIdeographs: normalizer.handle_chinese_chars === true,
    lowercases,
    stripsAccents: lowercases ? stripAccents !== false : stripAccents === true,
    addedTokens: addedTokens.map(({ content, id, lstrip, rstrip }) => ({
      content,
      id,
      stripsLeft: lstrip === true,
      stripsRight: rstrip === true,
    })),
  };
}
