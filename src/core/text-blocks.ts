/**
 * Structure of the text of a page, for display: headings, lists, tables, code and paragraphs without the line breaks
 * of the printed page. All parts are ranges of the text, so that a passage can be marked in them. Shared by the
 * dashboard and the command line.
 */

import type { TextSyntax } from './file-types.ts';

/** Half-open range of the text, in UTF-16 units. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Ranges that are displayed as one line; `separator` replaces the line break before a range. */
export type DisplayLine = readonly (TextRange & { readonly separator: '' | ' ' })[];

export interface ListItem {
  /** Marker as written, such as "3.". */
  readonly marker: TextRange;
  /** Nesting, from 0. */
  readonly depth: number;
  readonly lines: readonly DisplayLine[];
}

export type DisplayBlock =
  | { readonly kind: 'heading'; readonly level: number; readonly lines: readonly DisplayLine[] }
  | { readonly kind: 'paragraph'; readonly lines: readonly DisplayLine[] }
  | { readonly kind: 'list'; readonly items: readonly ListItem[] }
  | { readonly kind: 'table'; readonly hasHeader: boolean; readonly rows: readonly (readonly TextRange[])[] }
  | { readonly kind: 'code'; readonly range: TextRange };

interface Line extends TextRange {
  readonly text: string;
}

