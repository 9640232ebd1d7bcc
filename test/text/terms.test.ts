import { AssertionError } from '../../src/core/assert.ts';
import { limits } from '../../src/core/limits.ts';
import { toTermKey } from '../../src/text/lexicon.ts';
import { type AnalysisRow, analyzeChunks } from '../../src/text/terms.ts';
import { randomMixedText, seededRandom } from '../chunking/sample-texts.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';
import { readTermBlock } from './term-block.ts';

const seed = 20261121;
const row = (text: string, prefix = ''): AnalysisRow => ({ text, prefix });

t.test('the block contains the counts of a term in text and prefix', async (t) => {
  const { block, tokens, terms } = analyzeChunks([
    row('alpha beta alpha', 'beta gamma'),
    row(''),
    row('gamma'),
  ]);
  const rows = readTermBlock(block).map((entries) =>
    Object.fromEntries(
      entries.map(({ hash, bodyCount, prefixCount }) => [String(hash), [bodyCount, prefixCount]]),
    ),
  );
  t.same(rows, [
    {
      [String(toTermKey('alpha'))]: [4, 0],
      [String(toTermKey('beta'))]: [2, 1],
      [String(toTermKey('gamma'))]: [0, 1],
    },
    {},
    { [String(toTermKey('gamma'))]: [2, 0] },
  ]);
  t.equal(tokens, 6);
  t.equal(terms, 4);
});

t.test('the first words of a chunk count twice, up to a hundred letters', async (t) => {
  const countsOf = (text: string, word: string) =>
    readTermBlock(analyzeChunks([row(text)]).block)[0]!.find(({ hash }) => hash === toTermKey(word))
      ?.bodyCount;
  const filler = 'nineletter '.repeat(9);
  t.equal(countsOf(`herring ${filler}`, 'herring'), 2, 'at the beginning');
  t.equal(countsOf(`${filler} herrings${'x'.repeat(12)} trout`, 'trout'), 1, 'behind the lead');
  t.equal(countsOf(`${filler} ten tencod`, 'tencod'), 2, 'its last word');
  t.equal(countsOf(`鯡 ${filler} ten letters 鯡`, '鯡'), 3, 'characters count as words of one letter');
});

t.test('a chunk without words is not indexed, not even under its heading', async (t) => {
  const { block } = analyzeChunks([row(' \n\n', 'heading'), row('--- 👍', 'heading'), row('7', 'heading')]);
  t.same(
    readTermBlock(block).map((entries) => entries.length),
    [0, 0, 2],
  );
});

t.test('the bytes of a block match the documented format', async (t) => {
  const { block } = analyzeChunks([row('alpha alpha', 'alpha')]);
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  t.equal(new TextDecoder().decode(block.subarray(0, 4)), 'QTB1');
  t.equal(view.getUint32(4, true), 1);
  t.equal(view.getUint32(8, true), 1);
  t.equal(view.getUint32(12, true), 0, 'padding');
  t.equal(view.getBigUint64(16, true), toTermKey('alpha'));
  t.equal(view.getUint16(24, true), 4);
  t.equal(view.getUint16(26, true), 1);
  t.equal(view.getUint32(28, true), 0, 'reserved');
  t.equal(block.byteLength, 32);
});

t.test('a document without chunks has an empty block', async (t) => {
  t.same(readTermBlock(analyzeChunks([]).block), []);
});

t.test('entries ascend, are unique, and blocks do not depend on earlier input', async (t) => {
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 40; round += 1) {
    const rows = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
      row(
        randomMixedText(random, Math.floor(random() * 2_500)),
        randomMixedText(random, Math.floor(random() * 100)),
      ),
    );
    const first = analyzeChunks(rows);
    for (const entries of readTermBlock(first.block)) {
      for (let index = 1; index < entries.length; index += 1) {
        if (entries[index]!.hash <= entries[index - 1]!.hash) t.fail(`round ${round}: order`);
      }
      if (entries.some(({ bodyCount, prefixCount }) => bodyCount + prefixCount === 0))
        t.fail(`round ${round}: count`);
    }
    if (!Buffer.from(first.block).equals(Buffer.from(analyzeChunks(rows).block)))
      t.fail(`round ${round}: repeat`);
  }
  t.pass('40 random documents');
});

t.test('the count of a term is at most 65,535', async (t) => {
  const [entries] = readTermBlock(analyzeChunks([row('x '.repeat(70_000))]).block);
  t.same(entries, [{ hash: toTermKey('x'), bodyCount: 65_535, prefixCount: 0 }]);
});

t.test('a document of several languages is stemmed row by row', async (t) => {
  const { languages } = analyzeChunks([
    row(languageSamples.de),
    row(languageSamples.fr),
    row('天地玄黄宇宙洪荒'),
    row(languageSamples.en),
  ]);
  t.same([languages[0], languages[1], languages[3]], ['de', 'fr', 'en']);
});

t.test('a row of unclear language takes the language of its document', async (t) => {
  const { languages } = analyzeChunks([
    row(languageSamples.de),
    row(languageSamples.de),
    row('Häuser 120 Straßen 80'),
  ]);
  t.equal(languages[2], 'de');
});

t.test('the declared language of a document applies only where its words are undecided', async (t) => {
  t.same(analyzeChunks([row('Häuser Straßen')], 'de-DE').languages, ['de']);
  t.same(analyzeChunks([row(languageSamples.fr)], 'en-US').languages, ['fr']);
  t.same(analyzeChunks([row('Häuser Straßen')]).languages, [null]);
});

t.test('more distinct words than the cache holds are analyzed the same', async (t) => {
  const words = Array.from(
    { length: limits.wordCacheEntriesMax + 5_000 },
    (_, index) => `w${index.toString(36)}q`,
  );
  const rows = Array.from({ length: Math.ceil(words.length / 1_000) }, (_, index) =>
    row(words.slice(index * 1_000, (index + 1) * 1_000).join(' ')),
  );
  const blocks = readTermBlock(analyzeChunks(rows).block);
  t.ok(blocks.at(0)?.some(({ hash }) => hash === toTermKey(words[0]!)));
  t.ok(blocks.at(-1)?.some(({ hash }) => hash === toTermKey(words.at(-1)!)));
});

t.test('invalid blocks are rejected', async (t) => {
  const { block } = analyzeChunks([row('alpha beta')]);
  t.throws(() => readTermBlock(block.subarray(0, 4)), AssertionError);
  t.throws(() => readTermBlock(block.subarray(0, block.length - 8)), AssertionError);
  t.throws(() => readTermBlock(Buffer.concat([block, new Uint8Array(8)])), AssertionError);
  t.throws(() => readTermBlock(new Uint8Array(64)), AssertionError);
});

t.test('a row larger than any chunk fails an assertion', async (t) => {
  t.throws(() => analyzeChunks([row('x'.repeat(limits.analyzedRowUnitsMax + 1))]), AssertionError);
});
