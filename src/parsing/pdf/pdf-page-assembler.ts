import type { LineBox } from '../../core/line-boxes.ts';
import { type LineText, LineTextBuilder, replaceInLines } from '../line-text.ts';
import { cleanPageText } from '../page-text.ts';
import type { PageText } from '../parsed-page.ts';
import { type PageFrame, toLineBox } from './page-frame.ts';
import { BodyType, findPageHeadings, type OutlineHeadings } from './pdf-headings.ts';
import type { TextLine } from './pdf-lines.ts';
import {
  findRunningLines,
  PageEdges,
  runningLinesPagesMin,
  runningLinesPageWindow,
} from './pdf-running-lines.ts';

/** Lines of a page in reading order. */
export interface PageLines {
  readonly textLines: readonly TextLine[];
  /** Null if the page has no image or its visible area is not known. */
  readonly frame: PageFrame | null;
}

/** Content of a page: its lines, or a text from OCR. */
export type PageSource = PageLines | PageText;

interface PendingPage {
  readonly source: PageSource;
  readonly edges: PageEdges;
}

/**
 * Builds the text of pages from their lines: drops running headers, footers and page numbers, marks headings,
 * and joins words hyphenated at line ends. A page is ready once enough following pages are known to detect
 * repetition.
 */
export class PageAssembler {
  readonly #outline: OutlineHeadings;
  readonly #total: number;
  readonly #bodyType = new BodyType();
  readonly #pages = new Map<number, PendingPage>();
  readonly #removedLines = new Map<string, number>();
  #addedCount = 0;
  #emittedCount = 0;

  constructor(total: number, outline: OutlineHeadings) {
    this.#total = total;
    this.#outline = outline;
  }

  /** Dropped lines and their number of occurrences, by wording with numbers masked. */
  get removedLines(): ReadonlyMap<string, number> {
    return this.#removedLines;
  }

  /** Adds the next page. Returns the texts of the pages that are now ready, in order. */
  add(source: PageSource): PageText[] {
    const lines = 'textLines' in source ? source.textLines : [];
    this.#bodyType.add(lines);
    this.#pages.set(this.#addedCount, { source, edges: new PageEdges(lines) });
    this.#addedCount += 1;
    const texts: PageText[] = [];
    while (
      this.#emittedCount < this.#addedCount &&
      (this.#addedCount === this.#total || this.#emittedCount + runningLinesPageWindow < this.#addedCount)
    ) {
      texts.push(this.#buildText(this.#emittedCount));
      this.#pages.delete(this.#emittedCount - runningLinesPageWindow);
      this.#emittedCount += 1;
    }
    return texts;
  }

  #buildText(index: number): PageText {
    const { source } = this.#pages.get(index)!;
    if ('text' in source) return source;
    const { textLines, frame } = source;
    const running =
      this.#total < runningLinesPagesMin
        ? new Set()
        : findRunningLines(index, (at) => this.#pages.get(at)?.edges ?? null);
    const lines = textLines.filter((line) => !running.has(line));
    if (lines.every(({ text }) => !/\p{L}/u.test(text)) && textLines.some(({ text }) => /\p{L}/u.test(text)))
      return toPageText(cleanPageText(this.#joinLines(index, textLines)), textLines, frame);
    for (const line of textLines) if (running.has(line)) this.#countRemoved(line.text);
    const cleaned = cleanPageText(this.#joinLines(index, lines));
    return toPageText(replaceInLines(cleaned, dotLeaders, ' ... '), lines, frame);
  }

  #countRemoved(text: string): void {
    const wording = text.replace(/\d+/g, '#').trim();
    this.#removedLines.set(wording, (this.#removedLines.get(wording) ?? 0) + 1);
  }

  #joinLines(index: number, lines: readonly TextLine[]): LineText {
    const headings = findPageHeadings(index, lines, this.#bodyType, this.#outline);
    const joined = new LineTextBuilder();
    for (let i = 0; i < lines.length; i++) {
      const heading = headings.get(i);
      if (heading === undefined) {
        appendLine(joined, lines[i]!);
        continue;
      }
      const words = new LineTextBuilder();
      for (const line of lines.slice(i, i + heading.count)) appendLine(words, { ...line, afterGap: false });
      joined.add(`${joined.text === '' ? '' : '\n\n'}${'#'.repeat(heading.level)} `);
      joined.addLines(replaceInLines(words, /\n/g, ' '));
      joined.add('\n\n');
      i += heading.count - 1;
    }
    return joined;
  }
}

/** `lines`: those of the text, in the same order. */
function toPageText(
  { text, edges }: LineText,
  lines: readonly TextLine[],
  frame: PageFrame | null,
): PageText {
  const boxes: LineBox[] = [];
  if (frame === null) return { text, lines: boxes };
  for (const [i, { box }] of lines.flatMap(({ parts }) => parts).entries())
    if (box !== null) boxes.push({ start: edges[2 * i]!, end: edges[2 * i + 1]!, ...toLineBox(box, frame) });
  return { text, lines: boxes };
}

/** Dots between an entry of a table of contents and its page number. */
const dotLeaders = / ?(?:[.\u2024\u2026] ?){5,}/g;
const hyphenatedWordEnd = /(?:\p{L}[-\u2010]|[\ufffe\u00ad])$/u;

/** Appends a line, and joins a word hyphenated at the end of the previous line, even across columns. */
function appendLine(joined: LineTextBuilder, { text: line, afterGap, cells, parts }: TextLine): void {
  const { text } = joined;
  if (text !== '' && !text.endsWith('\n\n')) {
    if (!cells && hyphenatedWordEnd.test(text) && /^\p{Ll}/u.test(line)) joined.removeLastUnit();
    else if (!afterGap || (/[\p{Ll},]$/u.test(text) && /^\p{Ll}/u.test(line))) joined.add('\n');
    else joined.add('\n\n');
  }
  joined.addLine(line, parts);
}
