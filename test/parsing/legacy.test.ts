import t from 'tap';
import { ParseFailure } from '../../src/parsing/parse-failure.ts';
import { compoundFileOf } from './compound-fixtures.ts';
import { bitFlipped, truncated } from './fixtures.ts';
import { doc, ppt, word6, xls } from './legacy-fixtures.ts';
import { failure, parsed } from './parsed.ts';

const sampleDoc = doc(
  [
    { text: 'A report', style: 62 },
    { text: 'First part', style: 1 },
    { text: 'Gr\xfc\xdfe und \u6771\u4eac \x13 PAGE \x14' + '7\x15' },
    { text: 'hidden words', hidden: true },
    { text: 'a', end: 'cell' },
    { text: '', end: 'cell' },
    { text: '', end: 'row' },
    { text: 'two\vlines', end: 'page' },
    { text: 'Second page' },
  ],
  { title: 'The title', footnotes: 'The note' },
);

t.test('a DOC keeps its order, headings, tables and notes without any other program', async (t) => {
  const document = await parsed(sampleDoc, 'a.bin');
  t.match(document, { kind: 'doc', title: 'The title', headings: true, contentType: 'application/msword' });
  t.same(document.pages, [
    '# A report\n\n# First part\n\nGrüße und 東京 7\na | \ntwo\nlines',
    'Second page',
    'The note',
  ]);
  t.same((await parsed(word6('Old\rtext \xfc\r'))).pages, ['Old\ntext ü']);
});

t.test('an XLS becomes unordered pages of rows that never span sheets', async (t) => {
  const rows = Array.from({ length: 400 }, (_, i) => [`item number ${i}`, i, i % 2 === 0]);
  const bytes = xls(
    [
      {
        name: 'Sheet1',
        rows: [
          ['when', 'was\nit'],
          [{ date: 45_000 }, null, 0.5, { formula: 'text' }, { formula: 2.5 }],
        ],
      },
      { name: 'Lager ü', rows },
    ],
    { title: 'Stock' },
  );
  const document = await parsed(bytes);
  t.match(document, {
    kind: 'xls',
    unordered: true,
    title: 'Stock',
    contentType: 'application/vnd.ms-excel',
  });
  t.equal(document.pages[0], 'when\twas it\n2023-03-15\t0.5\ttext\t2.5');
  t.match(document.pages[1], /^Lager ü\nitem number 0\t0\tTRUE\nitem number 1\t1\tFALSE/);
  t.match(document.pages.at(-1), /item number 399\t399\tFALSE$/);
  t.ok(document.pages.every((page) => page.length <= 2_000));
});

t.test('a PPT has one page per slide in show order, with its title and notes', async (t) => {
  const document = await parsed(
    ppt([
      { title: 'Opening \u2013 東', body: ['First\rSecond', '*'], notes: 'Speak slowly' },
      { body: ['No title'] },
    ]),
  );
  t.match(document, {
    kind: 'ppt',
    title: 'Opening \u2013 東',
    contentType: 'application/vnd.ms-powerpoint',
  });
  t.same(document.pages, ['# Opening \u2013 東\n\nFirst\nSecond\n\nSpeak slowly', 'No title']);
});

t.test('encrypted and damaged Office files of 97-2003 say what is wrong with them', async (t) => {
  const cases: [string, Uint8Array, string, RegExp][] = [
    ['a DOC with a password', doc([{ text: 'x' }], { encrypted: true }), 'encrypted', /password/],
    ['an XLS with a password', xls([], { encrypted: true }), 'encrypted', /password/],
    ['a PPT with a password', ppt([{ title: 'x' }], { encrypted: true }), 'encrypted', /password/],
    [
      'a DOC without tables',
      compoundFileOf({ WordDocument: Buffer.from(`\xec\xa5${'\0'.repeat(900)}`, 'latin1') }),
      'corrupt',
      /tables/,
    ],
    [
      'a DOC that is cut',
      compoundFileOf({ WordDocument: Buffer.from('\xec\xa5\0', 'latin1') }),
      'corrupt',
      /missing/,
    ],
    [
      'a PPT without slides',
      compoundFileOf({ 'PowerPoint Document': new Uint8Array(8) }),
      'corrupt',
      /no slide/,
    ],
    [
      'a PPT without a document',
      compoundFileOf({ 'PowerPoint Document/x': new Uint8Array(8) }),
      'corrupt',
      /missing/,
    ],
  ];
  for (const [name, bytes, code, sentence] of cases)
    t.match(await failure(bytes), { code, message: sentence }, name);
});

t.test(
  'cut and bit-flipped Office files of 97-2003 never end as anything but text or a failure',
  async (t) => {
    const originals: [string, Uint8Array][] = [
      ['doc', sampleDoc],
      ['xls', xls([{ name: 'S', rows: Array.from({ length: 50 }, (_, i) => [`row ${i}`, i, i / 7]) }])],
      ['ppt', ppt([{ title: 'T', body: ['one', 'two'], notes: 'n' }])],
    ];
    for (const [name, bytes] of originals) {
      const variants = [0.3, 0.6, 0.9].map((share) => truncated(bytes, share));
      for (let i = 0; i < 60; i++) variants.push(bitFlipped(bytes, 20_261_121 + i, 1 + (i % 12)));
      for (const variant of variants) {
        try {
          await parsed(variant, `a.${name}`);
        } catch (error) {
          if (!(error instanceof ParseFailure)) throw error;
          if (!/^[A-Z].*\.$/s.test(error.message)) t.fail(`${name}: ${error.code} ${error.message}`);
        }
      }
      t.pass(name);
    }
  },
);
