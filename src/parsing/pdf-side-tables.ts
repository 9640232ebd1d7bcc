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
const corridorsMax = 6;
/** Spaces at least this share as wide as the one between two tables part tables, too. */
const alikeMin = 0.8;

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
export function tablesApart(pieces: readonly Piece[]): [Piece[], Piece[]] | null {
  if (pieces.length < piecesMin) return null;
  const corridors = corridorsOf(pieces).toSorted((a, b) => b.width - a.width);
  const narrowest = corridors.at(-1)?.width ?? 0;
  for (const { from, width } of corridors.slice(0, corridorsMax)) {
    const left = pieces.filter((piece) => piece.right <= from);
    const right = pieces.filter((piece) => piece.right > from);
    const drawnApart = isDrawnApart(left, right);
    if (!drawnApart && narrowest >= alikeMin * width) break; // all columns stand equally far apart
    const areTables = [Number.POSITIVE_INFINITY, alikeMin * width].some((gap) => {
      const sides = [left, right].map((side) => sideOf(side, gap));
      return sides.every((side) => side !== null) && tellApart(sides[0]!, sides[1]!, drawnApart, width);
    });
    if (areTables) return [left, right];
  }
  return null;
}

function tellApart(a: Side, b: Side, drawnApart: boolean, width: number): boolean {
  if (drawnApart && !a.byColumns && !b.byColumns) return true;
  const space = width / Math.max(a.corridor, b.corridor, 1);
  if (areUneven(a.rows, b.rows)) return drawnApart || space >= apartUnevenMin;
  return space >= apartMin && a.named && b.named;
}

/** A table, or several that spaces of at least `gap` part; null: it is none. */
function sideOf(pieces: readonly Piece[], gap: number): Side | null {
  const rows = rowsOf(pieces);
  const celled = rows.filter((row) => row.pieces.length > 1);
  if (celled.length < rowsMin || celled.length < cellRowsShareMin * rows.length) return null;
  const cells = celled.flatMap((row) => row.pieces);
  const corridors = corridorsOf(cells);
  const [first] = corridors;
  if (first === undefined) return null;
  const names = cells.filter((cell) => cell.right <= first.from);
  const named = names.filter(({ text }) => /\p{L}/u.test(text)).length >= wordyShareMin * names.length;
  let [corridor, byColumns, inTable] = [0, false, 0];
  for (const { from, width } of [...corridors, { from: Number.POSITIVE_INFINITY, width: gap }]) {
    if (width >= gap) {
      if (inTable === 0) return null; // a single column
      inTable = 0;
      continue;
    }
    inTable += 1;
    if (width < corridor) continue;
    corridor = width;
    byColumns = isDrawnApart(
      cells.filter((cell) => cell.right <= from),
      cells.filter((cell) => cell.right > from),
    );
  }
  return { rows, corridor, byColumns, named };
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
