import { CitationParser, type CitedSentence } from '../../src/services/citation-parser.ts';
import t from '../support/tap.ts';

/** Sentences of a text that arrives in pieces of this many units. */
function parse(text: string, pieceUnits: number): CitedSentence[] {
  const parser = new CitationParser();
  const sentences: CitedSentence[] = [];
  for (let at = 0; at < text.length; at += pieceUnits)
    sentences.push(...parser.push(text.slice(at, at + pieceUnits)));
  return [...sentences, ...parser.end()];
}

const cases: readonly (readonly [string, ...(readonly [string, ...number[]])[]])[] = [
  ['Refunds take 5 days [1]. They are paid [2][3].', ['Refunds take 5 days.', 1], ['They are paid.', 2, 3]],
  ['Refunds take 5 days. [1] They are paid. [2][3]', ['Refunds take 5 days.', 1], ['They are paid.', 2, 3]],
  ['It is 3.5 percent [1].[2] Fine [1, 2].', ['It is 3.5 percent.', 1, 2], ['Fine.', 1, 2]],
  [
    'Dr. Smith said so [1]. See e.g. Fig. 3 there [2].',
    ['Dr. Smith said so.', 1],
    ['See e.g. Fig. 3 there.', 2],
  ],
  [
    'Am 3. März endet die Frist von z. B. 14 Tagen [1].',
    ['Am 3. März endet die Frist von z. B. 14 Tagen.', 1],
  ],
  ['At most 14. [1] Shipping is free [2].', ['At most 14.', 1], ['Shipping is free.', 2]],
  ['- One item [1]\n- Two items [2].\n', ['- One item', 1], ['- Two items.', 2]],
  ['[1] One line.\n[2] Another line.\n', ['One line.', 1], ['Another line.', 2]],
  ['A line.\n[1][2]\nAnother line.', ['A line.', 1, 2], ['Another line.']],
  ['日本語です[1]。次の文です[2]。', ['日本語です。', 1], ['次の文です。', 2]],
  ['No number. A [x] and [] and [12345] stay [1][1].', ['No number.'], ['A [x] and [] and [12345] stay.', 1]],
  ['An open bracket [1', ['An open bracket [1']],
  ['The value [1]x is odd.', ['The value x is odd.', 1]],
  ['[1]'],
  [' \n '],
  [''],
];

t.test('a citation belongs to the sentence before it, however the text is cut into pieces', async (t) => {
  for (const [text, ...expected] of cases)
    for (const units of [1, 2, 3, 7, 1_000])
      t.same(
        parse(text, units).map((sentence) => [sentence.text, ...sentence.numbers]),
        expected,
        `${JSON.stringify(text)} in pieces of ${units}`,
      );
});

t.test('sentences are returned as soon as they are complete', async (t) => {
  const parser = new CitationParser();
  t.same(parser.push('One sentence [1]. '), []);
  t.same(parser.push('The next sentence begins '), [{ text: 'One sentence.', numbers: [1] }]);
  t.same(parser.end(), [{ text: 'The next sentence begins', numbers: [] }]);
});

t.test('a text without sentences is examined a few times per doubling', async (t) => {
  const parser = new CitationParser();
  const { segment } = Intl.Segmenter.prototype;
  let examined = 0;
  Intl.Segmenter.prototype.segment = function count(text) {
    examined += 1;
    return segment.call(this, text);
  };
  t.teardown(() => {
    Intl.Segmenter.prototype.segment = segment;
  });
  for (let i = 0; i < 65_536; i += 1) parser.push('x');
  t.ok(examined < 150, `${examined} times`);
  t.equal(parser.end().length, 1);
});
