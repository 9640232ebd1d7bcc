import type { TokenizerCallbacks } from 'htmlparser2';
import type { DecodedText } from '../../encoding/decode.ts';
import { collapseWhitespace } from '../../page-builder.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext } from '../format.ts';
import { joinCellLines } from './html-row.ts';

const blockElements = new Set(
  (
    'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 header hr li main menu nav ol optgroup option p pre section select summary table ' +
    'tbody tfoot thead title tr ul'
  ).split(' '),
);
const paragraphElements = new Set('blockquote dl h1 h2 h3 h4 h5 h6 hr ol p pre section table ul'.split(' '));
const cellElements = new Set(['td', 'th']);
const rowElements = new Set(['tr', 'table']);
/** Elements that make a row a layout container, whose lines remain lines. */
const layoutElements = new Set(['table', 'pre']);
/** Maximum UTF-16 code units of a heading; a longer or unclosed one is not a heading. */
const headingUnitsMax = 500;
/** Elements whose content is not page text. */
const hiddenElements = new Set('script style noscript template svg iframe ix:header'.split(' '));
/**
 * Elements skipped entirely when marked as hidden; each requires a closing tag, so that no other content is
 * lost.
 */
const hideableElements = new Set('div span section article aside nav ul ol dl table form'.split(' '));

/**
 * Converts HTML and XHTML to one page: blocks on lines, table cells separated by tabs, headings marked with
 * `#`.
 */
export async function* parseHtml(
  decoded: DecodedText,
  { limits }: ParseContext,
): AsyncGenerator<string, DocumentDetails> {
  const extracted = await convertHtmlToText(decoded.text, new TextBudget(limits.textUnitsMax));
  yield extracted.text;
  return {
    headings: true,
    title: extracted.title,
    language: extracted.language,
    warnings: decoded.warning === null ? [] : [decoded.warning],
  };
}

export interface HtmlText {
  readonly text: string;
  /** Title of the head, else the first heading. */
  readonly title: string | null;
  readonly heading: string | null;
  /** `lang` attribute of the html element. */
  readonly language: string | null;
}

/**
 * Extracts the visible text. Linear in the length of the source for any nesting depth: keeps no tree and no
 * element stack. The first call loads the package, which takes a tenth of the CPU time of the start of a process.
 */
export async function convertHtmlToText(source: string, budget: TextBudget): Promise<HtmlText> {
  const { Tokenizer } = await import('htmlparser2');
  const collector = new HtmlCollector(source, budget);
  const tokenizer = new Tokenizer({ decodeEntities: true }, collector);
  tokenizer.write(source);
  tokenizer.end();
  return collector.getResult();
}

class HtmlCollector implements TokenizerCallbacks {
  private readonly source: string;
  private readonly budget: TextBudget;
  private readonly lines: string[] = [];
  /** Parts of the current line, joined only once. */
  private line: string[] = [];
  private lineEndsInSpace = true;
  private tag = '';
  private attribute = '';
  private attributeValue = '';
  /**
   * Element that hides its content, and the number of open elements of that name; nesting of other elements
   * is irrelevant.
   */
  private hidden: { name: string; depth: number } | null = null;
  private preformatted = 0;
  private inTitle = false;
  private headTitle = '';
  private headingLevel = 0;
  private firstHeading: string | null = null;
  private heading: string[] = [];
  private language: string | null = null;
  /** Start index in `lines` of each cell of the innermost row; null: no row, or a layout row. */
  private row: number[] | null = null;

  constructor(source: string, budget: TextBudget) {
    this.source = source;
    this.budget = budget;
  }

  getResult(): HtmlText {
    this.endHeading();
    this.endRow();
    const text = this.lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    const heading = this.firstHeading;
    return { text, title: collapseWhitespace(this.headTitle) || heading, heading, language: this.language };
  }

  onopentagname(start: number, end: number): void {
    this.tag = this.source.slice(start, end).toLowerCase();
    if (this.hidden !== null) {
      if (this.hidden.name === this.tag) this.hidden.depth += 1;
      return;
    }
    if (hiddenElements.has(this.tag)) this.hidden = { name: this.tag, depth: 1 };
    else this.handleOpen(this.tag);
  }

  onselfclosingtag(): void {
    if (this.hidden?.name === this.tag) this.closeHidden();
  }

  onclosetag(start: number, end: number): void {
    const name = this.source.slice(start, end).toLowerCase();
    if (this.hidden === null) this.handleClose(name);
    else if (this.hidden.name === name) this.closeHidden();
  }

  ontext(start: number, end: number): void {
    this.add(this.source.slice(start, end));
  }

  ontextentity(codepoint: number): void {
    this.add(String.fromCodePoint(codepoint));
  }

  oncdata(start: number, end: number, endOffset: number): void {
    this.add(this.source.slice(start, end - endOffset));
  }

