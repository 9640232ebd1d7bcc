import { bestGutter } from './pdf-gutter.ts';
import { outOfOrder, type Piece } from './pdf-pieces.ts';
import { isDrawnApart, type PieceRow, rowsOf, usualHeight } from './pdf-rows.ts';
import { tablesApart } from './pdf-side-tables.ts';

/** Rows that belong together, from top to bottom: a page without columns, one column, a heading over columns. */
export interface Block {
  readonly rows: PieceRow[];
  /** Notes at the foot of a column, which are read after everything else. */
  readonly notes: boolean;
}

const depthMax = 8;

/**
 * Blocks in the order in which a person reads them. Columns are told apart only where lines of running text stand side by
 * side (or were drawn column by column); tables and forms stay rows.
 */
export function readingOrder(pieces: readonly Piece[]): Block[] {
  const blocks = divide(pieces, 0);
  return [...blocks.filter(({ notes }) => !notes), ...blocks.filter(({ notes }) => notes)];
}

function divide(pieces: readonly Piece[], depth: number): Block[] {
  if (pieces.length === 0) return [];
  const gutter = depth < depthMax && pieces.length >= 4 ? bestGutter(pieces) : null;
  if (gutter === null) return withTablesApart(pieces, depth);
  const parts = bandsOf(pieces, gutter);
  const columns = parts.map((band) => columnsOf(band, gutter));
  if (columns.every((one) => one === null)) return withTablesApart(pieces, depth);
  const blocks: Block[] = [];
  let waiting: Piece[] = [];
  for (const [i, band] of parts.entries()) {
    const pair = columns[i]!;
    if (pair === null) {
      waiting.push(...band);
      continue;
    }
    blocks.push(...divide(waiting, depth + 1));
    waiting = [];
    for (const column of pair) blocks.push(...withNotes(divide(column, depth + 1)));
  }
  return [...blocks, ...divide(waiting, depth + 1)];
}

/** Rows as they stand, except where tables stand side by side: those are read one after the other. */
function withTablesApart(pieces: readonly Piece[], depth: number): Block[] {
  const blocks: Block[] = [];
  let waiting: PieceRow[] = [];
  const flush = () => {
    if (waiting.length > 0) blocks.push({ rows: waiting, notes: false });
    waiting = [];
  };
  for (const run of runsOfCells(rowsOf(pieces))) {
    const cells = run.flatMap((row) => row.pieces);
    const mayBeTables = depth < depthMax && cells.every(({ order }) => order !== outOfOrder);
    const tables = mayBeTables ? tablesApart(cells) : null;
    if (tables === null) {
      waiting.push(...run);
      continue;
    }
    flush();
    for (const table of tables) blocks.push(...withTablesApart(table, depth + 1));
  }
  flush();
  return blocks;
}

/** Rows of several pieces that follow each other, and the rows between them. */
function runsOfCells(rows: readonly PieceRow[]): PieceRow[][] {
  const runs: { rows: PieceRow[]; cells: boolean }[] = [];
  for (const row of rows) {
    const cells = row.pieces.length > 1;
    const run = runs.at(-1);
    if (run !== undefined && run.cells === cells) run.rows.push(row);
    else runs.push({ rows: [row], cells });
  }
  return runs.map((run) => run.rows);
}

/** Cut at the pieces that cross the gutter, from top to bottom; rows of such pieces are bands of their own. */
function bandsOf(pieces: readonly Piece[], gutter: number): Piece[][] {
  const bands: { pieces: Piece[]; crossed: boolean }[] = [];
  for (const row of rowsOf(pieces)) {
    const crossed = row.pieces.some(({ left, right }) => left < gutter - 1 && right > gutter + 1);
    const band = bands.at(-1);
    if (band !== undefined && band.crossed === crossed) band.pieces.push(...row.pieces);
    else bands.push({ pieces: [...row.pieces], crossed });
  }
  return bands.map((band) => band.pieces);
}

