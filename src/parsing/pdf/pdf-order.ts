import { findGutter } from './pdf-gutter.ts';
import { noDrawOrder, type TextPiece } from './pdf-pieces.ts';
import { computeTypicalHeight, groupRows, isDrawnSeparately, type PieceRow } from './pdf-rows.ts';
import { splitSideBySideTables } from './pdf-side-tables.ts';

/** Contiguous rows from top to bottom: a page without columns, one column, or a heading across columns. */
export interface TextBlock {
  readonly rows: PieceRow[];
  /** Whether the block holds the notes at the foot of a column, which are read last. */
  readonly notes: boolean;
}

const depthMax = 8;

/**
 * Returns blocks in reading order. Columns are separated only where lines of running text are side by side
 * (or were drawn column by column); tables and forms remain rows.
 */
export function orderBlocks(pieces: readonly TextPiece[]): TextBlock[] {
  const blocks = splitBlocks(pieces, 0);
  return [...blocks.filter(({ notes }) => !notes), ...blocks.filter(({ notes }) => notes)];
}

function splitBlocks(pieces: readonly TextPiece[], depth: number): TextBlock[] {
  if (pieces.length === 0) return [];
  const gutter = depth < depthMax && pieces.length >= 4 ? findGutter(pieces) : null;
  if (gutter === null) return separateTables(pieces, depth);
  const parts = splitBands(pieces, gutter);
  const columns = parts.map((band) => splitColumns(band, gutter));
  if (columns.every((one) => one === null)) return separateTables(pieces, depth);
  const blocks: TextBlock[] = [];
  let pending: TextPiece[] = [];
  for (const [i, band] of parts.entries()) {
    const pair = columns[i]!;
    if (pair === null) {
      pending.push(...band);
      continue;
    }
    blocks.push(...splitBlocks(pending, depth + 1));
    pending = [];
    for (const column of pair) blocks.push(...separateNotes(splitBlocks(column, depth + 1)));
  }
  return [...blocks, ...splitBlocks(pending, depth + 1)];
}

/** Keeps rows unchanged, except for tables that are side by side, which are read one after the other. */
function separateTables(pieces: readonly TextPiece[], depth: number): TextBlock[] {
  const blocks: TextBlock[] = [];
  let pending: PieceRow[] = [];
  const flush = () => {
    if (pending.length > 0) blocks.push({ rows: pending, notes: false });
    pending = [];
  };
  for (const run of groupCellRows(groupRows(pieces))) {
    const cells = run.flatMap((row) => row.pieces);
    const mayBeTables = depth < depthMax && cells.every(({ order }) => order !== noDrawOrder);
    const tables = mayBeTables ? splitSideBySideTables(cells) : null;
    if (tables === null) {
      pending.push(...run);
      continue;
    }
    flush();
    for (const table of tables) blocks.push(...separateTables(table, depth + 1));
  }
  flush();
  return blocks;
}

/** Groups consecutive rows of several pieces, and the rows between such groups. */
function groupCellRows(rows: readonly PieceRow[]): PieceRow[][] {
  const runs: { rows: PieceRow[]; cells: boolean }[] = [];
  for (const row of rows) {
    const cells = row.pieces.length > 1;
    const run = runs.at(-1);
    if (run !== undefined && run.cells === cells) run.rows.push(row);
    else runs.push({ rows: [row], cells });
  }
  return runs.map((run) => run.rows);
}

/** Cuts the pieces, from top to bottom, into bands that cross the gutter and bands that do not. */
function splitBands(pieces: readonly TextPiece[], gutter: number): TextPiece[][] {
  const bands: { pieces: TextPiece[]; crossed: boolean }[] = [];
  for (const row of groupRows(pieces)) {
    const isCrossed = row.pieces.some(({ left, right }) => left < gutter - 1 && right > gutter + 1);
    const band = bands.at(-1);
    if (band !== undefined && band.crossed === isCrossed) band.pieces.push(...row.pieces);
    else bands.push({ pieces: [...row.pieces], crossed: isCrossed });
  }
  return bands.map((band) => band.pieces);
}

/**
 * Returns the two sides of a band in reading order when they are columns of text; null when they are rows, or
 * when one side is empty.
 */
function splitColumns(band: readonly TextPiece[], gutter: number): [TextPiece[], TextPiece[]] | null {
  if (band.some(({ order }) => order === noDrawOrder)) return null; // form labels and the field values beside them
  const left = band.filter((piece) => (piece.left + piece.right) / 2 < gutter);
  const right = band.filter((piece) => (piece.left + piece.right) / 2 >= gutter);
  if (
    left.length === 0 ||
    right.length === 0 ||
    band.some((one) => one.left < gutter - 1 && one.right > gutter + 1)
  )
    return null;
  const [a, b] = [groupRows(left), groupRows(right)];
  if (Math.max(a.length, b.length) < 3 || Math.min(a.length, b.length) < 2) return null;
  const wereDrawnSeparately = isDrawnSeparately(left, right);
  const areText = (isProse(a) || hasColumns(left)) && (isProse(b) || hasColumns(right));
  if (!areText && !(wereDrawnSeparately && !isGrid(a, b))) return null;
  const rightToLeft = band.filter((piece) => piece.rightToLeft).length * 2 > band.length;
  return rightToLeft ? [right, left] : [left, right];
}

/** Whether a side consists of columns itself. */
function hasColumns(side: readonly TextPiece[]): boolean {
  const gutter = side.length < 8 ? null : findGutter(side);
  return gutter !== null && splitBands(side, gutter).some((band) => splitColumns(band, gutter) !== null);
}

/** Whether the lines fill their column with words and are rarely divided into cells. */
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

/**
 * Whether nearly every row of the shorter side is exactly beside a row of the other side: a table drawn
 * column by column.
 */
function isGrid(a: readonly PieceRow[], b: readonly PieceRow[]): boolean {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const beside = few.filter(({ top, bottom }) =>
    many.some((row) => Math.abs(row.top + row.bottom - top - bottom) < 0.5 * (top - bottom)),
  );
  return beside.length >= 0.8 * few.length && few.length >= 0.6 * many.length;
}

/** Splits off the end of a column as notes if it is in smaller type and begins with a footnote mark. */
function separateNotes(blocks: TextBlock[]): TextBlock[] {
  const last = blocks.at(-1);
  if (last === undefined || last.notes || last.rows.length < 4) return blocks;
  const typicalHeight = computeTypicalHeight(last.rows.flatMap(({ pieces }) => pieces));
  let from = last.rows.length;
  while (from > 0 && computeHeight(last.rows[from - 1]!) <= 0.93 * typicalHeight) from -= 1;
  while (from < last.rows.length && !beginsWithMark(last.rows[from]!)) from += 1;
  if (from === 0 || from === last.rows.length) return blocks;
  const text = { rows: last.rows.slice(0, from), notes: false };
  return [...blocks.slice(0, -1), text, { rows: last.rows.slice(from), notes: true }];
}

function computeHeight({ pieces }: PieceRow): number {
  return computeTypicalHeight(pieces);
}

function beginsWithMark({ pieces }: PieceRow): boolean {
  return /^(?:\d{1,3}|[*†‡§¶#]|[a-z]\b)[).\]]?\s?[\p{L}"'“‘(\d]/u.test(
    pieces.map(({ text }) => text).join(' '),
  );
}
