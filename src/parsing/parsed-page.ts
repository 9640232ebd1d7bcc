import { createCodePointCounter } from '../core/code-point-counter.ts';
import { type LineBox, type LineBoxes, packLineBoxes } from '../core/line-boxes.ts';

/** Text of a page as a parser returns it, with the boxes of its lines if they are known. */
export interface PageText {
  readonly text: string;
  /** In UTF-16 units of the text, in its order; empty if the boxes are unknown. */
  readonly lines: readonly LineBox[];
}

/** Page of a parsed document. */
export interface ParsedPage {
  /** Well-formed. */
  readonly text: string;
  /** Null if no boxes are known. */
  readonly boxes: LineBoxes | null;
}

/** Packs the lines of a page, with their offsets in code points. */
export function packPage({ text, lines }: PageText, linesMax: number): ParsedPage {
  if (lines.length === 0) return { text, boxes: null };
  const toCodePoint = createCodePointCounter(text);
  const counted = lines.map((line) => ({
    ...line,
    start: toCodePoint(line.start),
    end: toCodePoint(line.end),
  }));
  return { text, boxes: packLineBoxes(counted, linesMax) };
}
