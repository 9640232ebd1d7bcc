import { editLines, LineTextBuilder, replaceInLines, trimLines } from '../../src/parsing/line-text.ts';
import { cleanPageText } from '../../src/parsing/page-text.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';

const random = createTestRandom();
const linesOf = ({ text, edges }: { readonly text: string; readonly edges: readonly number[] }) =>
  Array.from({ length: edges.length / 2 }, (_, i) => text.slice(edges[2 * i], edges[2 * i + 1]));

t.test('each line keeps its own letters through the cleaning of a page', async (t) => {
  const builder = new LineTextBuilder();
  const lines = [
    '  Herring\u0007 season ',
    'soft her\u00ad',
    'ring and hard her\ufffe',
    'ring \ufb01sh\t',
    '\u0001',
    'salted \ufdfa 🐟.',
  ];
  for (const [i, line] of lines.entries()) {
    if (i > 0) builder.add(i === 4 ? '\n\n\n\n' : '\n');
    builder.addLine(line);
  }
  const cleaned = cleanPageText(builder);
  t.equal(
    cleaned.text,
    `Herring season\nsoft herring and hard herring fish\n\nsalted ${'\ufdfa'.normalize('NFKC')} 🐟.`,
  );
  t.same(linesOf(cleaned), [
    'Herring season',
    'soft her',
    'ring and hard her',
    'ring fish',
    '',
    `salted ${'\ufdfa'.normalize('NFKC')} 🐟.`,
  ]);
});

t.test(
  `replacements give the text of String.replace and move no letter to another line, seed ${random.seed}`,
  async (t) => {
    const patterns = [
      [/-\n/g, ''],
      [/[ \t]+$/gm, ''],
      [/\n{3,}/g, '\n\n'],
      [/b+/g, 'BBBB'],
      [/\n/g, ' '],
    ] as const;
    for (let round = 0; round < 300; round++) {
      const builder = new LineTextBuilder();
      // Letters that no pattern matches show the line of their text.
      for (let i = 0; i < 6; i++) {
        const mark =
          String.fromCharCode(0x41 + i).toLowerCase() === 'b' ? 'z' : String.fromCharCode(0x61 + i);
        const parts = Array.from(
          { length: 1 + random.below(5) },
          () => [mark, 'b', ' ', '-', ''][random.below(5)]!,
        );
        builder.addLine(parts.join(''));
        builder.add(['\n', '\n\n\n', ' '][random.below(3)]!);
      }
      let lineText = { text: builder.text, edges: builder.edges as readonly number[] };
      const marks = (line: string) => line.replace(/[^ac-fz]/g, '');
      const before = linesOf(lineText).map(marks);
      for (const [pattern, replacement] of patterns) {
        const expected = lineText.text.replace(pattern, replacement);
        lineText = replaceInLines(lineText, pattern, replacement);
        if (lineText.text !== expected) t.equal(lineText.text, expected);
      }
      lineText = trimLines(lineText);
      t.same(linesOf(lineText).map(marks), before);
      const { edges } = lineText;
      t.same(
        edges,
        edges.toSorted((a, b) => a - b),
        'ranges stay in order',
      );
    }
  },
);

t.test('parts of lines, joined lines and removed hyphens', async (t) => {
  const builder = new LineTextBuilder();
  builder.addLine('Name | her-', [
    { start: 0, end: 4 },
    { start: 7, end: 11 },
  ]);
  builder.removeLastUnit();
  builder.addLine('ring');
  const page = new LineTextBuilder();
  page.add('# ');
  page.addLines(builder);
  t.equal(page.text, '# Name | herring');
  t.same(linesOf(page), ['Name', 'her', 'ring']);
  t.same(editLines(page, []), { text: page.text, edges: page.edges });
});
