import {
  buffersOf,
  countTexts,
  eachText,
  packTexts,
  textOf,
  unpackTexts,
} from '../../src/core/packed-texts.ts';
import t from '../support/tap.ts';

t.test('unpacked texts equal the packed ones', async (t) => {
  for (const texts of [[], [''], ['a', '', 'é😀', 'x'.repeat(100_000)]]) {
    const packed = packTexts(texts);
    t.same(unpackTexts(packed), texts);
    t.same(Array.from(eachText(packed), textOf), texts);
    t.equal(countTexts(packed), texts.length);
    t.equal(countTexts(texts), texts.length);
    t.equal(packed.block.byteLength, packed.block.buffer.byteLength);
    t.same(buffersOf(packed), [packed.block.buffer, packed.lengths.buffer]);
  }
  t.same(buffersOf(['a']), []);
});

t.test('a lone surrogate becomes a replacement character', async (t) => {
  t.same(unpackTexts(packTexts(['a\ud800b'])), ['a\ufffdb']);
});
