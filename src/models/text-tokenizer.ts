import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { AppError } from '../core/app-error.ts';
import { AssertionError } from '../core/assert.ts';
import { BertTokenizer, type BertTokenizerJson } from '../text/bert-tokenizer.ts';
import { readJsonFile } from './json-file.ts';

/** Token ids of one graph input. */
export interface TokenInput {
  readonly ids: readonly number[];
  /** 0 for the first text, 1 for the second; same length as `ids`. */
  readonly types: readonly number[];
}

/**
 * Maximum characters of a text that are tokenized per token that fits; the rest is cut off before
 * tokenization.
 */
const unitsPerToken = 32;

interface SpecialTokens {
  readonly before: TokenInput;
  readonly between: TokenInput;
  readonly after: TokenInput;
  readonly secondType: number;
}

/** Tokenizes texts as a `tokenizer.json` defines; truncation never removes the special tokens around them. */
export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  /** The same tokenizer in the native library, for the kinds it supports; many times as fast. */
  readonly #nativeTokenizer: BertTokenizer | null;
  readonly #single: SpecialTokens;
  readonly #pair: SpecialTokens;
  readonly #tokensMax: number;

  private constructor(tokenizer: Tokenizer, fast: BertTokenizer | null, tokensMax: number) {
    this.#tokenizer = tokenizer;
    this.#nativeTokenizer = fast;
    this.#tokensMax = tokensMax;
    this.#single = detectSpecialTokens(tokenizer, false);
    this.#pair = detectSpecialTokens(tokenizer, true);
  }

  /**
   * Opens the tokenizer of a folder. `tokensMax`: see `LocalModel`. Errors: AppError that names a missing or
   * invalid file.
   */
  static async open(folder: string, tokensMax: number): Promise<TextTokenizer> {
    const json = await readJsonFile(join(folder, 'tokenizer.json'));
    if (json === null)
      throw new AppError(
        'not_found',
        `${join(folder, 'tokenizer.json')} is missing. Download it with the model. Older formats (vocab.txt, spiece.model) are not supported.`,
      );
    const config = (await readJsonFile(join(folder, 'tokenizer_config.json'))) ?? {};
    try {
      const tokenizer = new Tokenizer(json as never, config as never);
      const textTokenizer = new TextTokenizer(
        tokenizer,
        openNativeTokenizer(json as BertTokenizerJson),
        tokensMax,
      );
      textTokenizer.encodeText('a word');
      return textTokenizer;
    } catch (cause) {
      const reason = (cause as Error).message;
      throw new AppError('invalid', `${join(folder, 'tokenizer.json')} cannot be used: ${reason}`, { cause });
    }
  }

  /** Returns the tokens of a text without special tokens, at most `tokensMax`. */
  encodeWithoutSpecials(text: string, tokensMax: number): readonly number[] {
    const head = text.slice(0, tokensMax * unitsPerToken).toWellFormed();
    const ids =
      this.#nativeTokenizer === null
        ? this.#tokenizer.encode(head, { add_special_tokens: false }).ids
        : Array.from(this.#nativeTokenizer.encodeAll([head]).ids);
    return ids.slice(0, Math.max(0, tokensMax));
  }

  /** Returns the token id of a word that is a single token; undefined if it is several. */
  findTokenId(word: string): number | undefined {
    const { ids } = this.#tokenizer.encode(word, { add_special_tokens: false });
    return ids.length === 1 ? ids[0] : undefined;
  }

  /** Returns up to four words that are single tokens, spread over the vocabulary. */
  sampleVocabularyWords(): string[] {
    const words = [...this.#tokenizer.get_vocab(false).keys()].flatMap(
      (token) => /^[▁Ġ]?(\p{Letter}{2,})$/u.exec(token)?.[1] ?? [],
    );
    return [0.2, 0.4, 0.6, 0.8].flatMap((share) => words[Math.floor(share * words.length)] ?? []);
  }

  /** Returns the number of tokens before a text with this prompt, special tokens included; 0 without a prompt. */
  countPromptTokens(prompt: string): number {
    if (prompt === '') return 0;
    return this.#single.before.ids.length + this.encodeWithoutSpecials(prompt, this.#tokensMax).length;
  }

  /** Tokenizes one text; a long text is truncated at its end. */
  encodeText(text: string): TokenInput {
    const { before, after } = this.#single;
    const tokensLeft = this.#tokensMax - before.ids.length - after.ids.length;
    const ids = this.encodeWithoutSpecials(text, tokensLeft);
    return concatenateInputs([before, { ids, types: ids.map(() => 0) }, after]);
  }

  /**
   * Tokenizes a query and a document. A long query is truncated to half of the available tokens, a long
   * document to what remains.
   */
  encodePair(query: string, document: string): TokenInput {
    const { before, between, after, secondType } = this.#pair;
    const tokensLeft = this.#tokensMax - before.ids.length - between.ids.length - after.ids.length;
    const queryIds = this.encodeWithoutSpecials(query, Math.floor(tokensLeft / 2));
    const ids = this.encodeWithoutSpecials(document, tokensLeft - queryIds.length);
    return concatenateInputs([
      before,
      { ids: queryIds, types: queryIds.map(() => 0) },
      between,
      { ids, types: ids.map(() => secondType) },
      after,
    ]);
  }

  /** Tokenizes a text with a long middle part, which is truncated at its end. */
  encodeTemplate(before: string, middle: string, after: string): TokenInput {
    const first = this.encodeWithoutSpecials(before, Math.floor(this.#tokensMax / 2));
    const last = this.encodeWithoutSpecials(after, Math.floor(this.#tokensMax / 4));
    const { before: opening } = this.#single;
    const tokensLeft = this.#tokensMax - opening.ids.length - first.length - last.length;
    const ids = [...first, ...this.encodeWithoutSpecials(middle, tokensLeft), ...last];
    return concatenateInputs([opening, { ids, types: ids.map(() => 0) }]);
  }
}

/** Returns null for tokenizer kinds that the native library does not support. */
function openNativeTokenizer(json: BertTokenizerJson): BertTokenizer | null {
  try {
    return new BertTokenizer(json);
  } catch (error) {
    if (error instanceof AssertionError || error instanceof TypeError) return null;
    throw error;
  }
}

/** Detects the special tokens around texts by tokenizing two probes. */
function detectSpecialTokens(tokenizer: Tokenizer, pair: boolean): SpecialTokens {
  const encode = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const [first, second] = [encode('first'), encode('second')];
  const encoded = tokenizer.encode('first', {
    ...(pair ? { text_pair: 'second' } : {}),
    return_token_type_ids: true,
  });
  const types = encoded.token_type_ids ?? encoded.ids.map(() => 0);
  const start = findSequence(encoded.ids, first, 0);
  const secondStart = pair ? findSequence(encoded.ids, second, start + first.length) : start + first.length;
  const end = pair ? secondStart + second.length : secondStart;
  const part = (from: number, to: number) => ({
    ids: encoded.ids.slice(from, to),
    types: types.slice(from, to),
  });
  return {
    before: part(0, start),
    between: pair ? part(start + first.length, secondStart) : { ids: [], types: [] },
    after: part(end, encoded.ids.length),
    secondType: types[secondStart] ?? 0,
  };
}

function findSequence(ids: readonly number[], part: readonly number[], from: number): number {
  for (let at = from; at + part.length <= ids.length; at += 1) {
    if (part.every((id, i) => ids[at + i] === id)) return at;
  }
  throw new Error('cannot locate the special tokens around a text');
}

function concatenateInputs(parts: readonly TokenInput[]): TokenInput {
  return { ids: parts.flatMap(({ ids }) => ids), types: parts.flatMap(({ types }) => types) };
}
