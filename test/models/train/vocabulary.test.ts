import { trainVocabulary } from '../../../models/train/vocabulary.ts';
import { WordPiece } from '../../../src/text/wordpiece.ts';
import t from '../../support/tap.ts';

const counts = new Map([
  ['low', 50],
  ['lower', 30],
  ['lowest', 20],
  ['new', 40],
  ['newer', 25],
  ['rare', 1],
]);

t.test('frequent words and endings become pieces; every word is restored from its pieces', async (t) => {
  const vocabulary = trainVocabulary(counts, 40);
  for (const piece of ['[UNK]', 'low', 'new', '##er']) t.ok(vocabulary.includes(piece), piece);
  const pieces = new WordPiece(vocabulary);
  for (const word of ['lowest', 'newest', 'slow', 'towel']) {
    t.equal(pieces.decode(pieces.encode(word)), word);
  }
});

t.test('the size is a bound, and the vocabulary does not depend on the order of words', async (t) => {
  t.equal(trainVocabulary(counts, 25).length, 25);
  t.same(trainVocabulary(new Map([...counts].reverse()), 40), trainVocabulary(counts, 40));
});
