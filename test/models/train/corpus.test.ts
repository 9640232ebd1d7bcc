import { readPassages, splitSentences } from '../../../models/train/corpus.ts';
import t from '../../support/tap.ts';

t.test('sentences end where a new one begins, and long ones are cut at a space', async (t) => {
  const cases: [string, string[]][] = [
    ['One. Two? Three!', ['One.', 'Two?', 'Three!']],
    [
      'He paid 3.50 at 5 p.m. in town. "Why?" she asked.',
      ['He paid 3.50 at 5 p.m. in town.', '"Why?" she asked.'],
    ],
    ['', []],
  ];
  for (const [text, sentences] of cases) t.same(splitSentences(text), sentences);
  const long = splitSentences('word '.repeat(500));
  t.ok(long.every((sentence) => sentence.length <= 600 && !/^ord/.test(sentence)));
  t.equal(long.join(' '), 'word '.repeat(500).trim());
});

t.test('a missing source is named', async (t) => {
  await t.rejects(readPassages(t.testdir()).next(), /has no wikipedia-en\.jsonl, .*\.gz or .*\.xz/);
});
