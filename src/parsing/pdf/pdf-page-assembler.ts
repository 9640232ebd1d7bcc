import { cleanPageText } from '../page-text.ts';
import { BodyType, findPageHeadings, type OutlineHeadings } from './pdf-headings.ts';
import type { TextLine } from './pdf-lines.ts';
import {
  findRunningLines,
  PageEdges,
  runningLinesPagesMin,
  runningLinesPageWindow,
} from './pdf-running-lines.ts';

/** Content of a page: its lines, or plain text from another source (another engine, OCR). */
export type PageSource = { readonly lines: readonly TextLine[] } | { readonly text: string };

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
  add(source: PageSource): string[] {
    const lines = 'lines' in source ? source.lines : [];
    this.#bodyType.add(lines);
    this.#pages.set(this.#addedCount, { source, edges: new PageEdges(lines) });
    this.#addedCount += 1;
    const texts: string[] = [];
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

  #buildText(index: number): string {
    const { source } = this.#pages.get(index)!;
    if ('text' in source) return source.text;
    const running =
      this.#total < runningLinesPagesMin
        ? new Set()
        : findRunningLines(index, (at) => this.#pages.get(at)?.edges ?? null);
    const lines = source.lines.filter((line) => !running.has(line));
    if (
      lines.every(({ text }) => !/\p{L}/u.test(text)) &&
      source.lines.some(({ text }) => /\p{L}/u.test(text))
    )
      return cleanPageText(this.#joinLines(index, source.lines));
    for (const line of source.lines) if (running.has(line)) this.#countRemoved(line.text);
    return cleanPageText(this.#joinLines(index, lines)).replace(dotLeaders, ' ... ');
  }

  #countRemoved(text: string): void {
    const wording = text.replace(/\d+/g, '#').trim();
    this.#removedLines.set(wording, (this.#removedLines.get(wording) ?? 0) + 1);
  }

  #joinLines(index: number, lines: readonly TextLine[]): string {
    const headings = findPageHeadings(index, lines, this.#bodyType, this.#outline);
    let text = '';
    for (let i = 0; i < lines.length; i++) {
      const heading = headings.get(i);
      if (heading === undefined) {
        text = appendLine(text, lines[i]!);
        continue;
      }
      const words = lines
        .slice(i, i + heading.count)
        .reduce((all, line) => appendLine(all, { ...line, afterGap: false }), '');
      text += `${text === '' ? '' : '\n\n'}${'#'.repeat(heading.level)} ${words.replaceAll('\n', ' ')}\n\n`;
      i += heading.count - 1;
    }
    return text;
  }
}

/** Dots between an entry of a table of contents and its page number. */
const dotLeaders = / ?(?:[.\u2024\u2026] ?){5,}/g;
const hyphenatedWordEnd = /(?:\p{L}[-\u2010]|[\ufffe\u00ad])$/u;

/** Appends a line, and joins a word hyphenated at the end of the previous line, even across columns. */
function appendLine(text: string, { text: line, afterGap, cells }: TextLine): string {
  if (text === '' || text.endsWith('\n\n')) return text + line;
  if (!cells && hyphenatedWordEnd.test(text) && /^\p{Ll}/u.test(line)) return text.slice(0, -1) + line;
  if (!afterGap || (/[\p{Ll},]$/u.test(text) && /^\p{Ll}/u.test(line))) return `${text}\n${line}`;
  return `${text}\n\n${line}`;
}
