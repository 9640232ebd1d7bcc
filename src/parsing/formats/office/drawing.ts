import type { TextBudget } from '../../text-budget.ts';
import type { XmlReader } from '../../xml-reader.ts';

/** Text in drawings of Office files: shapes, tables, charts. Source: ECMA-376 part 1, sections 20 and 21. */

/** Placeholders that repeat on every slide. */
const repeatedPlaceholders = new Set(['ftr', 'sldNum', 'dt', 'hdr', 'sldImg']);
const titlePlaceholders = new Set(['title', 'ctrTitle']);

/** Returns the text of all shapes of a part, line by line. */
export function readShapeLines(reader: XmlReader, budget: TextBudget, headings: boolean): string[] {
  const walker = new ShapeWalker(reader, budget, headings);
  walker.walk();
  return walker.lines;
}

/** Elements of a chart, including the newer chart types, that end a line of text. */
const chartLineEnd = /^(?:p|lvl|txData|\w+Cache|\w+Lit)$/;

/**
 * Returns the titles, categories, series names and values that a chart caches for programs without its
 * workbook.
 */
export function readChartLines(reader: XmlReader, budget: TextBudget): string[] {
  const lines: string[] = [];
  let values: string[] = [];
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    // A point of the newer chart types contains its text directly; in others, the text is in a value element.
    const isText = token === 'text' && reader.name === 'pt';
    if (isText || (token === 'open' && (reader.name === 't' || reader.name === 'v'))) {
      const text = (isText ? reader.text : reader.readText()).trim();
      if (text === '') continue;
      budget.consume(text.length + 1);
      values.push(text);
    } else if (token === 'close' && chartLineEnd.test(reader.name)) {
      if (values.length > 0) lines.push(values.join('\t'));
      values = [];
    }
  }
  return [...new Set(lines)];
}

/** Collects the paragraphs of all shapes of one slide, notes page or diagram. */
export class ShapeWalker {
  readonly lines: string[] = [];
  title: string | null = null;

  private readonly reader: XmlReader;
  private readonly budget: TextBudget;
  private readonly headings: boolean;
  private paragraph: string[] = [];
  private placeholder: string | null = null;
  private row: string[] | null = null;
  private cell: string[] = [];

  constructor(reader: XmlReader, budget: TextBudget, headings: boolean) {
    this.reader = reader;
    this.budget = budget;
    this.headings = headings;
  }

  walk(): void {
    // The `t` of a diagram contains paragraphs, that of a paragraph contains characters.
    let inText = false;
    for (let token = this.reader.next(); token !== 'end'; token = this.reader.next()) {
      if (token === 'text') {
        if (inText) this.add(this.reader.text);
        continue;
      }
      inText = token === 'open' && this.reader.name === 't';
      if (token === 'open') this.handleOpen(this.reader.name);
      else this.handleClose(this.reader.name);
    }
  }

  private handleOpen(name: string): void {
    if (name === 'Fallback') this.reader.skip();
    else if (name === 'sp') this.placeholder = null;
    else if (name === 'ph') this.placeholder = this.reader.findAttribute('type') ?? 'body';
    else if (name === 'txBody' && this.placeholder !== null && repeatedPlaceholders.has(this.placeholder))
      this.reader.skip();
    else if (name === 'br') this.add('\n');
    else if (name === 'tab') this.add('\t');
    else if (name === 'tr') this.row = [];
  }

  private handleClose(name: string): void {
    if (name === 'p') this.endParagraph();
    else if (name === 'tc') this.endCell();
    else if (name === 'tr') this.endRow();
    else if (name === 'sp') this.placeholder = null;
  }

  private add(text: string): void {
    this.budget.consume(text.length);
    this.paragraph.push(text);
  }

  private endParagraph(): void {
    const text = this.paragraph.join('').trim();
    this.paragraph = [];
    if (text === '') return;
    if (this.row !== null) this.cell.push(text.replace(/\s+/g, ' '));
    else if (this.headings && this.placeholder !== null && titlePlaceholders.has(this.placeholder))
      this.addTitle(text);
    else this.lines.push(text);
  }

  private addTitle(text: string): void {
    const line = text.replace(/\s+/g, ' ');
    this.title ??= line;
    this.lines.push('', `# ${line}`, '');
  }

  private endCell(): void {
    this.row?.push(this.cell.join(' '));
    this.cell = [];
  }

  private endRow(): void {
    const row = this.row?.join(' | ') ?? '';
    if (/[^ |]/.test(row)) this.lines.push(row);
    this.row = null;
  }
}
