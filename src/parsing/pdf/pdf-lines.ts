import { cellGap, computeGap, isLabel, joinPieces, type LinePart } from './pdf-line-parts.ts';
import { orderBlocks, type TextBlock } from './pdf-order.ts';
import { noDrawOrder, type TextDirection, type TextPiece } from './pdf-pieces.ts';
import { computeTypicalHeight, type PieceRow } from './pdf-rows.ts';
import type { PageGlyphs } from './pdfium-glyphs.ts';

/** A line in reading order, with the features used to detect running lines and headings. */
export interface TextLine {
  readonly text: string;
  /** In points, measured from the lower edge of the page in reading orientation. */
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  /** Height of its character boxes. */
  readonly height: number;
  /** Type size. Box heights of two fonts of the same size may differ by half. */
  readonly size: number;
  /** Whether the line starts a paragraph, block or table. */
  readonly afterGap: boolean;
  /** Whether the line is a row of a table. */
  readonly cells: boolean;
  /** Whether large gaps divide the text of the line. */
  readonly hasGaps: boolean;
  /** Whether the type is bold; determined only where it may indicate a heading. */
  readonly bold: boolean;
  /** Parts of the line between large gaps. */
  readonly parts: readonly LinePart[];
}

/** Alignment tolerance for cells of a column, in multiples of the type height. */
const alignmentMax = 0.6;
/** Box height of ordinary fonts in multiples of the type size, and the bounds for any font. */
const [boxHeight, boxHeightMin, boxHeightMax] = [1.2, 0.7, 2.2];
const boldHeadingUnitsMax = 100;
const cellSeparator = ' | ';

/**
 * Returns the lines of a page in reading order. Text in the main direction of the page comes first, rotated
 * text after it.
 */
export function buildLines(pieces: readonly TextPiece[], fonts: Fonts): TextLine[] {
  const first = pieces[0];
  if (first === undefined) return [];
  if (pieces.every(({ direction: run }) => run === first.direction) && first.direction !== 'slanted')
    return buildOrderedLines(pieces, fonts);
  const runs = new Map<TextDirection, TextPiece[]>();
  for (const piece of pieces) {
    const group = runs.get(piece.direction);
    if (group === undefined) runs.set(piece.direction, [piece]);
    else group.push(piece);
  }
  const units = (group: readonly TextPiece[]) => group.reduce((sum, { text }) => sum + text.length, 0);
  return [...runs]
    .toSorted(([, a], [, b]) => units(b) - units(a))
    .flatMap(([run, group]) =>
      run === 'slanted' ? buildSlantedLines(group) : buildOrderedLines(group, fonts),
    );
}

/** Font properties of a character. */
type Fonts = Pick<PageGlyphs, 'isBold' | 'typeSize'>;

function buildOrderedLines(pieces: readonly TextPiece[], fonts: Fonts): TextLine[] {
  return orderBlocks(pieces).flatMap((block) => buildBlockLines(block, fonts));
}

/** Slanted text has no rows that could be ordered, so it keeps its drawing order. */
function buildSlantedLines(pieces: readonly TextPiece[]): TextLine[] {
  return pieces.map((piece, i) => ({
    ...joinPieces([piece], ' '),
    top: piece.top,
    bottom: piece.bottom,
    left: piece.left,
    height: piece.height,
    size: piece.height / boxHeight,
    afterGap: i === 0,
    cells: false,
    hasGaps: false,
    bold: false,
  }));
}

function buildBlockLines({ rows }: TextBlock, fonts: Fonts): TextLine[] {
  const inTable = findTableRows(rows);
  const typical = {
    pitch: computeTypicalPitch(rows),
    height: computeTypicalHeight(rows.flatMap(({ pieces }) => pieces)),
  };
  const lines: TextLine[] = [];
  for (const [i, { pieces }] of rows.entries()) {
    const cells = inTable[i]!;
    const afterGap = i === 0 || cells !== inTable[i - 1]! || (!cells && isAfterGap(rows, i, typical));
    const mayBeBold = !cells && (afterGap || lines.at(-1)?.bold === true);
    lines.push(buildLine(pieces, { afterGap, cells, mayBeBold }, fonts));
  }
  return lines;
}

function buildLine(
  pieces: readonly TextPiece[],
  { afterGap, cells, mayBeBold }: { readonly [name in 'afterGap' | 'cells' | 'mayBeBold']: boolean },
  fonts: Fonts,
): TextLine {
  let { top, bottom, left } = pieces[0]!;
  let longest = pieces[0]!;
  for (const piece of pieces) {
    top = Math.max(top, piece.top);
    bottom = Math.min(bottom, piece.bottom);
    left = Math.min(left, piece.left);
    if (piece.text.length > longest.text.length) longest = piece;
  }
  const { height } = longest;
  const { text, parts } = joinPieces(pieces, cells ? cellSeparator : ' ');
  const hasGaps = !cells && pieces.length > 1 && countCells(pieces) > 1;
  const bold = mayBeBold && !hasGaps && mayBeBoldHeading(text) && isAllBold(pieces, fonts);
  const size = getTypeSize(longest, fonts);
  return { text, top, bottom, left, height, size, afterGap, cells, hasGaps, bold, parts };
}

/**
 * Returns the median size of the first, middle and last character, so that a large bullet or a superscript is
 * ignored.
 */
