import type { TextPiece } from './pdf-pieces.ts';
import { groupRows, isDrawnSeparately, type PieceRow } from './pdf-rows.ts';

const rowsMin = 3;
/** Minimum share of rows of a table that have several cells. */
const cellRowsShareMin = 0.6;
/** Minimum space between two tables whose rows are aligned, in multiples of the widest column gap. */
const tableGapMin = 1.75;
/** The same for tables whose rows are not aligned. */
const unevenTableGapMin = 1;
const wordCellShareMin = 0.6;
/** Two tables of two columns and three rows. */
const piecesMin = 12;
/** Number of column gaps that are examined, widest first. */
const columnGapsMax = 6;
/** Gaps at least this share of the gap between two tables also separate tables. */
const similarGapMin = 0.8;

interface TableSide {
  readonly rows: readonly PieceRow[];
  /** Widest gap between its columns. */
  readonly columnGap: number;
  /** Whether one column was drawn after the other. */
  readonly isDrawnByColumns: boolean;
  /** Whether its first column names the rows. */
  readonly hasRowNames: boolean;
}

/**
 * Splits tables that are side by side into the first table and the rest to its right; null for a single table
 * or none. They are separate tables, not columns of one, if their rows have different heights, if each was
 * drawn row by row before the other started, or if the gap between them is much wider than any column gap.
 */
export function splitSideBySideTables(pieces: readonly TextPiece[]): [TextPiece[], TextPiece[]] | null {
  if (pieces.length < piecesMin) return null;
  const columnGaps = findColumnGaps(pieces).toSorted((a, b) => b.width - a.width);
  const narrowest = columnGaps.at(-1)?.width ?? 0;
  for (const { from, width } of columnGaps.slice(0, columnGapsMax)) {
    const left = pieces.filter((piece) => piece.right <= from);
    const right = pieces.filter((piece) => piece.right > from);
    const wereDrawnSeparately = isDrawnSeparately(left, right);
    if (!wereDrawnSeparately && narrowest >= similarGapMin * width) break; // all columns are evenly spaced
    const areTables = [Number.POSITIVE_INFINITY, similarGapMin * width].some((gap) => {
      const sides = [left, right].map((side) => toTableSide(side, gap));
      return (
        sides.every((side) => side !== null) &&
        areSeparateTables(sides[0]!, sides[1]!, wereDrawnSeparately, width)
      );
    });
    if (areTables) return [left, right];
  }
  return null;
}

function areSeparateTables(a: TableSide, b: TableSide, drawnApart: boolean, width: number): boolean {
  if (drawnApart && !a.isDrawnByColumns && !b.isDrawnByColumns) return true;
  const space = width / Math.max(a.columnGap, b.columnGap, 1);
  if (areRowsUneven(a.rows, b.rows)) return drawnApart || space >= unevenTableGapMin;
  return space >= tableGapMin && a.hasRowNames && b.hasRowNames;
}

/**
 * Returns a table, or several tables separated by gaps of at least `gap`; null when the pieces are not a table.
 */
function toTableSide(pieces: readonly TextPiece[], gap: number): TableSide | null {
  const rows = groupRows(pieces);
  const cellRows = rows.filter((row) => row.pieces.length > 1);
  if (cellRows.length < rowsMin || cellRows.length < cellRowsShareMin * rows.length) return null;
  const cells = cellRows.flatMap((row) => row.pieces);
  const columnGaps = findColumnGaps(cells);
  const [first] = columnGaps;
  if (first === undefined) return null;
  const names = cells.filter((cell) => cell.right <= first.from);
  const hasRowNames =
    names.filter(({ text }) => /\p{L}/u.test(text)).length >= wordCellShareMin * names.length;
  let [columnGap, byColumns, inTable] = [0, false, 0];
  for (const { from, width } of [...columnGaps, { from: Number.POSITIVE_INFINITY, width: gap }]) {
    if (width >= gap) {
      if (inTable === 0) return null; // a single column
      inTable = 0;
      continue;
    }
    inTable += 1;
    if (width < columnGap) continue;
    columnGap = width;
    byColumns = isDrawnSeparately(
      cells.filter((cell) => cell.right <= from),
      cells.filter((cell) => cell.right > from),
    );
  }
  return { rows, columnGap, isDrawnByColumns: byColumns, hasRowNames };
}

interface ColumnGap {
  readonly from: number;
  readonly width: number;
}

/** Returns the vertical gaps that no cell occupies, from left to right. */
function findColumnGaps(cells: readonly TextPiece[]): ColumnGap[] {
  const columnGaps: ColumnGap[] = [];
  let end = Number.POSITIVE_INFINITY;
  for (const { left, right } of cells.toSorted((a, b) => a.left - b.left)) {
    if (left > end) columnGaps.push({ from: end, width: left - end });
    end = Number.isFinite(end) ? Math.max(end, right) : right;
  }
  return columnGaps;
}

/** Whether few rows of the shorter side are exactly beside a row of the other side. */
function areRowsUneven(a: readonly PieceRow[], b: readonly PieceRow[]): boolean {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const beside = few.filter(({ top, bottom }) =>
    many.some((row) => Math.abs(row.top + row.bottom - top - bottom) < 0.5 * (top - bottom)),
  );
  return beside.length <= 0.5 * few.length;
}
