import type { TextPiece } from './pdf-pieces.ts';

/** Pieces side by side, from left to right (right to left in right-to-left text). */
export interface PieceRow {
  readonly pieces: TextPiece[];
  readonly top: number;
  readonly bottom: number;
}

/**
 * Returns rows from top to bottom. A piece belongs to a row if it vertically overlaps the row's piece of
 * least height.
 */
export function groupRows(pieces: readonly TextPiece[]): PieceRow[] {
  const sorted = pieces.toSorted((a, b) => b.top + b.bottom - a.top - a.bottom || a.order - b.order);
  const rows: { pieces: TextPiece[]; top: number; bottom: number }[] = [];
  for (const piece of sorted) {
    const row = rows.at(-1);
    const common = row === undefined ? -1 : Math.min(row.top, piece.top) - Math.max(row.bottom, piece.bottom);
    const height = piece.top - piece.bottom;
    if (row === undefined || common < 0.5 * Math.min(height, row.top - row.bottom) || common <= 0) {
      rows.push({ pieces: [piece], top: piece.top, bottom: piece.bottom });
      continue;
    }
    row.pieces.push(piece);
    if (height < row.top - row.bottom) [row.top, row.bottom] = [piece.top, piece.bottom];
  }
  for (const { pieces: row } of rows) if (row.length > 1) sortRow(row);
  return rows;
}

/** Sorts a row from left to right; a row of right-to-left text from right to left. */
function sortRow(row: TextPiece[]): void {
  const units = (pieces: readonly TextPiece[]) => pieces.reduce((sum, { text }) => sum + text.length, 0);
  const turned = units(row.filter(({ rightToLeft }) => rightToLeft)) * 2 > units(row);
  row.sort((a, b) => (turned ? b.right - a.right : a.left - b.left) || a.order - b.order);
}

/** Returns the median type height, weighted by characters. */
export function computeTypicalHeight(pieces: readonly TextPiece[]): number {
  const heights = pieces.map(({ height, text }) => ({ height, units: text.length }));
  heights.sort((a, b) => a.height - b.height);
  let left = heights.reduce((sum, { units }) => sum + units, 0) / 2;
  for (const { height, units } of heights) {
    left -= units;
    if (left <= 0) return Math.max(height, 1);
  }
  return 10;
}

/** Whether one side was drawn before the other, apart from a few pieces. */
export function isDrawnSeparately(left: readonly TextPiece[], right: readonly TextPiece[]): boolean {
  const orders = [
    ...left.map(({ order }) => ({ order, side: 0 })),
    ...right.map(({ order }) => ({ order, side: 1 })),
  ];
  orders.sort((a, b) => a.order - b.order);
  let changes = 0;
  for (let i = 1; i < orders.length; i++) if (orders[i]!.side !== orders[i - 1]!.side) changes += 1;
  return changes <= 1 + Math.floor(orders.length / 25);
}