  onattribname(start: number, end: number): void {
    this.attribute = this.source.slice(start, end).toLowerCase();
    this.attributeValue = '';
  }

  onattribdata(start: number, end: number): void {
    if (this.tag === 'html' || this.attribute === 'style')
      this.attributeValue += this.source.slice(start, end);
  }

  onattribend(): void {
    const names = this.attribute === 'lang' || this.attribute === 'xml:lang';
    if (this.tag === 'html' && names) this.language ??= this.attributeValue;
    if (this.hidden !== null || !hideableElements.has(this.tag)) return;
    const hides = this.attribute === 'style' && /display\s*:\s*none/i.test(this.attributeValue);
    if (hides || this.attribute === 'hidden') this.hidden = { name: this.tag, depth: 1 };
  }

  onattribentity(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onopentagend(): void {}
  onprocessinginstruction(): void {}

  private closeHidden(): void {
    if (this.hidden === null) return;
    this.hidden.depth -= 1;
    if (this.hidden.depth === 0) this.hidden = null;
  }

  private handleOpen(name: string): void {
    if (name === 'title') this.inTitle = true;
    if (name === 'pre') this.preformatted += 1;
    const level = getHeadingLevel(name);
    if (level > 0 || paragraphElements.has(name)) this.endHeading();
    if (rowElements.has(name)) this.endRow();
    if (cellElements.has(name)) this.enterCell();
    if (blockElements.has(name)) this.endBlock(name);
    if (level > 0 || layoutElements.has(name)) this.row = null;
    if (name === 'tr') this.row = [];
    if (level > 0) this.headingLevel = level;
  }

  private handleClose(name: string): void {
    if (name === 'title') this.inTitle = false;
    if (name === 'pre') this.endPreformatted();
    if (getHeadingLevel(name) > 0) this.endHeading();
    else if (rowElements.has(name)) this.endRow();
    if (blockElements.has(name) && getHeadingLevel(name) === 0) this.endBlock(name);
  }

  private enterCell(): void {
    if (this.row === null) {
      if (this.line.length > 0) this.append('\t');
      return;
    }
    this.endLine();
    this.row.push(this.lines.length);
  }

  /** Converts the lines of the cells of a row to the row. */
  private endRow(): void {
    this.endLine();
    const starts = this.row;
    this.row = null;
    if (starts === null || starts.length === 0) return;
    const cellLines = starts.map((start, index) => this.lines.slice(start, starts[index + 1]));
    this.lines.length = starts[0]!;
    for (const line of joinCellLines(cellLines)) this.lines.push(line);
  }

  private endPreformatted(): void {
    this.endLine();
    this.preformatted = Math.max(0, this.preformatted - 1);
  }

  private endHeading(): void {
    const text = collapseWhitespace(this.heading.join(''));
    if (text !== '') {
      if (text.length <= headingUnitsMax) this.firstHeading ??= text;
      const mark = text.length <= headingUnitsMax ? `${'#'.repeat(this.headingLevel)} ` : '';
      this.lines.push('', `${mark}${text}`, '');
    }
    this.headingLevel = 0;
    this.heading = [];
  }

  private endBlock(name: string): void {
    if (this.headingLevel > 0) {
      this.heading.push(' ');
      return;
    }
    this.endLine();
    if (paragraphElements.has(name)) this.lines.push('');
  }

  private endLine(): void {
    const joined = this.line.join('');
    const line = this.preformatted > 0 ? joined.trimEnd() : joined.replace(/ *\t */g, '\t').trim();
    if (line !== '') this.lines.push(line);
    this.line = [];
    this.lineEndsInSpace = true;
  }

  private add(raw: string): void {
    if (this.hidden !== null) return;
    this.budget.consume(raw.length);
    if (this.inTitle) this.headTitle += raw;
    else if (this.headingLevel > 0) this.heading.push(raw);
    else if (this.preformatted > 0) this.addPreformatted(raw);
    else this.append(raw.replace(/[ \t\r\n\f]+/g, ' '));
  }

  private append(text: string): void {
    const doubled = this.lineEndsInSpace && text.startsWith(' ');
    const piece = doubled ? text.slice(1) : text;
    if (piece === '') return;
    this.line.push(piece);
    this.lineEndsInSpace = /[ \t]$/.test(piece);
  }

  private addPreformatted(raw: string): void {
    const pieces = raw.split(/\r\n|\r|\n/);
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      this.lines.push((this.line.join('') + piece).trimEnd());
      this.line = [];
    }
    if (last !== '') this.line.push(last);
  }
}

function getHeadingLevel(name: string): number {
  return name.length === 2 && name[0] === 'h' && name[1]! >= '1' && name[1]! <= '6' ? Number(name[1]) : 0;
}
