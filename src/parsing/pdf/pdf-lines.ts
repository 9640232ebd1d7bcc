import { orderBlocks, type TextBlock } from './pdf-order.ts';
import { noDrawOrder, type TextDirection, type TextPiece } from './pdf-pieces.ts';
import { computeTypicalHeight, type PieceRow } from './pdf-rows.ts';
import type { PageGlyphs } from './pdfium.ts';

/** A line as a person reads it, with what running lines and headings are told by. */
export interface TextLine {
  readonly text: string;
  /** In points; `top` counts from the lower edge of the page as it is read. */
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  /** Height of the boxes of its characters. */
  readonly height: number;
  /** Size of the type; boxes of equally large type of two fonts may differ by half. */
  readonly size: number;
  /** Whether a paragraph, block or table begins with it. */
  readonly afterGap: boolean;
  /** Whether it is a row of a table. */
  readonly cells: boolean;
  /** Whether large gaps part what it says. */
  readonly parted: boolean;
  /** Whether its type is bold; asked only where it may tell a heading. */
  readonly bold: boolean;
}

/** Space between cells, in heights of type. */
const cellGap = 1.25;
/** How exactly cells of a column stand below each other, in heights of type. */
const alignmentMax = 0.6;
/** Height of boxes of ordinary fonts, in sizes of their type, and how far from it those of any font are. */
const [boxHeight, boxHeightMin, boxHeightMax] = [1.2, 0.7, 2.2];
const boldHeadingUnitsMax = 100;
const cellSeparator = ' | ';

/** The lines of a page in reading order: the text that runs as most of the page does first, turned text after it. */
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

/** What the fonts say about a character. */
type Fonts = Pick<PageGlyphs, 'isBold' | 'typeSize'>;

function buildOrderedLines(pieces: readonly TextPiece[], fonts: Fonts): TextLine[] {
  return orderBlocks(pieces).flatMap((block) => buildBlockLines(block, fonts));
}

/** Slanted text has no rows that could be put in order: it stays as it was drawn. */
function buildSlantedLines(pieces: readonly TextPiece[]): TextLine[] {
  return pieces.map(({ text, top, bottom, left, height }, i) => ({
    ...{ text, top, bottom, left, height, size: height / boxHeight, afterGap: i === 0 },
    ...{ cells: false, parted: false, bold: false },
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
  const text = joinPieces(pieces, cells ? cellSeparator : ' ');
  const parted = !cells && pieces.length > 1 && countCells(pieces) > 1;
  const bold = mayBeBold && !parted && mayBeBoldHeading(text) && isAllBold(pieces, fonts);
  const size = getTypeSize(longest, fonts);
  return { text, top, bottom, left, height, size, afterGap, cells, parted, bold };
}

/** The usual one of its first, its middle and its last character: a large bullet or a raised figure is not the type. */
function getTypeSize({ glyph, lastGlyph, height, order }: TextPiece, { typeSize }: Fonts): number {
  if (order === noDrawOrder) return height / boxHeight;
  const sizes = [glyph, (glyph + lastGlyph) >> 1, lastGlyph]
    .map(typeSize)
    .filter((size) => height >= boxHeightMin * size && height <= boxHeightMax * size)
    .sort((a, b) => a - b);
  return sizes[(sizes.length - 1) >> 1] ?? height / boxHeight;
}

/** From the first to the last character: a paragraph that begins in bold type is no heading. */
function isAllBold(pieces: readonly TextPiece[], { isBold }: Fonts): boolean {
  return isBold(pieces[0]!.glyph) && isBold(pieces.at(-1)!.lastGlyph);
}

/** May be a heading in bold type: asking for its font is worth the time. */
function mayBeBoldHeading(text: string): boolean {
  return text.length <= boldHeadingUnitsMax && /\p{L}{2}/u.test(text) && !/[.,;]$/.test(text);
}

/** Pieces that touch are one word, those that stand apart are separate ones, and so are those that run the other way. */
function joinPieces(pieces: readonly TextPiece[], separator: string): string {
  let text = pieces[0]!.text;
  for (let i = 1; i < pieces.length; i++) {
    const [previous, next] = [pieces[i - 1]!, pieces[i]!];
    const height = Math.max(previous.top - previous.bottom, next.top - next.bottom);
    const gap = computeGap(previous, next) / height;
    if (Math.abs(gap) < 0.12 && previous.rightToLeft === next.rightToLeft) text += next.text;
    else text += (gap > cellGap && !(i === 1 && isLabel(previous.text)) ? separator : ' ') + next.text;
  }
  return text;
}

function computeGap(one: TextPiece, other: TextPiece): number {
  return Math.max(other.left - one.right, one.left - other.right);
}

/** A bullet or the number of a paragraph: it stands apart from its text without being a cell. */
function isLabel(text: string): boolean {
  return /^(?:[^\p{L}\p{N}]{1,2}|[([]?[\p{L}\p{N}]{1,4}(?:\.[\p{N}]{1,3})*[.)\]])$/u.test(text);
}

function countCells(pieces: readonly TextPiece[]): number {
  return splitCells(pieces).length;
}

/** Left and right edge of each cell of a row; several pieces without a gap are one. */
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
 * Which rows belong to a table: at least three in a row (or two with three cells each) that have cells below each other.
 * A row of one cell in between belongs to it, too.
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

/** The head of a table stands close above it and has several cells, though they seldom stand exactly above the others. */
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

/** Distance from line to line in running text. */
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
