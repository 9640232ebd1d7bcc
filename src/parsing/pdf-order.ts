import { outOfOrder, type Piece } from './pdf-pieces.ts';

/** Pieces side by side, from left to right. */
export interface PieceRow {
  readonly pieces: Piece[];
  readonly top: number;
  readonly bottom: number;
}

/** Rows that belong together, from top to bottom: a page without columns, one column, a heading over columns. */
export interface Block {
  readonly rows: PieceRow[];
  /** Notes at the foot of a column, which are read after everything else. */
  readonly notes: boolean;
}

const depthMax = 8;
/** Width of the space between columns, in heights of the usual type. */
const gutterMin = 0.9;
/** Share of the width at either side where no space between columns is looked for. */
const sideShareMin = 0.08;

/**
 * Blocks in the order in which a person reads them. Columns are told apart only where lines of running text stand side by
 * side (or were drawn column by column); tables and forms stay rows.
 */
export function readingOrder(pieces: readonly Piece[]): Block[] {
  const blocks = divide(pieces, 0);
  return [...blocks.filter(({ notes }) => !notes), ...blocks.filter(({ notes }) => notes)];
}

/** Rows from top to bottom. A piece belongs to the row whose lowest piece it stands beside. */
export function rowsOf(pieces: readonly Piece[]): PieceRow[] {
  const sorted = pieces.toSorted((a, b) => b.top + b.bottom - a.top - a.bottom || a.order - b.order);
  const rows: { pieces: Piece[]; top: number; bottom: number }[] = [];
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

/** From left to right; a row of right-to-left text the other way round. */
function sortRow(row: Piece[]): void {
  const turned = row.filter(({ rightToLeft }) => rightToLeft).length * 2 > row.length;
  row.sort((a, b) => (turned ? b.right - a.right : a.left - b.left) || a.order - b.order);
}

function divide(pieces: readonly Piece[], depth: number): Block[] {
  if (pieces.length === 0) return [];
  const gutter = depth < depthMax && pieces.length >= 4 ? bestGutter(pieces) : null;
  if (gutter === null) return [{ rows: rowsOf(pieces), notes: false }];
  const parts = bandsOf(pieces, gutter);
  const columns = parts.map((band) => columnsOf(band, gutter));
  if (columns.every((one) => one === null)) return [{ rows: rowsOf(pieces), notes: false }];
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

/** The place with the most pieces on both sides and few across it; null when hardly anything stands side by side. */
function bestGutter(pieces: readonly Piece[]): number | null {
  const em = usualHeight(pieces);
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const piece of pieces) {
    left = Math.min(left, piece.left);
    right = Math.max(right, piece.right);
  }
  const width = right - left;
  if (!(width > 8 * em) || !Number.isFinite(width)) return null;
  const bins = Math.min(1_000, Math.ceil(width / 2));
  const [across, before, after] = [
    new Int32Array(bins + 2),
    new Int32Array(bins + 2),
    new Int32Array(bins + 2),
  ];
  const bin = (x: number) => Math.max(0, Math.min(bins, Math.round(((x - left) / width) * bins)));
  for (const piece of pieces) {
    const [from, to] = [bin(piece.left - (gutterMin / 2) * em), bin(piece.right + (gutterMin / 2) * em)];
    across[from]! += 1;
    across[to]! -= 1;
    before[to]! += 1;
    after[from]! += 1;
  }
  return gutterFrom({ across, before, after, bins, total: pieces.length }, left, width);
}

interface Profile {
  readonly across: Int32Array;
  readonly before: Int32Array;
  readonly after: Int32Array;
  readonly bins: number;
  readonly total: number;
}

function gutterFrom(
  { across, before, after, bins, total }: Profile,
  left: number,
  width: number,
): number | null {
  const [first, last] = [Math.ceil(bins * sideShareMin), Math.floor(bins * (1 - sideShareMin))];
  let [crossing, ended, started] = [0, 0, 0];
  let best = { score: 0, from: -1, to: -1 };
  for (let i = 0; i <= last; i++) {
    crossing += across[i]!;
    ended += before[i]!;
    started += after[i]!;
    if (i < first) continue;
    const score = Math.min(ended, total - started) - 0.5 * crossing;
    if (score > best.score) best = { score, from: i, to: i };
    else if (score === best.score && best.to === i - 1) best.to = i;
  }
  return best.score < 2 ? null : left + ((best.from + best.to) / 2 / bins) * width;
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

/** One side was drawn wholly before the other, but for a few pieces. */
function isDrawnApart(left: readonly Piece[], right: readonly Piece[]): boolean {
  const orders = [
    ...left.map(({ order }) => ({ order, side: 0 })),
    ...right.map(({ order }) => ({ order, side: 1 })),
  ];
  orders.sort((a, b) => a.order - b.order);
  let changes = 0;
  for (let i = 1; i < orders.length; i++) if (orders[i]!.side !== orders[i - 1]!.side) changes += 1;
  return changes <= 1 + Math.floor(orders.length / 25);
}

/** Nearly every row of the shorter side stands exactly beside one of the other: a table that was drawn by columns. */
function isGrid(a: readonly PieceRow[], b: readonly PieceRow[]): boolean {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const beside = few.filter(({ top, bottom }) =>
    many.some((row) => Math.abs(row.top + row.bottom - top - bottom) < 0.5 * (top - bottom)),
  );
  return beside.length >= 0.8 * few.length && few.length >= 0.6 * many.length;
}

/** The usual height of type, by characters. */
export function usualHeight(pieces: readonly Piece[]): number {
  const heights = pieces.map(({ height, text }) => ({ height, units: text.length }));
  heights.sort((a, b) => a.height - b.height);
  let left = heights.reduce((sum, { units }) => sum + units, 0) / 2;
  for (const { height, units } of heights) {
    left -= units;
    if (left <= 0) return Math.max(height, 1);
  }
  return 10;
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
