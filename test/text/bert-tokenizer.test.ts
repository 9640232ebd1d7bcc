import { BertTokenizer, type BertTokenizerJson } from '../../src/text/bert-tokenizer.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';
import { RandomUnicodeText } from './random-text.ts';
import { findBertDifference, flagCases, tokenizerJson } from './tokenizer-differences.ts';

const seed = 20_261_121;
/** `tokenizers.slow.ts` compares 500,000 texts. */
const perCase = 500;
/** Built once: each of the two tokenizers of a case indexes 40,000 pieces. */
const differences = flagCases.map(
  ([name, flags]) => [name, findBertDifference(tokenizerJson(flags))] as const,
);
const findUncasedDifference = differences[0]![1];

t.test(`ids are those of @huggingface/tokenizers for random texts (seed ${seed})`, async (t) => {
  const randomText = new RandomUnicodeText(seed);
  const texts = Array.from({ length: perCase }, () => randomText.next());
  for (const [name, findDifference] of differences) t.equal(findDifference(texts), null, name);
});

t.test('ids are the same for real text of many languages', async (t) => {
  const texts = Object.values(languageSamples).flatMap((text) => [
    text,
    text.toUpperCase(),
    text.normalize('NFD'),
  ]);
  for (const [name, findDifference] of differences) t.equal(findDifference(texts), null, name);
});

t.test('ids are the same for every character, alone and inside a word', async (t) => {
  const texts: string[] = [];
  for (let codePoint = 0; codePoint < 0x20000; codePoint += 1) {
    const character = String.fromCodePoint(codePoint);
    texts.push(
      codePoint % 2 === 0 ? `${character} a${character}b` : `${character} x${character}ΑΣ${character}`,
    );
  }
  t.equal(findUncasedDifference(texts), null);
});

t.test('very long words are unknown as a whole, in linear time', async (t) => {
  const long = ['a'.repeat(100), 'a'.repeat(101), 'ü'.repeat(100), '\u0301'.repeat(1_000), '字'.repeat(500)];
  t.equal(findUncasedDifference(long), null);
  const { ids } = new BertTokenizer(tokenizerJson()).encodeAll([
    'a'.repeat(3_000_000),
    `a${'\u0301'.repeat(1_000_000)}`,
  ]);
  t.equal(ids.length, 2);
});

t.test('added tokens match literally, and the text beside them is trimmed if they require it', async (t) => {
  const texts = [
    'a [MASK] b',
    'a[MASK][SEP] b',
    '[mask]',
    '[\u0000MASK]',
    '[CLS]',
    ' [SEP] ',
    'x [SEP]\u00a0\n y',
    '',
  ];
  t.equal(findUncasedDifference(texts), null);
  const own = [
    { id: 7, content: '[mask]', special: true },
    { id: 8, content: '[mask]s', special: true },
  ];
  t.equal(findBertDifference(tokenizerJson({}, own))([...texts, '[mask]s', '[MASK]S', 'x [mask]y']), null);
});

t.test('an unsupported tokenizer.json is rejected', async (t) => {
  const json = tokenizerJson();
  const refused: readonly [BertTokenizerJson, RegExp][] = [
    [{ ...json, normalizer: null }, /BertNormalizer/],
    [{ ...json, pre_tokenizer: { type: 'Whitespace' } }, /BertPreTokenizer/],
    [{ ...json, model: { ...json.model, continuing_subword_prefix: '@@' } }, /have the prefix "##"/],
    [{ ...json, model: { ...json.model, unk_token: '<nothing>' } }, /unknown token/],
    [{ ...json, added_tokens: [{ id: 1, content: 'a', normalized: true }] }, /before normalization/],
    [{ ...json, added_tokens: [{ id: 1, content: 'a b', special: true }] }, /no white space/],
  ];
  for (const [broken, reason] of refused) t.throws(() => new BertTokenizer(broken), reason);
});
