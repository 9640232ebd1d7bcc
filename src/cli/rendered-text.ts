import { splitHighlights } from '../core/excerpt.ts';
import type { TextSyntax } from '../core/file-types.ts';
import {
  type DisplayBlock,
  type DisplayLine,
  type ListItem,
  parseTextBlocks,
  splitInline,
  type TextRange,
} from '../core/text-blocks.ts';
import type { Style, StyledText } from './colors.ts';
import { type Indents, mergeSpans, type StyledLine, wrapStyled } from './styled-text.ts';
import { breakWord, displayWidth, fitWidths, measureCells, toPrintable } from './text-layout.ts';

export interface RenderOptions {
  /** Syntax of the text; null for code and other texts whose line breaks have a meaning. */
  readonly syntax: TextSyntax | null;
  readonly columns: number;
  /** Words to be marked. */
  readonly words: readonly string[];
  /** Whether blocks are separated by blank lines. */
  readonly hasBlankLines: boolean;
}

interface RenderSource extends RenderOptions {
  readonly text: string;
}

const noIndents: Indents = { first: '', rest: '' };
const cellGap = '  ';

/** Renders the text of a document as lines of a terminal: headings, lists, tables, code and wrapped paragraphs. */
export function renderText(text: string, options: RenderOptions): StyledLine[] {
  const source: RenderSource = { ...options, text };
  const blocks: readonly DisplayBlock[] =
    options.syntax === null
      ? [{ kind: 'code', range: { start: 0, end: text.length } }]
      : parseTextBlocks(text, options.syntax);
  return blocks.flatMap((block, i) => {
    const separator = i > 0 && options.hasBlankLines ? [[]] : [];
    return [...separator, ...renderBlock(block, source)];
  });
}

function renderBlock(block: DisplayBlock, source: RenderSource): StyledLine[] {
  switch (block.kind) {
    case 'heading':
      return renderLines(block.lines, source, { indents: noIndents, style: 'bold' });
    case 'paragraph':
      return renderLines(block.lines, source, { indents: noIndents, style: 'plain' });
    case 'list':
      return block.items.flatMap((item) => renderItem(item, source));
    case 'table':
      return renderTable(block, source);
    case 'code':
      return renderCode(block.range, source);
  }
}

function renderLines(
  lines: readonly DisplayLine[],
  source: RenderSource,
  { indents, style }: { readonly indents: Indents; readonly style: Style },
): StyledLine[] {
  return lines.flatMap((line, i) =>
    wrapStyled(styleLine(line, source, style), source.columns, {
      first: i === 0 ? indents.first : indents.rest,
      rest: indents.rest,
    }),
  );
}

function renderItem({ marker, depth, lines }: ListItem, source: RenderSource): StyledLine[] {
  const written = toPrintable(source.text.slice(marker.start, marker.end));
  const bullet = /^[-*+]$/.test(written) ? '•' : written;
  // A deep list keeps at least half of the columns for its text.
  const blank = '  '.repeat(Math.min(depth, Math.floor(source.columns / 8)));
  const first = `${blank}${bullet} `;
  const indents = { first, rest: ' '.repeat(displayWidth(first)) };
  return renderLines(lines, source, { indents, style: 'plain' });
}

function renderTable(
  { hasHeader, rows }: Extract<DisplayBlock, { kind: 'table' }>,
  source: RenderSource,
): StyledLine[] {
  const cells = rows.map((row) => row.map(({ start, end }) => toPrintable(source.text.slice(start, end))));
  const columnCount = Math.max(...cells.map((row) => row.length));
  const measured = Array.from({ length: columnCount }, (_, column) =>
    measureCells(cells.map((row) => row[column] ?? '')),
  );
  const widths = fitWidths(measured, source.columns - cellGap.length * (columnCount - 1));
  return rows.flatMap((row, i) => {
    const style = hasHeader && i === 0 ? 'bold' : 'plain';
    const wrapped = widths.map((width, column) => {
      const range = row[column];
      const spans = range === undefined ? [] : styleLine([{ ...range, separator: '' }], source, style);
      return wrapStyled(spans, width, noIndents);
    });
    const height = Math.max(...wrapped.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      joinCells(
        wrapped.map((lines) => lines[line] ?? []),
        widths,
      ),
    );
  });
}

