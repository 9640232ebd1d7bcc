import type { TextPiece } from './pdf-pieces.ts';
import { groupRows, isDrawnSeparately, type PieceRow } from './pdf-rows.ts';

const rowsMin = 3;
/** Share of the rows of a table that have several cells. */
const cellRowsShareMin = 0.6;
/** How much wider than between their columns the space is between two tables whose rows stand beside each other. */
const tableGapMin = 1.75;
/** The same for tables whose rows do not. */
const unevenTableGapMin = 1;
const wordCellShareMin = 0.6;
/** Two tables of two columns and three rows. */
const piecesMin = 12;
/** Spaces between columns that are looked at, the widest first. */
const columnGapsMax = 6;
/** Spaces at least this share as wide as the one between two tables part tables, too. */
const similarGapMin = 0.8;

interface TableSide {
  readonly rows: readonly PieceRow[];
  /** The widest space between its columns. */
  readonly columnGap: number;
  /** Whether one column was drawn after the other. */
  readonly isDrawnByColumns: boolean;
  /** Whether its first column names the rows. */
  readonly hasRowNames: boolean;
}

/**
 * The tables that stand side by side in rows of cells, the first and what is to its right; null when it is one, or none.
 * They are tables of their own, and not the columns of one, when their rows stand at other heights, when each was drawn row
 * by row before the other began, or when far more space parts them than any two of their columns.
 */
export function splitSideBySideTables(pieces: readonly TextPiece[]): [TextPiece[], TextPiece[]] | null {
  if (pieces.length < piecesMin) return null;
  const columnGaps = findColumnGaps(pieces).toSorted((a, b) => b.width - a.width);
  const narrowest = columnGaps.at(-1)?.width ?? 0;
  for (const { from, width } of columnGaps.slice(0, columnGapsMax)) {
    const left = pieces.filter((piece) => piece.right <= from);
    const right = pieces.filter((piece) => piece.right > from);
    const wereDrawnSeparately = isDrawnSeparately(left, right);
    if (!wereDrawnSeparately && narrowest >= similarGapMin * width) break; // all columns stand equally far apart
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

/** A table, or several that spaces of at least `gap` part; null: it is none. */
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

/** Spaces that no cell stands in, from left to right. */
function findColumnGaps(cells: readonly TextPiece[]): ColumnGap[] {
  const columnGaps: ColumnGap[] = [];
  let end = Number.POSITIVE_INFINITY;
  for (const { left, right } of cells.toSorted((a, b) => a.left - b.left)) {
    if (left > end) columnGaps.push({ from: end, width: left - end });
    end = Number.isFinite(end) ? Math.max(end, right) : right;
  }
  return columnGaps;
}

/** Hardly any row of the shorter side stands exactly beside one of the other. */
function areRowsUneven(a: readonly PieceRow[], b: readonly PieceRow[]): boolean {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const beside = few.filter(({ top, bottom }) =>
    many.some((row) => Math.abs(row.top + row.bottom - top - bottom) < 0.5 * (top - bottom)),
  );
  return beside.length <= 0.5 * few.length;
}
