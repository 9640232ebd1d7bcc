import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Range {
  readonly start: number;
  readonly end: number;
}

const { findCitedSentence } = await importWebModule<{
  findCitedSentence: (content: string, sentence: string) => Range | null;
}>('pages/answers/cited-sentence.ts');

const find = (content: string, sentence: string) => {
  const range = findCitedSentence(content, sentence);
  return range === null ? null : content.slice(range.start, range.end);
};

t.test('the sentence of the snippet with the words of the answer is found', async (t) => {
  const content =
    'The shop is open on all days.\n\nRefunds are paid within fourteen days of the return. The label is free of charge.';
  t.equal(
    find(content, 'refunds are paid within 14 days.'),
    'Refunds are paid within fourteen days of the return.',
  );
  t.equal(find(content, 'You pay nothing for the LABEL.'), 'The label is free of charge.');
  t.equal(find(content, 'Quartz.'), null);
  t.equal(
    find('返金は十四日以内に行われます。店は毎日開いています。', '返金は十四日以内です。'),
    '返金は十四日以内に行われます。',
  );
});

t.test('lines of a page belong to a sentence only if each has a rectangle', async (t) => {
  const { strongLines } = await importWebModule<{
    strongLines: (
      text: string,
      lines: { readonly cited: Range; readonly sentence: Range; readonly count: number },
    ) => Set<number>;
  }>('pages/passage.ts');
  const text = 'One line\nRefunds are\n\npaid late.\nLast';
  const cited = { start: 0, end: text.length };
  const sentence = { start: text.indexOf('Refunds'), end: text.indexOf('\nLast') };
  t.same([...strongLines(text, { cited, sentence, count: 4 })], [1, 2]);
  t.same([...strongLines(text, { cited, sentence, count: 5 })], [], 'a line without a rectangle');
});