function joinCells(cells: readonly StyledLine[], widths: readonly number[]): StyledLine {
  const spans: StyledText[] = [];
  const last = cells.findLastIndex((cell) => cell.length > 0);
  for (const [column, cell] of cells.entries()) {
    spans.push(...cell);
    if (column >= last) break;
    const width = cell.reduce((sum, { text }) => sum + displayWidth(text), 0);
    spans.push({ text: ' '.repeat(Math.max(0, widths[column]! - width)) + cellGap, style: 'plain' });
  }
  return mergeSpans(spans);
}

/** Keeps the indentation of code. A long line continues on the next one. */
function renderCode({ start, end }: TextRange, source: RenderSource): StyledLine[] {
  const style = source.syntax === null ? 'plain' : 'code';
  const lines = source.text
    .slice(start, end)
    .replaceAll('\t', '    ')
    .split(/\r\n|[\n\r\u2028\u2029]/u);
  return lines.flatMap((line) => {
    const [blank = ''] = /^ */.exec(line) ?? [];
    const code = line.slice(blank.length).split(' ').map(toPrintable).join(' ');
    return breakWord(blank + code, source.columns).map((piece) =>
      mergeSpans(markWords(piece, source.words, style)),
    );
  });
}

/**
 * Returns the text from `start`, marked as cut. Starts at the line of `start` if line breaks have a meaning there, as
 * in code and tables.
 */
export function cutExcerpt(text: string, start: number, syntax: TextSyntax | null): string {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const block = syntax === null ? undefined : blockAt(text, start, syntax);
  const isParagraph = block?.kind === 'paragraph' || block?.kind === 'list';
  const from = isParagraph ? start : lineStart;
  if (text.slice(0, from).trim() === '') return text;
  if (block?.kind === 'code') return `...\n\n${fenceBefore(text, block.range)}\n${text.slice(from)}`;
  return block?.kind === 'paragraph' ? `... ${text.slice(from)}` : `...\n\n${text.slice(from)}`;
}

/** Returns the last block that starts at or before `position`. */
function blockAt(text: string, position: number, syntax: TextSyntax): DisplayBlock | undefined {
  return parseTextBlocks(text, syntax).findLast((block) => blockStart(block) <= position);
}

function blockStart(block: DisplayBlock): number {
  switch (block.kind) {
    case 'code':
      return block.range.start;
    case 'list':
      return block.items[0]?.marker.start ?? 0;
    case 'table':
      return block.rows[0]?.[0]?.start ?? 0;
    default:
      return block.lines[0]?.[0]?.start ?? 0;
  }
}

function fenceBefore(text: string, { start }: TextRange): string {
  return /(`{3,}|~{3,})[^\n]*\r?\n$/.exec(text.slice(0, start))?.[1] ?? '```';
}

/** Returns the spans of a line with the marked words and, in Markdown, code and strong emphasis. */
function styleLine(line: DisplayLine, { text, syntax, words }: RenderSource, style: Style): StyledText[] {
  return line.flatMap(({ start, end, separator }) => {
    const inline = syntax === 'markdown' ? splitInline(text, { start, end }) : [{ start, end, style: null }];
    const styleOf = (name: 'code' | 'strong' | null) =>
      name === 'code' ? 'code' : name === 'strong' ? 'bold' : style;
    return [
      { text: separator, style },
      ...inline.flatMap((span) => markWords(text.slice(span.start, span.end), words, styleOf(span.style))),
    ];
  });
}

function markWords(text: string, words: readonly string[], style: Style): StyledText[] {
  return splitHighlights(text, words).map((part) => ({
    text: part.text,
    style: part.isHighlighted ? 'match' : style,
  }));
}
