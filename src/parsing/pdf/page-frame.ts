import type { LineBox } from '../../core/line-boxes.ts';
import type { Box } from './pdfium-glyphs.ts';

/** Visible area of a page, which its image shows. */
export interface PageFrame {
  /** In points, before the rotation. */
  readonly box: Box;
  /** Clockwise rotation of the shown page, in quarter turns. */
  readonly quarterTurns: number;
}

/** Returns a box of the page as fractions of its image. */
export function toLineBox(
  { left, right, bottom, top }: Box,
  { box, quarterTurns }: PageFrame,
): Pick<LineBox, 'left' | 'top' | 'right' | 'bottom'> {
  const [width, height] = [box.right - box.left, box.top - box.bottom];
  const x = { from: (left - box.left) / width, to: (right - box.left) / width };
  const y = { from: (box.top - top) / height, to: (box.top - bottom) / height };
  switch (quarterTurns) {
    case 1:
      return { left: 1 - y.to, right: 1 - y.from, top: x.from, bottom: x.to };
    case 2:
      return { left: 1 - x.to, right: 1 - x.from, top: 1 - y.to, bottom: 1 - y.from };
    case 3:
      return { left: y.from, right: y.to, top: 1 - x.to, bottom: 1 - x.from };
    default:
      return { left: x.from, right: x.to, top: y.from, bottom: y.to };
  }
}
