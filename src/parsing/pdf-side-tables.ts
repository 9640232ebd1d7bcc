import type { Piece } from './pdf-pieces.ts';
import { isDrawnApart, type PieceRow, rowsOf } from './pdf-rows.ts';

const rowsMin = 3;
/** Share of the rows of a table that have several cells. */
const cellRowsShareMin = 0.6;
/** How much wider than between their columns the space is between two tables whose rows stand beside each other. */
const apartMin = 1.75;
/** The same for tables whose rows do not. */
const apartUnevenMin = 1;
const wordyShareMin = 0.6;
/** Two tables of two columns and three rows. */
const piecesMin = 12;
/** Spaces between columns that are looked at, the widest first. */
const corridorsMax = 12;
const depthMax = 3;

interface Side {
  readonly rows: readonly PieceRow[];
  /** The widest space between its columns. */
  readonly corridor: number;
  /** Whether one column was drawn after the other. */
  readonly byColumns: boolean;
  /** Whether its first column names the rows. */
  readonly named: boolean;
}

/**
 * The tables that stand side by side in rows of cells, the first and what is to its right; null when it is one, or none.
 * They are tables of their own, and not the columns of one, when their rows stand at other heights, when each was drawn row
 * by row before the other began, or when far more space parts them than any two of their columns.
 */
export function tablesApart(pieces: readonly Piece[], depth = 0): [Piece[], Piece[]] | null {
  if (pieces.length < piecesMin || depth > depthMax) return null;
  for (const { from } of corridorsOf(pieces)
    .toSorted((a, b) => b.width - a.width)
    .slice(0, corridorsMax)) {
    const left = pieces.filter((piece) => piece.right <= from);
    const right = pieces.filter((piece) => piece.right > from);
    if (areTables(left, right, depth)) return [left, right];
  }
  return null;
}

function areTables(left: readonly Piece[], right: readonly Piece[], depth: number): boolean {
  const [a, b] = [sideOf(left, depth), sideOf(right, depth)];
  if (a === null || b === null) return false;
  const apart = isDrawnApart(left, right);
  if (apart && !a.byColumns && !b.byColumns) return true;
  const gap = Math.min(...right.map((one) => one.left)) - Math.max(...left.map((one) => one.right));
  const space = gap / Math.max(a.corridor, b.corridor, 1);
  if (areUneven(a.rows, b.rows)) return apart || space >= apartUnevenMin;
  return space >= apartMin && a.named && b.named;
}

/** Null: it is no table. Tables that stand side by side themselves count as one without spaces. */
function sideOf(pieces: readonly Piece[], depth: number): Side | null {
  const rows = rowsOf(pieces);
  const celled = rows.filter((row) => row.pieces.length > 1);
  if (celled.length < rowsMin || celled.length < cellRowsShareMin * rows.length) return null;
  const cells = celled.flatMap((row) => row.pieces);
  const corridors = corridorsOf(cells);
  const [first] = corridors;
  const widest = corridors.toSorted((one, other) => other.width - one.width)[0];
  if (first === undefined || widest === undefined) return null;
  const names = cells.filter((cell) => cell.right <= first.from);
  const named = names.filter(({ text }) => /\p{L}/u.test(text)).length >= wordyShareMin * names.length;
  if (tablesApart(cells, depth + 1) !== null) return { rows, corridor: 0, byColumns: false, named };
  const before = cells.filter((cell) => cell.right <= widest.from);
  const after = cells.filter((cell) => cell.right > widest.from);
  return { rows, corridor: widest.width, byColumns: isDrawnApart(before, after), named };
}

interface Corridor {
  readonly from: number;
  readonly width: number;
}

/** Spaces that no cell stands in, from left to right. */
function corridorsOf(cells: readonly Piece[]): Corridor[] {
  const corridors: Corridor[] = [];
  let end = Number.POSITIVE_INFINITY;
  for (const { left, right } of cells.toSorted((a, b) => a.left - b.left)) {
    if (left > end) corridors.push({ from: end, width: left - end });
    end = Number.isFinite(end) ? Math.max(end, right) : right;
  }
  return corridors;
}

/** Hardly any row of the shorter side stands exactly beside one of the other. */
function areUneven(a: readonly PieceRow[], b: readonly PieceRow[]): boolean {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const beside = few.filter(({ top, bottom }) =>
    many.some((row) => Math.abs(row.top + row.bottom - top - bottom) < 0.5 * (top - bottom)),
  );
  return beside.length <= 0.5 * few.length;
}
