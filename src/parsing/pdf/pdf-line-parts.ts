import type { TextPiece } from './pdf-pieces.ts';
import type { Box } from './pdfium-glyphs.ts';

/** Part of a line between large gaps: its range of the text of the line, and its box. */
export interface LinePart {
  readonly start: number;
  end: number;
  /** On the page, in points; null if the engine does not know it. */
  readonly box: Box | null;
}

/** Minimum space between cells, in multiples of the type height. */
export const cellGap = 1.25;

/**
 * Joins pieces of a line. Touching pieces form one word; a space or `separator` is inserted between pieces that are apart
 * or have opposite directions.
 */
export function joinPieces(
  pieces: readonly TextPiece[],
  separator: string,
): { readonly text: string; readonly parts: readonly LinePart[] } {
  const first = pieces[0]!;
  let { text } = first;
  let part: LinePart = { start: 0, end: text.length, box: findPageBox(first) };
  const parts = [part];
  for (let i = 1; i < pieces.length; i++) {
    const [previous, next] = [pieces[i - 1]!, pieces[i]!];
    const height = Math.max(previous.top - previous.bottom, next.top - next.bottom);
    const gap = computeGap(previous, next) / height;
    const isWord = Math.abs(gap) < 0.12 && previous.rightToLeft === next.rightToLeft;
    const isCell = gap > cellGap && !(i === 1 && isLabel(previous.text));
    text += isWord ? '' : isCell ? separator : ' ';
    const box = findPageBox(next);
    if (isCell || box === null || part.box === null) {
      part = { start: text.length, end: text.length, box };
      parts.push(part);
    } else extendBox(part.box, box);
    text += next.text;
    part.end = text.length;
  }
  return { text, parts };
}

export function computeGap(one: TextPiece, other: TextPiece): number {
  return Math.max(other.left - one.right, one.left - other.right);
}

/**
 * Whether the text is a bullet or a paragraph number, which is set apart from its text without being a cell.
 */
export function isLabel(text: string): boolean {
  return /^(?:[^\p{L}\p{N}]{1,2}|[([]?[\p{L}\p{N}]{1,4}(?:\.[\p{N}]{1,3})*[.)\]])$/u.test(text);
}

function findPageBox(piece: TextPiece): Box | null {
  if (piece.pageBox === undefined) return rotateBack(piece);
  return piece.pageBox === null ? null : { ...piece.pageBox };
}

/** Returns the box of a piece on the page. */
function rotateBack({ left, right, bottom, top, direction }: TextPiece): Box {
  switch (direction) {
    case 'up':
      return { left: -top, right: -bottom, bottom: left, top: right };
    case 'down':
    case 'stacked':
      return { left: bottom, right: top, bottom: -right, top: -left };
    case 'upside-down':
      return { left: -right, right: -left, bottom: -top, top: -bottom };
    case 'level':
    case 'slanted':
      return { left, right, bottom, top };
  }
}

function extendBox(box: Box, other: Box): void {
  box.left = Math.min(box.left, other.left);
  box.right = Math.max(box.right, other.right);
  box.bottom = Math.min(box.bottom, other.bottom);
  box.top = Math.max(box.top, other.top);
}
