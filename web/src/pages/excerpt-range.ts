import type { TextSyntax } from '../../../src/core/file-types.ts';
import { type DisplayBlock, parseTextBlocks, type TextRange } from '../../../src/core/text-blocks.ts';

/** The part of a result text that is shown at first: a few lines around its best sentence. */

/** Lines of a block on the screen: of a paragraph, of the items of a list, the rows of a table. */
export function segmentsOf(block: DisplayBlock): readonly TextRange[] {
  switch (block.kind) {
    case 'heading':
    case 'paragraph':
      return block.lines.map(spanOf);
    case 'list':
      return block.items.flatMap(({ lines }) => lines.map(spanOf));
    case 'table':
      return block.rows.filter((cells) => cells.length > 0).map(spanOf);
    case 'code':
      return [block.range];
  }
}

function spanOf(ranges: readonly TextRange[]): TextRange {
  return { start: ranges[0]?.start ?? 0, end: ranges.at(-1)?.end ?? 0 };
}

interface ExcerptSize {
  readonly linesMax: number;
  /** Length of a line of the screen, in UTF-16 units. */
  readonly lineUnits: number;
}

/** A text that is this much longer is shown whole. */
const extraLines = 2;
/** Lines before the best sentence. */
const leadLinesMax = 2;

/** Returns the shown part of a text. `focus`: start of its best sentence. */
export function excerptRange(
  text: string,
  syntax: TextSyntax | null,
  { focus, linesMax, lineUnits }: ExcerptSize & { readonly focus: number },
): TextRange {
  const segments = linesOf(text, syntax);
  const linesIn = ({ start, end }: TextRange) => Math.max(1, Math.ceil((end - start) / lineUnits));
  const total = segments.reduce((sum, segment) => sum + linesIn(segment), 0);
  const focused = segments.findIndex(({ end }) => end > focus);
  if (total <= linesMax + extraLines || focused === -1) return { start: 0, end: text.length };
  let first = focused;
  let start = segments[focused]!.start;
  if (focus - start > leadLinesMax * lineUnits) start = wordStart(text, focus - lineUnits, focus);
  else
    for (let lead = 0; first > 0; first -= 1) {
      lead += linesIn(segments[first - 1]!);
      if (lead > leadLinesMax) break;
      start = segments[first - 1]!.start;
    }
  const end = findEnd(text, segments.slice(first), { start, linesMax, lineUnits });
  return {
    start: start <= segments[0]!.start ? 0 : start,
    end: end >= segments.at(-1)!.end ? text.length : end,
  };
}

function linesOf(text: string, syntax: TextSyntax | null): readonly TextRange[] {
  const lines =
    syntax === null
      ? [...text.matchAll(/[^\n]+/g)].map(({ 0: line, index }) => ({
          start: index,
          end: index + line.length,
        }))
      : parseTextBlocks(text, syntax).flatMap(segmentsOf);
  return lines.filter(({ start, end }) => end > start);
}

/** Fills the lines from `start`; the last one is cut at a word. */
function findEnd(
  text: string,
  segments: readonly TextRange[],
  { start, linesMax, lineUnits }: ExcerptSize & { readonly start: number },
): number {
  let left = linesMax;
  let last = start;
  for (const segment of segments) {
    const from = Math.max(start, segment.start);
    const lines = Math.max(1, Math.ceil((segment.end - from) / lineUnits));
    if (lines > left) return left === 0 ? last : wordEnd(text, from + left * lineUnits);
    left -= lines;
    last = segment.end;
  }
  return last;
}

/** Words that are longer are cut. */
const wordUnitsMax = 40;

/** Returns the start of the first word from a position, at most `end`. */
function wordStart(text: string, position: number, end: number): number {
  const space = text.slice(position, position + wordUnitsMax).search(/\s\S/);
  return Math.min(end, withoutHalves(text, space === -1 ? position : position + space + 1));
}

/** Returns the end of the last whole word before a position. */
function wordEnd(text: string, position: number): number {
  const start = Math.max(0, position - wordUnitsMax);
  const space = text.slice(start, position).search(/\s\S*$/);
  return withoutHalves(text, space === -1 ? position : start + space);
}

/** Moves a position out of a surrogate pair. */
function withoutHalves(text: string, position: number): number {
  return /[\udc00-\udfff]/.test(text[position] ?? '') ? position - 1 : position;
}
