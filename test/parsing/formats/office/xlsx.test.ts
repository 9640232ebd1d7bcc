import t from '../../../support/tap.ts';
import { buildXlsx, relationsPart } from '../../office-fixtures.ts';
import { parseInProcess } from '../../parse-in-process.ts';

t.test('XLSX: unordered pages of rows that never span sheets', async (t) => {
  const rows = Array.from({ length: 300 }, (_, i) => [`item ${i}`, i, i % 2 === 0]);
  const document = await parseInProcess(
    buildXlsx([
      {
        name: 'Sheet1',
        rows: [
          ['when', 'what', { inline: 'in place' }],
          [{ date: 45_000 }, null, 0.1],
        ],
      },
      { name: 'Stock', rows },
    ]),
  );
  t.match(document, { kind: 'xlsx', unordered: true });
  t.equal(document.pages[0], 'when\twhat\tin place\n2023-03-15\t0.1');
  t.match(document.pages[1], /^Stock\nitem 0\t0\tTRUE\nitem 1\t1\tFALSE/);
  t.ok(document.pages.every((page) => page.length <= 2_000));
  t.equal(document.pages.slice(1).join('\n').split('\n').length, 301);
});

t.test('XLSX: a cell merged over rows is repeated in each of them', async (t) => {
  const cell = (place: string, text: string) => `<c r="${place}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const sheet = (ranges: string[]) =>
    `<worksheet><sheetData><row r="1">${cell('A1', 'fruit')}${cell('B1', 'apple')}</row>` +
    `<row r="2">${cell('B2', 'pear')}</row><row r="3"><c r="A3"/></row><row r="5">${cell('B5', 'plum')}${cell('C5', 'ripe')}</row>` +
    `<row r="6">${cell('B6', 'stone')}</row></sheetData><mergeCells>${ranges.map((range) => `<mergeCell ref="${range}"/>`).join('')}</mergeCells></worksheet>`;
  const rows = async (...ranges: string[]) => {
    const parts = { 'xl/worksheets/sheet1.xml': sheet(ranges) };
    return (await parseInProcess(buildXlsx([{ name: 'Sheet1', rows: [] }], { parts }))).pages[0]?.split('\n');
  };
  t.same(await rows('A1:A5'), ['fruit\tapple', 'fruit\tpear', 'fruit\tplum\tripe', 'stone']);
  t.same(
    await rows('A1:C1', 'C5:D6'),
    ['fruit\tapple', 'pear', 'plum\tripe', 'stone\tripe'],
    'columns are not repeated',
  );
});

t.test('XLSX: text boxes and charts of a sheet follow its rows', async (t) => {
  const drawing =
    '<xdr:wsDr xmlns:xdr="u" xmlns:a="a"><xdr:sp><xdr:txBody><a:p><a:r><a:t>A remark</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>';
  const chart =
    '<c:chart xmlns:c="c" xmlns:a="a"><c:title><a:p><a:r><a:t>Growth</a:t></a:r></a:p></c:title></c:chart>';
  const bytes = buildXlsx([{ name: 'Sheet1', rows: [['x']] }], {
    parts: {
      'xl/worksheets/_rels/sheet1.xml.rels': relationsPart([['rId1', 'drawing', '../drawings/drawing1.xml']]),
      'xl/drawings/drawing1.xml': drawing,
      'xl/drawings/_rels/drawing1.xml.rels': relationsPart([['rId1', 'chart', '../charts/chart1.xml']]),
      'xl/charts/chart1.xml': chart,
    },
  });
  t.same((await parseInProcess(bytes)).pages, ['x', 'A remark\nGrowth']);
  const damaged = buildXlsx([{ name: 'Sheet1', rows: [['x']] }], {
    parts: {
      'xl/worksheets/_rels/sheet1.xml.rels': relationsPart([['rId1', 'drawing', '../drawings/drawing1.xml']]),
      'xl/drawings/drawing1.xml': drawing.slice(0, 100),
    },
  });
  t.match(await parseInProcess(damaged), {
    pages: ['x'],
    warnings: [/damaged drawings of sheet Sheet1/],
  });
});

t.test('XLSX: number formats for dates and decimals are applied', async (t) => {
  const codes = ['dd/mm/yyyy', '0.0%', '#,##0.00 [$€-407]', '[h]:mm', '"100%"0', '0.0%;[Red]-0.0%'];
  const formats = codes.map(
    (code, i) => `<numFmt numFmtId="${200 + i}" formatCode="${code.replaceAll('"', '&quot;')}"/>`,
  );
  const styles = [9, 10, 200, 201, 202, 203, 204, 205].map((id) => `<xf numFmtId="${id}"/>`).join('');
  const values = [0.25, 0.1234, 45_000, 0.07, 1_234.5, 0.75, 5, -0.031];
  const cells = values.map((value, i) => `<c s="${i}"><v>${value}</v></c>`).join('');
  const parts = {
    'xl/styles.xml': `<styleSheet><numFmts>${formats.join('')}</numFmts><cellXfs>${styles}</cellXfs></styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row>${cells}<c t="d"><v>2023-05-06</v></c></row></sheetData></worksheet>`,
  };
  const shown = '25%\t12.34%\t2023-03-15\t7%\t1234.5\t18:00:00\t5\t-3.1%\t2023-05-06';
  t.same((await parseInProcess(buildXlsx([{ name: 'Sheet1', rows: [] }], { parts }))).pages, [shown]);
});
