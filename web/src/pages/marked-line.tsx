import { type ComponentChildren, Fragment } from 'preact';
import { type DisplayLine, splitInline, type TextRange } from '../../../src/core/text-blocks.ts';

/** Ranges of a text to emphasize, in UTF-16 units. */
export interface TextMarks {
  /** Range in elements of `outerClass`, around the marks in it; null for none. */
  readonly outer: TextRange | null;
  readonly outerClass: string;
  /** Ranges in `mark` elements, in order and without overlaps. */
  readonly inner: readonly TextRange[];
  readonly innerProps: { readonly class?: string; readonly tabIndex?: number };
}

export interface MarkedSource {
  readonly text: string;
  /** Whether code spans and strong emphasis of Markdown are rendered. */
  readonly isMarkdown: boolean;
  readonly marks: TextMarks;
  /** Part of the text that is shown. */
  readonly shown: TextRange;
}

interface Piece {
  text: string;
  readonly style: 'code' | 'strong' | null;
  readonly isOuter: boolean;
  readonly isInner: boolean;
}

export function overlaps(one: TextRange, other: TextRange): boolean {
  return one.start < other.end && other.start < one.end;
}

/** Renders the shown part of a line with its marks, as text nodes and never as HTML. */
export function renderLine(line: DisplayLine, source: MarkedSource): ComponentChildren {
  const pieces: Piece[] = [];
  const visible = line.filter((range) => overlaps(range, source.shown));
  for (const range of visible) {
    const last = pieces.at(-1);
    if (last !== undefined) last.text += range.separator;
    for (const piece of splitRange(range, source)) addPiece(pieces, piece);
  }
  const [first, last] = [visible[0], visible.at(-1)];
  if (first === undefined || last === undefined) return null;
  const isCutBefore = source.shown.start > (line[0]?.start ?? 0);
  const isCutAfter = source.shown.end < (line.at(-1)?.end ?? 0);
  return (
    <>
      {isCutBefore && '… '}
      {groupPieces(pieces).map((group, i) => renderGroup(group, i, source.marks))}
      {isCutAfter && ' …'}
    </>
  );
}

/** Splits the shown part of a range at its inline styles and at the edges of its marks. */
function splitRange(range: TextRange, { text, isMarkdown, marks, shown }: MarkedSource): Piece[] {
  const part = { start: Math.max(range.start, shown.start), end: Math.min(range.end, shown.end) };
  const spans = isMarkdown ? splitInline(text, part) : [{ ...part, style: null }];
  return spans.flatMap((span) =>
    splitAtMarks(span, marks).map(({ start, end, isOuter, isInner }) => ({
      text: text.slice(start, end),
      style: span.style,
      isOuter,
      isInner,
    })),
  );
}

function splitAtMarks(span: TextRange, { outer, inner }: TextMarks) {
  const marks = inner.filter((each) => overlaps(each, span));
  const edges = [...marks, ...(outer === null ? [] : [outer])].flatMap(({ start, end }) => [start, end]);
  const inside = edges.filter((edge) => edge > span.start && edge < span.end);
  const cuts = [...new Set([span.start, ...inside, span.end])].sort((one, other) => one - other);
  return cuts.slice(1).map((end, i) => {
    const part = { start: cuts[i] as number, end };
    return {
      ...part,
      isOuter: outer !== null && overlaps(part, outer),
      isInner: marks.some((mark) => overlaps(part, mark)),
    };
  });
}

/** Extends the last piece if it looks the same: a mark over several printed lines is one element. */
function addPiece(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1);
  const isSame =
    last?.style === piece.style && last.isOuter === piece.isOuter && last.isInner === piece.isInner;
  if (last !== undefined && isSame) last.text += piece.text;
  else pieces.push(piece);
}

function groupPieces(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const groups: Piece[][] = [];
  for (const piece of pieces) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.isOuter === piece.isOuter) last.push(piece);
    else groups.push([piece]);
  }
  return groups;
}

function renderGroup(group: readonly Piece[], key: number, marks: TextMarks): ComponentChildren {
  const content = group.map((piece, i) => renderPiece(piece, i, marks));
  return group[0]?.isOuter === true ? (
    <span key={key} class={marks.outerClass}>
      {content}
    </span>
  ) : (
    <Fragment key={key}>{content}</Fragment>
  );
}

function renderPiece({ text, style, isInner }: Piece, key: number, { innerProps }: TextMarks) {
  const content = isInner ? <mark {...innerProps}>{text}</mark> : text;
  if (style === 'code') return <code key={key}>{content}</code>;
  return style === 'strong' ? <strong key={key}>{content}</strong> : <Fragment key={key}>{content}</Fragment>;
}
