import t from 'tap';
import { chunkDocument } from '../../src/chunking/chunk-document.ts';
import { defaultParseLimits } from '../../src/parsing/limits.ts';
import { parseDocument } from '../../src/parsing/parse.ts';
import { buildLines } from '../../src/parsing/pdf/pdf-lines.ts';
import { buildPieces } from '../../src/parsing/pdf/pdf-pieces.ts';
import type { ParsedDocument } from '../../src/parsing/process/parse-task.ts';
import { buildPdf, buildPdfWithPlacedText, type PdfOptions, type PlacedText } from './fixtures.ts';

async function parsePdf(
  pages: readonly (readonly PlacedText[])[],
  options: PdfOptions = {},
): Promise<ParsedDocument> {
  return await read(buildPdfWithPlacedText(pages, options));
}

async function read(pdf: Uint8Array): Promise<ParsedDocument> {
  const stream = parseDocument(pdf, null, defaultParseLimits);
  const texts: string[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return { ...step.value, pages: texts };
    texts.push(step.value);
  }
}

/** Fonts with a known size and no other properties. */
const fonts = { isBold: () => false, typeSize: () => 11 };

const wording =
  'the quick brown fox jumps over the lazy dog while seven old wizards make toxic brew for the evil queen and jack';

/** Lines of text of about `units` characters; each starts with `marker` and its number to identify it. */
function prose(marker: string, count: number, units: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const words = `${wording} ${wording}`.slice(i * 4).replace(/^\S*\s/, '');
    return `${marker}${i + 1} ${words.slice(0, units - 4).trim()}`;
  });
}

function column(
  lines: readonly string[],
  x: number,
  top: number,
  more: Partial<PlacedText> = {},
): PlacedText[] {
  const pitch = (more.size ?? 11) * 1.2;
  return lines.map((text, i) => ({ text, x, y: top - i * pitch, ...more }));
}

/** Markers of `prose` in order of occurrence. */
function markerOrder(text: string): string {
  return (text.match(/\b[A-Z]\d+\b/g) ?? []).join(' ');
}