/** The two sides of a band in reading order when they are columns of text; null when they are rows, or one side is empty. */
function columnsOf(band: readonly Piece[], gutter: number): [Piece[], Piece[]] | null {
  if (band.some(({ order }) => order === outOfOrder)) return null; // labels and what was filled in beside them
  const left = band.filter((piece) => (piece.left + piece.right) / 2 < gutter);
  const right = band.filter((piece) => (piece.left + piece.right) / 2 >= gutter);
  if (
    left.length === 0 ||
    right.length === 0 ||
    band.some((one) => one.left < gutter - 1 && one.right > gutter + 1)
  )
    return null;
  const [a, b] = [rowsOf(left), rowsOf(right)];
  if (Math.max(a.length, b.length) < 3 || Math.min(a.length, b.length) < 2) return null;
  const drawnApart = isDrawnApart(left, right);
  const areText = (isProse(a) || holdsColumns(left)) && (isProse(b) || holdsColumns(right));
  if (!areText && !(drawnApart && !isGrid(a, b))) return null;
  const rightToLeft = band.filter((piece) => piece.rightToLeft).length * 2 > band.length;
  return rightToLeft ? [right, left] : [left, right];
}

/** Whether a side is made of columns itself. */
function holdsColumns(side: readonly Piece[]): boolean {
  const gutter = side.length < 8 ? null : bestGutter(side);
  return gutter !== null && bandsOf(side, gutter).some((band) => columnsOf(band, gutter) !== null);
}

/** Lines that fill their column with words, hardly ever cut into cells. */
function isProse(rows: readonly PieceRow[]): boolean {
  let [units, letters, words, filled, cells] = [0, 0, 0, 0, 0];
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { pieces } of rows) {
    left = Math.min(left, pieces[0]!.left);
    right = Math.max(right, pieces.at(-1)!.right);
    cells += pieces.length;
    for (const { text } of pieces) {
      units += text.length;
      letters += text.match(/\p{L}/gu)?.length ?? 0;
      words += text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
    }
  }
  for (const { pieces } of rows) filled += pieces.at(-1)!.right - pieces[0]!.left;
  const wide = letters > 0 && units / words > 12; // scripts without spaces
  const count = rows.length;
  return (
    units / count >= (wide ? 7 : 14) &&
    letters >= 0.6 * units * (wide ? 1 : 0.85) &&
    (wide || words / count >= 2.5) &&
    filled / count >= 0.5 * (right - left) &&
    cells / count <= 1.7
  );
}

/** Nearly every row of the shorter side stands exactly beside one of the other: a table that was drawn by columns. */
function isGrid(a: readonly PieceRow[], b: readonly PieceRow[]): boolean {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const beside = few.filter(({ top, bottom }) =>
    many.some((row) => Math.abs(row.top + row.bottom - top - bottom) < 0.5 * (top - bottom)),
  );
  return beside.length >= 0.8 * few.length && few.length >= 0.6 * many.length;
}

/** Where a column ends in smaller type that begins with a mark, its end are notes. */
function withNotes(blocks: Block[]): Block[] {
  const last = blocks.at(-1);
  if (last === undefined || last.notes || last.rows.length < 4) return blocks;
  const usual = usualHeight(last.rows.flatMap(({ pieces }) => pieces));
  let from = last.rows.length;
  while (from > 0 && heightOf(last.rows[from - 1]!) <= 0.93 * usual) from -= 1;
  while (from < last.rows.length && !beginsWithMark(last.rows[from]!)) from += 1;
  if (from === 0 || from === last.rows.length) return blocks;
  const text = { rows: last.rows.slice(0, from), notes: false };
  return [...blocks.slice(0, -1), text, { rows: last.rows.slice(from), notes: true }];
}

function heightOf({ pieces }: PieceRow): number {
  return usualHeight(pieces);
}

function beginsWithMark({ pieces }: PieceRow): boolean {
  return /^(?:\d{1,3}|[*†‡§¶#]|[a-z]\b)[).\]]?\s?[\p{L}"'“‘(\d]/u.test(
    pieces.map(({ text }) => text).join(' '),
  );
}
