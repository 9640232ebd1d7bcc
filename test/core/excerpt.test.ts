import { findBestSentence, splitHighlights } from '../../src/core/excerpt.ts';
import t from '../support/tap.ts';

/** The best sentence itself. */
function bestSentence(text: string, wordsOfTerms: readonly (readonly string[])[]): string | null {
  const span = findBestSentence(text, wordsOfTerms);
  return span === null ? null : text.slice(span.start, span.end);
}

t.test('the sentence with most query terms is found behind a long introduction', async (t) => {
  const introduction = 'This agreement is made between the parties.\n'.repeat(40);
  const answer = 'The initial term of this\nagreement is sixty (60) months from the effective date.';
  const contract = `${introduction}\n3. TERM AND TERMINATION\n3.1 Initial Term\n${answer} Either party may terminate it. A renewal term is one year.`;
  const words = [
    ['Initial', 'initial'],
    ['Term', 'TERM', 'term'],
  ];
  t.equal(bestSentence(contract, words), answer);
});

t.test('sentences end at full stops, blank lines, list items and headings', async (t) => {
  const cases: [string, string, string][] = [
    ['One day. Two nights (No. 5 is open). Three.', 'nights', 'Two nights (No. 5 is open).'],
    ['Art. 7 and e.g. Berlin count. Others do not.', 'Berlin', 'Art. 7 and e.g. Berlin count.'],
    ['Price list\n\nApples are\nred', 'red', 'Apples are\nred'],
    ['# Fees\n- Apples: 2\n- Pears: 3', 'Pears', '- Pears: 3'],
    ['Payment Terms\nInvoices are due\nin 30 days', 'due', 'Invoices are due\nin 30 days'],
    ['まず読む。次に払う。最後に終わる。', '払う', '次に払う。'],
    ['He said “Stop.” Then he left', 'left', 'Then he left'],
    ['Only one', 'one', 'Only one'],
  ];
  for (const [text, word, sentence] of cases) t.equal(bestSentence(text, [[word]]), sentence, text);
});

t.test('rare terms count more, a figure decides between equal sentences, a heading comes last', async (t) => {
  t.equal(
    bestSentence('Rent is due. Rent is low. Rent is paid monthly. The deposit is high.', [
      ['Rent'],
      ['deposit'],
    ]),
    'The deposit is high.',
  );
  t.equal(bestSentence('Rent is due soon. Rent is 900 euros.', [['Rent']]), 'Rent is 900 euros.');
  t.equal(
    bestSentence('Notice Period\n\nThe notice period is long.', [
      ['Notice', 'notice'],
      ['Period', 'period'],
    ]),
    'The notice period is long.',
  );
});

t.test('a text without matches has no best sentence, and a long one is cut at a space', async (t) => {
  t.equal(bestSentence('Nothing here.', [['rent']]), null);
  t.equal(bestSentence('Nothing here.', []), null);
  t.equal(bestSentence('', [['rent']]), null);
  const table = `${'cell '.repeat(300)}rent ${'cell '.repeat(300)}`;
  const found = bestSentence(table, [['rent']]) ?? '';
  t.match(found, /\brent\b/);
  t.ok(found.length <= 400, `${found.length}`);
});

t.test('exactly the words are highlighted, and no text is lost', async (t) => {
  const cases: [string, string[], string[]][] = [
    ['The term ends; terms end; terminate', ['term', 'terms'], ['term', 'terms']],
    ['day daylight days', ['day'], ['day']],
    ['Ein Gerät, Geräte', ['Gerät'], ['Gerät']],
    ['C++ and C', ['C++'], ['C++']],
    ['<b>refund</b>', ['refund'], ['refund']],
    ['人工智能', ['人工', '智能'], ['人工智能']],
    ['nothing here', ['refund', ''], []],
    ['nothing here', [], []],
  ];
  for (const [text, words, found] of cases) {
    const parts = splitHighlights(text, words);
    t.same(
      parts.filter(({ isHighlighted }) => isHighlighted).map((part) => part.text),
      found,
      text,
    );
    t.equal(parts.map((part) => part.text).join(''), text);
  }
});

t.test('words of scripts without spaces may overlap and touch other scripts', async (t) => {
  const highlights = (text: string, words: readonly string[]) =>
    splitHighlights(text, words)
      .filter(({ isHighlighted }) => isHighlighted)
      .map((part) => part.text);
  t.same(highlights('退款政、退款', ['退款', '款政']), ['退款政', '退款']);
  t.same(highlights('用Python编程', ['Python', '编程']), ['Python编程']);
  t.same(highlights('Pythons Python', ['Python', '编程']), ['Python']);
});
