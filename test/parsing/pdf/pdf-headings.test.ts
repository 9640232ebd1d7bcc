import { chunkDocument } from '../../../src/chunking/chunk-document.ts';
import t from '../../support/tap.ts';
import { parseInProcess } from '../parse-in-process.ts';
import { buildPdf } from '../pdf-fixtures.ts';
import { column, parsePdf, prose } from './placed-text-fixtures.ts';

t.test('headings are detected by their font, and provide the title and the chunk headings', async (t) => {
  const page = [
    { text: 'How rivers shape the land', x: 60, y: 740, size: 24 },
    ...column(prose('A', 8, 80), 60, 700),
    { text: 'The upper course', x: 60, y: 580, size: 15 },
    ...column(prose('B', 8, 80), 60, 555),
    { text: 'Waterfalls', x: 60, y: 440, bold: true },
    ...column(prose('C', 12, 80), 60, 420),
  ];
  const document = await parsePdf([page]);
  t.match(document, { headings: true, title: 'How rivers shape the land' });
  const headings = document.pages[0]!.split('\n').filter((line) => line.startsWith('#'));
  t.same(headings, ['# How rivers shape the land', '## The upper course', '#### Waterfalls']);
  const { chunks } = chunkDocument({ ...document, path: 'rivers.pdf', pages: document.pages });
  t.match(chunks.at(-1)?.prefix, /How rivers shape the land/);
});

t.test(
  'lines in a font with tall character boxes are not headings, and a line in large type is',
  async (t) => {
    const type = (font: string, size: number, y: number, text: string) =>
      `BT /${font} ${size} Tf 60 ${y} Td (${text}) Tj ET`;
    const content = `${type('H', 22, 700, 'Large type')} ${type('H', 11, 400, 'quarry build first')}`;
    const body = prose('A', 16, 80).map((text, i) => type('F1', 11, 660 - 14 * i, text));
    const { pages } = await parseInProcess(
      buildPdf([''], {
        contents: [`${body.join('\n')} /X Do`],
        resources: '/XObject<</X 1000 0 R>>',
        objects: [
          `<</Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</H 1001 0 R>>>>/Length ${content.length}>>stream\n${content}\nendstream`,
          '<</Type/Font/Subtype/TrueType/BaseFont/High/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 32/Widths[300]/FontDescriptor 1002 0 R>>',
          '<</Type/FontDescriptor/FontName/High/Flags 32/Ascent 0/Descent 0/FontBBox[-1020 -462 1792 1232]/MissingWidth 600>>',
        ],
      }),
    );
    t.match(pages[0], /^#+ Large type$/m);
    t.match(pages[0], /^quarry build first$/m);
  },
);

t.test('the outline determines the headings and their levels', async (t) => {
  const chapter = (title: string) => [{ text: title, x: 60, y: 740 }, ...column(prose('A', 20, 80), 60, 715)];
  const outline = ['Introduction', 'Methods of measurement', 'Results'].map((title, page) => ({
    title,
    page,
  }));
  const document = await parsePdf(
    [chapter('1 Introduction'), chapter('2 Methods of measurement'), chapter('3 Results')],
    { outline, title: 'A thesis' },
  );
  t.equal(document.title, 'A thesis');
  t.match(document.pages, [/^# 1 Introduction\n/, /^# 2 Methods of measurement\n/, /^# 3 Results\n/]);
});