const numbered = (marker: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${marker}${i + 1}`).join(' ');

/** Draws columns row by row, as many programs do. */
function interleaved(...columns: readonly PlacedText[][]): PlacedText[] {
  const longest = Math.max(...columns.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => columns.flatMap((one) => one[i] ?? [])).flat();
}

t.test('columns are read one after the other, independent of the drawing order', async (t) => {
  const left = column(prose('L', 20, 46), 50, 700);
  const right = column(prose('R', 20, 46), 320, 700);
  const expected = `${numbered('L', 20)} ${numbered('R', 20)}`;
  t.equal(markerOrder((await parsePdf([interleaved(left, right)])).pages[0]!), expected, 'drawn row by row');
  t.equal(markerOrder((await parsePdf([[...left, ...right]])).pages[0]!), expected, 'drawn column by column');
  t.equal(markerOrder((await parsePdf([[...right, ...left]])).pages[0]!), expected, 'drawn from the right');
});

t.test('text across columns keeps its position', async (t) => {
  const page = [
    { text: 'T1 A title that runs over both of the columns', x: 50, y: 740, size: 20 },
    ...interleaved(column(prose('A', 8, 46), 50, 700), column(prose('B', 8, 46), 320, 700)),
    { text: `M1 ${wording.slice(0, 100)}`, x: 50, y: 560 },
    ...interleaved(column(prose('C', 8, 46), 50, 530), column(prose('D', 8, 46), 320, 530)),
  ];
  t.equal(
    markerOrder((await parsePdf([page])).pages[0]!),
    ['T1', numbered('A', 8), numbered('B', 8), 'M1', numbered('C', 8), numbered('D', 8)].join(' '),
  );
});

t.test('three columns are detected', async (t) => {
  const columns = ['A', 'B', 'C'].map((marker, i) =>
    column(prose(marker, 12, 34), 40 + i * 185, 700, { size: 9 }),
  );
  t.equal(
    markerOrder((await parsePdf([interleaved(...columns)])).pages[0]!),
    ['A', 'B', 'C'].map((marker) => numbered(marker, 12)).join(' '),
  );
});

t.test('lines of a page with one column and of a form are not split', async (t) => {
  const lines = prose('A', 30, 90);
  t.same((await parsePdf([column(lines, 60, 720)])).pages, [lines.join('\n')]);
  const form = [
    ...interleaved(
      column(['Name:', 'Date of birth:', 'Place:', 'Signature:'], 60, 600, { size: 10 }),
      column(['Ada Lovelace', '10 December 1815', 'London', 'yes'], 250, 600, { size: 10 }),
    ),
  ];
  t.match(
    (await parsePdf([form])).pages[0],
    /Name:.*Ada Lovelace\nDate of birth:.*10 December 1815\nPlace:.*London/,
  );
});

t.test('table rows are lines with separated cells', async (t) => {
  const rows = [
    ['Substance', 'to air', 'to water'],
    ['Carbon dioxide', '100 million', '-'],
    ['Lead and compounds', '200', '20'],
    ['Zinc', '200', '100'],
  ];
  const cells = rows.flatMap((row, i) =>
    row.map((text, at) => ({ text, x: [60, 260, 400][at]!, y: 600 - i * 14 })),
  );
  const expected = rows.map((row) => row.join(' | ')).join('\n');
  const before = { text: 'Releases by year and medium, as reported:', x: 60, y: 640 };
  t.same((await parsePdf([[before, ...cells]])).pages, [`${before.text}\n\n${expected}`]);
  const byColumn = cells.toSorted((a, b) => a.x - b.x || b.y - a.y);
  t.same(
    (await parsePdf([[before, ...byColumn]])).pages,
    [`${before.text}\n\n${expected}`],
    'drawn by columns',
  );
});

/** Cells of a table, row by row. */
function tableAt(rows: readonly (readonly string[])[], xs: readonly number[], top: number, pitch = 14) {
  return rows.map((row, i) => row.map((text, at) => ({ text, x: xs[at]!, y: top - i * pitch })));
}

const sales = [
  ['Region', 'Sales', 'Share'],
  ['North', '1,200', '12 %'],
  ['South islands', '800', '8 %'],
  ['East', '450', '5 %'],
  ['West', '390', '4 %'],
];
const costs = [
  ['Item', 'Cost'],
  ['Rent of offices', '310'],
  ['Wages', '2,800'],
  ['Power', '95'],
  ['Post', '12'],
];
const rowsText = (rows: readonly (readonly string[])[]) => rows.map((row) => row.join(' | ')).join('\n');

/** Several tables, drawn row by row across the page. */
const acrossPage = (...tables: readonly PlacedText[][][]) =>
  (tables[0] ?? []).flatMap((_, i) => tables.flatMap((table) => table[i] ?? []));

const sideBySide: readonly { name: string; page: readonly PlacedText[]; expected: string }[] = [
  {
    name: 'drawn row by row across the page, far apart',
    page: acrossPage(tableAt(sales, [50, 170, 220], 600), tableAt(costs, [360, 460], 600)),
    expected: `${rowsText(sales)}\n\n${rowsText(costs)}`,
  },
  {
    name: 'drawn one after the other, close together',
    page: [...tableAt(sales, [50, 170, 220], 600).flat(), ...tableAt(costs, [280, 380], 600).flat()],
    expected: `${rowsText(sales)}\n\n${rowsText(costs)}`,
  },
  {
    name: 'with rows at heights of their own',
    page: acrossPage(tableAt(sales, [50, 170, 220], 600, 15), tableAt(costs, [310, 420], 593, 19)),
    expected: `${rowsText(sales)}\n\n${rowsText(costs)}`,
  },
  {
    name: 'with names above them, below text that fills the page',
    page: [
      ...column(prose('A', 20, 80), 50, 760),
      { text: 'Table 1: what came in', x: 50, y: 480 },
      { text: 'Table 2: what went out', x: 360, y: 480 },
      ...acrossPage(tableAt(sales, [50, 170, 220], 460), tableAt(costs, [360, 460], 460)),
      ...column(prose('B', 10, 80), 50, 360),
    ],
    expected: `Table 1: what came in\n\n${rowsText(sales)}\n\nTable 2: what went out\n\n${rowsText(costs)}`,
  },
  {
    name: 'three of them',
    page: acrossPage(
      tableAt(costs, [40, 130], 600),
      tableAt(costs, [240, 330], 600),
      tableAt(costs, [440, 530], 600),
    ),
    expected: [costs, costs, costs].map(rowsText).join('\n\n'),
  },
];
for (const { name, page, expected } of sideBySide) {
  t.test(`tables side by side are read one after the other: ${name}`, async (t) => {
    const [read = ''] = (await parsePdf([page])).pages;
    t.ok(read.includes(expected), read);
  });
}

t.test('a wide table stays one table despite wide gaps', async (t) => {
  const years = [
    ['Region', '2023', '2022', '2023', '2022'],
    ['North', '1,200', '1,100', '12 %', '11 %'],
    ['South', '800', '790', '8 %', '8 %'],
    ['East', '450', '470', '5 %', '5 %'],
  ];
  const cells = tableAt(years, [50, 170, 230, 420, 480], 600).flat();
  t.same((await parsePdf([cells])).pages, [rowsText(years)], 'groups of columns');
  const byColumns = cells.toSorted((a, b) => a.x - b.x || b.y - a.y);
  t.same((await parsePdf([byColumns])).pages, [rowsText(years)], 'drawn by columns');
  const people = [
    ['Name', 'Role', 'Town', 'Since'],
    ['Ada', 'Engineer', 'London', '1833'],
    ['Grace', 'Admiral', 'Arlington', '1944'],
    ['Emmy', 'Professor', 'Erlangen', '1915'],
  ];
  t.same(
    (await parsePdf([tableAt(people, [50, 170, 330, 450], 600).flat()])).pages,
    [rowsText(people)],
    'words',
  );
});

t.test('a numbered list is not a table', async (t) => {
  const items = [1, 2, 3, 4].flatMap((n) => [
    { text: `${n}.`, x: 60, y: 700 - n * 14 },
    { text: `Item number ${n} of a list`, x: 90, y: 700 - n * 14 },
  ]);
  t.same((await parsePdf([items])).pages, [
    [1, 2, 3, 4].map((n) => `${n}. Item number ${n} of a list`).join('\n'),
  ]);
});

t.test('rotated pages are read like others, and rotated text follows the rest', async (t) => {
  const lines = prose('A', 12, 60);
  const turned = lines.map((text, i): PlacedText => ({ text, x: 100 + i * 14, y: 60, quarterTurns: 1 }));
  t.same((await parsePdf([turned.toReversed()], { rotate: 90 })).pages, [lines.join('\n')], 'by 90 degrees');
  const upsideDown = lines.map((text, i): PlacedText => ({ text, x: 550, y: 100 + i * 14, quarterTurns: 2 }));
  t.same((await parsePdf([upsideDown], { rotate: 180 })).pages, [lines.join('\n')], 'by 180 degrees');
  const downwards = lines.map((text, i): PlacedText => ({ text, x: 500 - i * 14, y: 700, quarterTurns: 3 }));
  t.same((await parsePdf([downwards], { rotate: 270 })).pages, [lines.join('\n')], 'by 270 degrees');
  const stamp: PlacedText = { text: 'Received 4 May', x: 20, y: 300, quarterTurns: 1 };
  t.same((await parsePdf([[stamp, ...column(lines, 60, 700)]])).pages, [
    `${lines.join('\n')}\n\nReceived 4 May`,
  ]);
});

t.test('footnotes of a column follow the text of the page', async (t) => {
  const left = [
    ...column(prose('L', 18, 46), 50, 700),
    ...column(['1 N1 a note in small type', 'N2 that goes on'], 50, 440, { size: 8 }),
  ];
  const page = interleaved(left, column(prose('R', 22, 46), 320, 700));
  t.equal(markerOrder((await parsePdf([page])).pages[0]!), `${numbered('L', 18)} ${numbered('R', 22)} N1 N2`);
});

t.test('words drawn letter by letter or hyphenated at a line end are joined', async (t) => {
  const spaced = { text: 'CONFIDENTIAL REPORT', x: 60, y: 700, spacing: 9 };
  t.match((await parsePdf([[spaced]])).pages[0], /CONFIDENTIAL REPORT/);
  const columns = [
    ...column([...prose('L', 12, 44), 'and the last word of it is incompre-'], 50, 700),
    ...column(['hensible unless it is joined with its end', ...prose('R', 12, 44)], 320, 700),
  ];
  t.match((await parsePdf([columns])).pages[0], /word of it is incomprehensible unless/);
});

const body = (page: number) =>
  column(prose('A', 20, 80), 60, 690).map((line) => ({ ...line, text: `${page} ${line.text}` }));
const framed = (page: number, head: string, foot: string): PlacedText[] => [
  { text: head, x: 60, y: 750, size: 9 },
  ...body(page),
  { text: foot, x: 290, y: 40, size: 9 },
];

t.test('repeated headers, footers and page numbers are removed with a warning', async (t) => {
  const pages = Array.from({ length: 6 }, (_, i) =>
    framed(i + 7, i % 2 === 0 ? `${i + 7} The Annual Report` : `Chapter Two ${i + 7}`, `Page ${i + 7} of 99`),
  );
  const document = await parsePdf(pages);
  for (const [i, text] of document.pages.entries()) {
    t.same(
      text,
      body(i + 7)
        .map((line) => line.text)
        .join('\n'),
    );
  }
  t.match(document.warnings, [/removed \(12 lines\).*"Page # of #"/]);
  const roman = await parsePdf(
    ['i', 'ii', 'iii', 'iv', 'v'].map((number, i) => framed(i, 'A preface', number)),
  );
  t.notMatch(roman.pages.join('\n'), /preface|^iv$/m);
});

t.test('repeated lines that may be content are kept', async (t) => {
  const short = await parsePdf([1, 2, 3].map((page) => framed(page, 'A header', `Page ${page}`)));
  t.match(short.pages, [/A header[\s\S]*Page 1/, /A header[\s\S]*Page 2/, /A header[\s\S]*Page 3/]);
  t.same(short.warnings, []);
  const accounts = ['4711', '815', '99', '2001', '42'].map((number, i) =>
    framed(i, `Account ${number}`, `${i + 1}`),
  );
  t.match(
    (await parsePdf(accounts)).pages,
    [/4711/, /815/, /99/, /2001/, /42/],
    'numbers that do not count pages',
  );
  const titles = await parsePdf(
    [1, 2, 3, 4, 5].map((page) => [{ text: 'Agenda', x: 60, y: 740, size: 24 }, ...body(page)]),
  );
  t.equal(titles.pages.filter((text) => text.includes('Agenda')).length, 5, 'headlines');
  const tables = await parsePdf(
    [1, 2, 3, 4, 5].map((page) =>
      [0, 1, 2, 3].flatMap((row) =>
        [0, 1, 2].map((cell) => ({
          text: row === 0 ? ['Item', 'Amount', 'Price'][cell]! : `${['x', 'y', 'z'][cell]} ${page * row}`,
          x: 60 + cell * 150,
          y: 700 - row * 20,
        })),
      ),
    ),
  );
  t.equal(tables.pages.filter((text) => text.includes('Item | Amount | Price')).length, 5, 'heads of tables');
  const specimens = Array.from({ length: 8 }, (_, i) => [
    { text: 'All letters of a font', x: 60, y: 760 },
    { text: `Font ${'abcdefgh'[i]}`, x: 60, y: 730 },
    ...column(['A sample line.', 'Another one.', 'And one in between.'], 60, 700),
    { text: 'The last line of the sample', x: 60, y: 620 },
  ]);
  const same = await parsePdf(specimens);
  t.equal(
    same.pages.filter((text) => /^All letters[\s\S]*of the sample$/.test(text)).length,
    8,
    'like pages',
  );
  t.same(same.warnings, []);
});

t.test('repeated lines on alternating pages are removed', async (t) => {
  const form = (page: number) => [
    { text: 'The Annual Report', x: 60, y: 750, size: 9 },
    ...column(['Name', 'Street and number', 'Town', 'Signature'], 60, 700),
    { text: `Page ${page}`, x: 290, y: 40, size: 9 },
  ];
  const pages = Array.from({ length: 9 }, (_, i) =>
    i % 3 === 2 ? form(i) : framed(i, 'The Annual Report', `Page ${i}`),
  );
  t.notMatch((await parsePdf(pages)).pages.join('\n'), /Annual Report|Page/);
});

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
    const { pages } = await read(
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

t.test('vertical lines are read from right to left', async (t) => {
  const columns = ['あいう', '日本語', '東京都'].map((text, i) =>
    [...text].map((character, row) => ({
      code: character.codePointAt(0)!,
      left: 200 + i * 20,
      top: 700 - row * 12,
    })),
  );
  const glyphs = columns.flat();
  const numbers = (of: (glyph: { left: number; top: number }) => number) => Float32Array.from(glyphs, of);
  const box = { left: 0, right: 600, bottom: 0, top: 800 };
  const pieces = buildPieces({
    ...{ count: glyphs.length, cut: false, box, unmappedTexts: 0, fields: [] },
    codes: Uint32Array.from(glyphs, ({ code }) => code),
    generated: new Uint8Array(glyphs.length),
    left: numbers(({ left }) => left),
    right: numbers(({ left }) => left + 12),
    bottom: numbers(({ top }) => top - 12),
    top: numbers(({ top }) => top),
    angle: () => 0,
    rotatedBox: (i) => {
      const { left, top } = glyphs[i]!;
      return { left, right: left + 12, bottom: top - 12, top };
    },
    ...fonts,
  });
  t.same(
    buildLines(pieces, fonts).map(({ text }) => text),
    ['東京都', '日本語', 'あいう'],
  );
});

t.test('a Latin word keeps its position in a right-to-left line, also without a space', (t) => {
  const piece = (text: string, left: number, right: number, order: number) => ({
    ...{ text, left, right, order, bottom: 100, top: 112, height: 11, direction: 'level' as const },
    ...{ glyph: 0, lastGlyph: 0, rightToLeft: /[\u0590-\u08ff]/.test(text) },
  });
  const pieces = [
    piece('تحسين الإنتاجية بلغة', 265, 522, 0),
    piece('Python', 224, 265, 1),
    piece('من الأدوات', 150, 223.9, 2),
  ];
  const [line] = buildLines(pieces, fonts);
  t.equal(line?.text, 'تحسين الإنتاجية بلغة Python من الأدوات');
  const [end] = buildLines(pieces.slice(0, 2), fonts);
  t.equal(end?.text, 'تحسين الإنتاجية بلغة Python');
  t.end();
});