function getTypeSize({ glyph, lastGlyph, height, order }: TextPiece, { typeSize }: Fonts): number {
  if (order === noDrawOrder) return height / boxHeight;
  const sizes = [glyph, (glyph + lastGlyph) >> 1, lastGlyph]
    .map(typeSize)
    .filter((size) => height >= boxHeightMin * size && height <= boxHeightMax * size)
    .sort((a, b) => a - b);
  return sizes[(sizes.length - 1) >> 1] ?? height / boxHeight;
}

/** Checks the first and the last character, because a paragraph that begins in bold type is not a heading. */
function isAllBold(pieces: readonly TextPiece[], { isBold }: Fonts): boolean {
  return isBold(pieces[0]!.glyph) && isBold(pieces.at(-1)!.lastGlyph);
}

/** Whether the text may be a bold heading; avoids font lookups, which are slow. */
function mayBeBoldHeading(text: string): boolean {
  return text.length <= boldHeadingUnitsMax && /\p{L}{2}/u.test(text) && !/[.,;]$/.test(text);
}

function countCells(pieces: readonly TextPiece[]): number {
  return splitCells(pieces).length;
}

/** Returns the left and right edge of each cell of a row; pieces without a gap between them form one cell. */
function splitCells(pieces: readonly TextPiece[]): { left: number; right: number }[] {
  const cells: { left: number; right: number }[] = [];
  for (const [i, piece] of pieces.entries()) {
    const cell = cells.at(-1);
    const previous = pieces[i - 1];
    const height = piece.top - piece.bottom;
    const isApart = previous !== undefined && computeGap(previous, piece) > cellGap * height;
    if (cell === undefined || (isApart && !(i === 1 && isLabel(previous.text)))) {
      cells.push({ left: piece.left, right: piece.right });
      continue;
    }
    cell.left = Math.min(cell.left, piece.left);
    cell.right = Math.max(cell.right, piece.right);
  }
  return cells;
}

/**
 * Returns for each row whether it belongs to a table. A table has at least three consecutive rows (or two
 * with three cells each) with aligned cells. Single-cell rows in between belong to the table.
 */
function findTableRows(rows: readonly PieceRow[]): boolean[] {
  const cells = rows.map(({ pieces }) => splitCells(pieces));
  const inTable = rows.map(() => false);
  for (let first = 0; first < rows.length; ) {
    let last = first;
    let [count, cellsMax] = [cells[first]!.length > 1 ? 1 : 0, cells[first]!.length];
    for (let next = first + 1; count > 0 && next < rows.length && next - last <= 2; next++) {
      const em = rows[next]!.top - rows[next]!.bottom;
      if (rows[last]!.bottom - rows[next]!.top > 3 * em) break;
      if (cells[next]!.length < 2 || !areAligned(cells[last]!, cells[next]!, em)) continue;
      last = next;
      count += 1;
      cellsMax = Math.min(Math.max(cellsMax, 2), cells[next]!.length);
    }
    if (count >= 3 || (count === 2 && cellsMax >= 3))
      inTable.fill(true, findTableHead(rows, cells, first), last + 1);
    first = last + 1;
  }
  return inTable;
}

/**
 * Returns the first row of the table head. A head is close above the table and has several cells, but these
 * are seldom aligned with the others.
 */
function findTableHead(
  rows: readonly PieceRow[],
  cells: readonly (readonly unknown[])[],
  first: number,
): number {
  let head = first;
  while (head > 0 && first - head < 2 && cells[head - 1]!.length >= 2) {
    const [above, row] = [rows[head - 1]!, rows[head]!];
    if (above.bottom - row.top > row.top - row.bottom) break;
    head -= 1;
  }
  return head;
}

function areAligned(
  above: readonly { left: number; right: number }[],
  below: readonly { left: number; right: number }[],
  em: number,
): boolean {
  const near = (a: number, b: number) => Math.abs(a - b) < alignmentMax * em;
  const matches = below.filter((cell) =>
    above.some(
      (other) =>
        near(cell.left, other.left) ||
        near(cell.right, other.right) ||
        near((cell.left + cell.right) / 2, (other.left + other.right) / 2),
    ),
  );
  return matches.length >= Math.max(2, 0.6 * Math.min(above.length, below.length));
}

/** Returns the typical line pitch of running text, in points. */
function computeTypicalPitch(rows: readonly PieceRow[]): number {
  const pitches = rows.slice(1).map((row, i) => verticalCenter(rows[i]!) - verticalCenter(row));
  return pitches.sort((a, b) => a - b)[(pitches.length - 1) >> 1] ?? 0;
}

function isAfterGap(
  rows: readonly PieceRow[],
  i: number,
  typical: { readonly pitch: number; readonly height: number },
): boolean {
  const [above, row] = [rows[i - 1]!, rows[i]!];
  const distance = verticalCenter(above) - verticalCenter(row);
  const [upper, lower] = [above.pieces[0]!.height, row.pieces[0]!.height];
  const height = Math.max(upper, lower);
  const sameLarge = Math.abs(upper - lower) < 0.05 * height && height > 1.15 * typical.height; // one headline
  return distance > 1.3 * typical.pitch && distance > (sameLarge ? 1.75 : 1.15) * height;
}

function verticalCenter({ top, bottom }: PieceRow): number {
  return (top + bottom) / 2;
}
