import t from '../../support/tap.ts';
import type { PlacedText } from '../pdf-fixtures.ts';
import { column, parsePdf, prose, wording } from './placed-text-fixtures.ts';

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

t.test('footnotes of a column follow the text of the page', async (t) => {
  const left = [
    ...column(prose('L', 18, 46), 50, 700),
    ...column(['1 N1 a note in small type', 'N2 that goes on'], 50, 440, { size: 8 }),
  ];
  const page = interleaved(left, column(prose('R', 22, 46), 320, 700));
  t.equal(markerOrder((await parsePdf([page])).pages[0]!), `${numbered('L', 18)} ${numbered('R', 22)} N1 N2`);
});
