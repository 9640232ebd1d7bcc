import { CompoundFile } from '../../src/parsing/formats/legacy/compound-file.ts';
import { ParseFailure } from '../../src/parsing/parse-failure.ts';
import t from '../support/tap.ts';
import { flipRandomBits, truncateBytes } from './byte-fixtures.ts';
import { compoundFileOf } from './compound-fixtures.ts';
import { buildDoc, buildWord6 } from './doc-fixtures.ts';
import { parseFailureOf, parseInProcess } from './parse-in-process.ts';
import { buildPpt } from './ppt-fixtures.ts';
import { buildGraphChart, buildXls } from './xls-fixtures.ts';
import { buildZip } from './zip-fixtures.ts';

const sampleDoc = buildDoc(
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

t.test('DOC: order, headings, tables and notes are kept without external programs', async (t) => {
  const document = await parseInProcess(sampleDoc, 'a.bin');
  t.match(document, { kind: 'doc', title: 'The title', headings: true, contentType: 'application/msword' });
  t.same(document.pages, [
    '# A report\n\n# First part\n\nGrüße und 東京 7\na | \ntwo\nlines',
    'Second page',
    'The note',
  ]);
  t.same((await parseInProcess(buildWord6('Old\rtext \xfc\r'))).pages, ['Old\ntext ü']);
});

t.test('DOC: numbered clauses and lists have the numbers that Word shows', async (t) => {
  const clauses = [
    [0, '\0.', 4],
    [4, '\0.(\x01)', 1],
    [1, '\x02:', 1],
  ] as const;
  const bytes = buildDoc(
    [
      { text: 'Scope', style: 1 },
      { text: 'Terms', list: [1, 0] },
      { text: 'first', list: [1, 1] },
      { text: 'second', list: [1, 1] },
      { text: 'deep', list: [1, 2] },
      { text: 'Plain' },
      { text: 'Price', list: [1, 0], end: 'cell' },
      { text: '', end: 'row' },
      { text: 'again', list: [1, 1] },
      { text: 'bullet', list: [2, 0] },
      { text: 'restarted', list: [3, 0] },
      { text: 'unknown', list: [99, 0] },
      { text: 'Price', style: 1 },
    ],
    {
      definitions: [clauses, [[23, '\u00b7', 1]], [[2, '(\0)', 1]]],
      lists: [{ definition: 0 }, { definition: 1 }, { definition: 0, startsAt: 9 }, { definition: 2 }],
      headingList: 4,
    },
  );
  t.same((await parseInProcess(bytes)).pages, [
    '# (i) Scope\n\n4. Terms\n4.(a) first\n4.(b) second\nI: deep\nPlain\n5. Price\n5.(a) again\n- bullet\n' +
      '9. restarted\nunknown\n\n# (ii) Price',
  ]);
});

t.test('XLS: unordered pages of rows that never span sheets', async (t) => {
  const rows = Array.from({ length: 400 }, (_, i) => [`item number ${i}`, i, i % 2 === 0]);
  const bytes = buildXls(
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
  const document = await parseInProcess(bytes);
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

t.test('XLS: text boxes and charts follow the rows of their sheet, comments are skipped', async (t) => {
  const bytes = buildXls([
    {
      name: 'Sheet1',
      rows: [['x', 1]],
      chart: ['Growth \u2013 东', 'Year', 'Growth \u2013 东'],
      textBoxes: ['A box of\rtext', ''],
      comments: ['a remark'],
    },
    { name: 'Turnover', rows: [], chart: ['All years'], isChart: true },
  ]);
  t.same((await parseInProcess(bytes)).pages, ['x\t1', 'Growth – 东\nYear\nA box of text', 'All years']);
});

t.test('PPT: one page per slide in show order, with title and notes', async (t) => {
  const document = await parseInProcess(
    buildPpt([
      { title: 'Opening \u2013 東', body: ['First\rSecond', '*'], notes: 'Speak slowly' },
      { body: ['No title'], notes: '*', notesPageTexts: ['Said outside', '*'] },
    ]),
  );
  t.match(document, {
    kind: 'ppt',
    title: 'Opening \u2013 東',
    contentType: 'application/vnd.ms-powerpoint',
  });
  t.same(document.pages, [
    '# Opening \u2013 東\n\nFirst\nSecond\n\nSpeak slowly',
    'No title\n\nSaid outside',
  ]);
});

/** Chart as stored by LibreOffice. */
const openDocumentChart = buildZip({
  'content.xml':
    '<c:chart><c:title><t:p>Tons a year</t:p></c:title><a:table><a:table-row><a:table-cell><t:p>North</t:p></a:table-cell>' +
    '<a:table-cell><t:p>5</t:p></a:table-cell></a:table-row></a:table></c:chart>',
});

t.test('PPT: table rows are ordered from top to bottom, independent of the drawing order', async (t) => {
  const table = [
    ['Stone', 'Hardness'],
    ['Granite\rgrey', ''],
    ['', '3'],
    ['', ''],
  ];
  const document = await parseInProcess(buildPpt([{ title: 'Stones', table }]));
  t.same(document.pages, ['# Stones\n\nStone | Hardness\nGranite grey |\n | 3']);
});

t.test('DOC: the text of charts is placed at their anchors, and only damaged ones are skipped', async (t) => {
  const document = await parseInProcess(
    buildDoc(
      [
        { text: 'before' },
        { text: '\x13 EMBED Chart \x14\x01\x15', object: 2_147_483_647 },
        { text: 'after' },
        { text: '\x13 EMBED x \x14\x01\x15', object: 7 },
        { text: '\x13 EMBED x \x14\x01\x15', object: 8 },
      ],
      {
        objects: {
          '_2147483647/package_stream': openDocumentChart,
          '_7/Workbook': new CompoundFile(buildGraphChart(['South'], ['Price'])).read('Workbook')!,
          '_8/package_stream': Buffer.from('no package'),
        },
      },
    ),
  );
  t.same(document.pages, ['before\nTons a year\nNorth\t5\nafter\nSouth\nPrice']);
  t.match(document.warnings, [/A damaged chart or table was skipped/]);
});

t.test(
  'PPT: the text of Excel charts and tables is extracted, and only damaged ones are skipped',
  async (t) => {
    const chart = buildGraphChart(['North', 'South'], ['Tons a year']);
    const slides = [
      { title: 'Chart', object: chart, notes: 'spoken' },
      { title: 'Table', object: buildXls([{ name: 'S', rows: [['x', 1]] }]) },
      { title: 'Locked', object: buildXls([{ name: 'S', rows: [['x', 1]] }], { encrypted: true }) },
      { title: 'Picture', object: compoundFileOf({ Contents: new Uint8Array(9) }) },
      { title: 'Of LibreOffice', object: compoundFileOf({ package_stream: openDocumentChart }) },
      { title: 'Broken', object: Buffer.from('no compound file') },
    ];
    const document = await parseInProcess(buildPpt(slides));
    t.same(document.pages, [
      '# Chart\n\nNorth\nSouth\nTons a year\n\nspoken',
      '# Table\n\nx\t1',
      '# Locked',
      '# Picture',
      '# Of LibreOffice\n\nTons a year\nNorth\t5',
      '# Broken',
    ]);
    t.match(document.warnings, [/A damaged chart or table was skipped/]);
  },
);

t.test('encrypted and damaged Office 97-2003 files are rejected with the reason', async (t) => {
  const cases: [string, Uint8Array, string, RegExp][] = [
    ['an encrypted DOC', buildDoc([{ text: 'x' }], { encrypted: true }), 'encrypted', /password/],
    ['an encrypted XLS', buildXls([], { encrypted: true }), 'encrypted', /password/],
    ['an encrypted PPT', buildPpt([{ title: 'x' }], { encrypted: true }), 'encrypted', /password/],
    [
      'a DOC without tables',
      compoundFileOf({ WordDocument: Buffer.from(`\xec\xa5${'\0'.repeat(900)}`, 'latin1') }),
      'corrupt',
      /table stream/,
    ],
    [
      'a truncated DOC',
      compoundFileOf({ WordDocument: Buffer.from('\xec\xa5\0', 'latin1') }),
      'corrupt',
      /missing/,
    ],
    [
      'a PPT without slides',
      compoundFileOf({ 'PowerPoint Document': new Uint8Array(8) }),
      'corrupt',
      /none of its slides/,
    ],
    [
      'a PPT without a document',
      compoundFileOf({ 'PowerPoint Document/x': new Uint8Array(8) }),
      'corrupt',
      /missing/,
    ],
  ];
  for (const [name, bytes, code, sentence] of cases)
    t.match(await parseFailureOf(bytes), { code, message: sentence }, name);
});

t.test('truncated and bit-flipped Office 97-2003 files end as text or as a failure', async (t) => {
  const originals: [string, Uint8Array][] = [
    ['doc', sampleDoc],
    ['xls', buildXls([{ name: 'S', rows: Array.from({ length: 50 }, (_, i) => [`row ${i}`, i, i / 7]) }])],
    ['ppt', buildPpt([{ title: 'T', body: ['one', 'two'], notes: 'n' }])],
  ];
  for (const [name, bytes] of originals) {
    const variants = [0.3, 0.6, 0.9].map((share) => truncateBytes(bytes, share));
    for (let i = 0; i < 60; i++) variants.push(flipRandomBits(bytes, 20_261_121 + i, 1 + (i % 12)));
    for (const variant of variants) {
      try {
        await parseInProcess(variant, `a.${name}`);
      } catch (error) {
        if (!(error instanceof ParseFailure)) throw error;
        if (!/^[A-Z].*\.$/s.test(error.message)) t.fail(`${name}: ${error.code} ${error.message}`);
      }
    }
    t.pass(name);
  }
});
