import t from '../../support/tap.ts';
import type { PlacedText } from '../pdf-fixtures.ts';
import { column, parsePdf, prose } from './placed-text-fixtures.ts';

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
    name: 'with rows at different heights',
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
