import t from '../../support/tap.ts';
import type { PlacedText } from '../pdf-fixtures.ts';
import { column, parsePdf, prose } from './placed-text-fixtures.ts';

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