const headingPattern = /^(#{1,6})[ \t]+(?=\S)/;
const itemPattern = /^([ \t]*)([-*+•‣◦▪]|\d{1,3}[.)]|\([a-z\d]{1,3}\))[ \t]+(?=\S)/;
const fencePattern = /^ {0,3}(`{3,}|~{3,})/;
const rulePattern = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;

/** Lines of the metadata at the start of a Markdown file. */
const frontMatterLinesMax = 64;

export function parseTextBlocks(text: string, syntax: TextSyntax): DisplayBlock[] {
  const lines = splitLines(text);
  const blocks: DisplayBlock[] = [];
  const sink: BlockSink = { blocks, syntax, hasFences: true };
  let next = syntax === 'markdown' ? readFrontMatter(lines, blocks) : 0;
  while (next < lines.length) {
    const line = lines[next]!;
    if (line.text.trim() === '' || rulePattern.test(line.text)) next += 1;
    else next = readBlock(lines, next, sink);
  }
  return blocks;
}

interface BlockSink {
  readonly blocks: DisplayBlock[];
  readonly syntax: TextSyntax;
  /** False once a fence has no end: searching the end of each of them would take quadratic time. */
  hasFences: boolean;
}

/** Reads the block that starts at a line; returns the line after it. */
function readBlock(lines: readonly Line[], first: number, sink: BlockSink): number {
  const line = lines[first]!;
  const fence = fencePattern.exec(line.text)?.[1];
  if (fence !== undefined && sink.hasFences) {
    const end = lines.findIndex((each, i) => i > first && each.text.trim().startsWith(fence));
    if (end > first) {
      sink.blocks.push({ kind: 'code', range: rangeOf(lines, first + 1, end) });
      return end + 1;
    }
    sink.hasFences = false;
  }
  const heading = headingPattern.exec(line.text);
  if (heading !== null) {
    const range = { start: line.start + heading[0].length, end: line.end, separator: '' as const };
    sink.blocks.push({ kind: 'heading', level: heading[1]!.length, lines: [[range]] });
    return first + 1;
  }
  if (isTableStart(line, lines[first + 1])) return readTable(lines, first, sink);
  return itemPattern.test(line.text) ? readList(lines, first, sink) : readParagraph(lines, first, sink);
}

function splitLines(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (const { 0: found, index } of text.matchAll(/\r\n|\n|\r|\u2028|\u2029|$/g)) {
    if (found === '' && index !== text.length) continue;
    lines.push({ start, end: index, text: text.slice(start, index) });
    start = index + found.length;
  }
  return lines;
}

function rangeOf(lines: readonly Line[], first: number, end: number): TextRange {
  if (first >= end) return { start: lines[first]!.start, end: lines[first]!.start };
  return { start: lines[first]!.start, end: lines[end - 1]!.end };
}

function readFrontMatter(lines: readonly Line[], blocks: DisplayBlock[]): number {
  if (lines[0]?.text.trimEnd() !== '---') return 0;
  const end = lines.findIndex(({ text }, i) => i > 0 && text.trimEnd() === '---');
  if (end <= 1 || end > frontMatterLinesMax) return 0;
  blocks.push({ kind: 'code', range: rangeOf(lines, 1, end) });
  return end + 1;
}

/** A separator between cells has space, or the end of the line, on both sides. */
const cellSeparator = /(?<=^|\s)\|(?=\s|$)/g;

function isTableRow({ text }: Line): boolean {
  const separators = text.match(cellSeparator)?.length ?? 0;
  return separators > 0 && (separators > 1 || !/^\s*\||\|\s*$/.test(text));
}

/** Whether a line is the row below the header of a Markdown table. */
function isDelimiterRow({ text }: Line): boolean {
  return /^[\s|:-]+$/.test(text) && text.includes('|') && text.includes('-');
}

/** One row with a separator may be any text; two are a table. */
function isTableStart(line: Line, next: Line | undefined): boolean {
  return isTableRow(line) && next !== undefined && (isTableRow(next) || isDelimiterRow(next));
}

function readTable(lines: readonly Line[], first: number, { blocks }: BlockSink): number {
  let end = first;
  while (end < lines.length && (isTableRow(lines[end]!) || isDelimiterRow(lines[end]!))) end += 1;
  const rows = lines.slice(first, end).filter((line) => !isDelimiterRow(line));
  const hasHeader = isDelimiterRow(lines[first + 1]!);
  blocks.push({ kind: 'table', hasHeader, rows: rows.map(splitCells) });
  return end;
}

function splitCells({ text, start }: Line): TextRange[] {
  const cells: TextRange[] = [];
  let from = 0;
  for (const { index } of [...text.matchAll(cellSeparator), { index: text.length }]) {
    cells.push(trimRange(text, { start: from, end: index }, start));
    from = index + 1;
  }
  // Outer separators of Markdown are not cells.
  if (/^\s*\|/.test(text)) cells.shift();
  if (/\|\s*$/.test(text)) cells.pop();
  return cells;
}

function trimRange(text: string, { start, end }: TextRange, offset: number): TextRange {
  const cell = text.slice(start, end);
  const first = start + (cell.length - cell.trimStart().length);
  return { start: offset + first, end: offset + Math.max(first, start + cell.trimEnd().length) };
}

function readList(lines: readonly Line[], first: number, { blocks, syntax }: BlockSink): number {
  const items: ListItem[] = [];
  const indents: number[] = [];
  let next = first;
  while (next < lines.length) {
    const line = lines[next]!;
    const found = itemPattern.exec(line.text);
    if (found === null) {
      // Blank lines between the items of one list.
      const after = lines[next + 1];
      if (line.text.trim() !== '' || after === undefined || !itemPattern.test(after.text)) break;
      next += 1;
      continue;
    }
    const indent = found[1]!.replaceAll('\t', '    ').length;
    while (indents.length > 0 && indents.at(-1)! > indent) indents.pop();
    if (indents.at(-1) !== indent) indents.push(indent);
    const end = findTextEnd(lines, next + 1);
    const content = { ...line, start: line.start + found[0].length, text: line.text.slice(found[0].length) };
    const [own, rest] = takeItemLines([content, ...lines.slice(next + 1, end)], syntax);
    const marker = { start: line.start + found[1]!.length, end: line.start + found[0].trimEnd().length };
    items.push({ marker, depth: indents.length - 1, lines: own });
    next = end - rest;
    if (rest > 0) break;
  }
  blocks.push({ kind: 'list', items });
  return next;
}

/** Splits the lines after a marker into those of the item and the number of those after it. */
function takeItemLines(lines: readonly Line[], syntax: TextSyntax): [readonly DisplayLine[], number] {
  const measure = measureOf(lines);
  let count = 1;
  while (count < lines.length) {
    const [line, next] = [lines[count - 1]!, lines[count]!];
    if (!/^\s/.test(next.text) && !isWrapped(line, next, { measure, syntax })) break;
    count += 1;
  }
  return [joinLines(lines.slice(0, count), syntax), lines.length - count];
}

function readParagraph(lines: readonly Line[], first: number, { blocks, syntax }: BlockSink): number {
  const end = findTextEnd(lines, first + 1);
  blocks.push({ kind: 'paragraph', lines: joinLines(lines.slice(first, end), syntax) });
  return end;
}

/** Returns the first line from `from` that is blank or starts another block. */
function findTextEnd(lines: readonly Line[], from: number): number {
  let end = from;
  while (end < lines.length) {
    const line = lines[end]!;
    const { text } = line;
    if (text.trim() === '' || headingPattern.test(text) || itemPattern.test(text) || fencePattern.test(text))
      break;
    if (isTableStart(line, lines[end + 1])) break;
    end += 1;
  }
  return end;
}

/** Lines shorter than this are seldom those of a printed column. */
const measureMin = 36;

/** Width of the column, in UTF-16 units: the longest line; 0 if the lines are aligned by spaces, like a table. */
function measureOf(lines: readonly Line[]): number {
  if (lines.some(({ text }) => /\t|\S {3}/.test(text))) return 0;
  return Math.max(...lines.map(({ text }) => text.trim().length));
}

function joinLines(lines: readonly Line[], syntax: TextSyntax): DisplayLine[] {
  const measure = measureOf(lines);
  const joined: DisplayLine[] = [];
  for (const [i, line] of lines.entries()) {
    const before = lines[i - 1];
    const range = trimRange(line.text, { start: 0, end: line.text.length }, line.start);
    if (before === undefined || !isWrapped(before, line, { measure, syntax }))
      joined.push([{ ...range, separator: '' }]);
    else
      joined[joined.length - 1] = [
        ...joined.at(-1)!,
        { ...range, separator: separatorBetween(before, line) },
      ];
  }
  return joined;
}

/**
 * Whether the break between two lines only ends a printed line: the first word of the next line had no space, or the
 * next line continues a sentence.
 */
function isWrapped(
  line: Line,
  next: Line,
  { measure, syntax }: { readonly measure: number; readonly syntax: TextSyntax },
): boolean {
  if (syntax === 'markdown') return !/ {2}$|\\$/.test(line.text);
  if (measure < measureMin) return false;
  const [length, word] = [line.text.trim().length, /^\s*(\S*)/.exec(next.text)?.[1] ?? ''];
  if (length + 1 + word.length > measure * 0.9) return true;
  return length > measure / 2 && /^\s*\p{Ll}/u.test(next.text) && !/[.!?:;]$/.test(line.text.trimEnd());
}

/** Scripts without spaces between words. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\u3000-\u303f\uff00-\uffef]/u;

function separatorBetween(line: Line, next: Line): '' | ' ' {
  const [last, first] = [line.text.trimEnd().at(-1) ?? '', next.text.trimStart()[0] ?? ''];
  if (/\p{L}-$/u.test(line.text.trimEnd()) && /\p{Ll}/u.test(first)) return '';
  return unspaced.test(last) && unspaced.test(first) ? '' : ' ';
}

/** Part of a line of Markdown. */
export interface InlineSpan extends TextRange {
  readonly style: 'code' | 'strong' | null;
}

/** Splits a range at code and strong emphasis of Markdown, without their markers. */
export function splitInline(text: string, { start, end }: TextRange): InlineSpan[] {
  const spans: InlineSpan[] = [];
  let from = start;
  for (const { 0: found, index } of text.slice(start, end).matchAll(/`[^`]{1,500}`|\*\*[^*]{1,500}\*\*/g)) {
    const [at, width] = [start + index, found.startsWith('`') ? 1 : 2];
    if (at > from) spans.push({ start: from, end: at, style: null });
    spans.push({
      start: at + width,
      end: at + found.length - width,
      style: width === 1 ? 'code' : 'strong',
    });
    from = at + found.length;
  }
  if (from < end) spans.push({ start: from, end, style: null });
  return spans;
}
