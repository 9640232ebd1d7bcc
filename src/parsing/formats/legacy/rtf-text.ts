import { collapseWhitespace, PageBuilder } from '../../page-builder.ts';
import type { TextBudget } from '../../text-budget.ts';

/**
 * Destination of the text of a group. Groups inside `info`, `twice` and `property` have their own
 * destinations.
 */
export type RtfDestination =
  | 'text'
  | 'hidden'
  | 'fonts'
  | 'styles'
  | 'title'
  | 'note'
  | 'label'
  | 'info'
  | 'unicode-pair'
  | 'property'
  | 'propertyName'
  | 'propertyValue';

/** Drawing property that contains text: the letters of text art. */
const drawingTextProperty = 'gtextUNICODE';

/** Builds lines and pages from the text and paragraph commands of an RTF file. */
export class RtfText {
  private readonly budget: TextBudget;
  private readonly pages: string[] = [];
  private readonly styleLevels = new Map<number, number>();
  private readonly page = new PageBuilder();
  private line: string[] = [];
  private cells: string[] = [];
  private note: string[] = [];
  private label: string[] = [];
  private infoTitle = '';
  /** Name of the drawing property whose value follows. */
  private property = '';
  private drawingText: string[] = [];
  private inTable = false;
  /** Heading level of the current paragraph; 0 for the title, null for running text. */
  private level: number | null = null;
  private style = 0;
  private styleName = '';

  constructor(budget: TextBudget) {
    this.budget = budget;
  }

  /** Title from the document properties, else the title paragraph or first heading. */
  get title(): string | null {
    return this.infoTitle.trim() || this.page.title;
  }

  add(text: string, destination: RtfDestination): void {
    if (destination === 'propertyValue' && this.property.trim() !== drawingTextProperty) return;
    this.budget.consume(text.length);
    if (destination === 'text') this.line.push(text);
    else if (destination === 'note') this.note.push(text);
    else if (destination === 'label') this.label.push(text);
    else if (destination === 'title') this.infoTitle += text;
    else if (destination === 'styles') this.addStyleName(text);
    else if (destination === 'propertyName') this.property += text;
    else if (destination === 'propertyValue') this.drawingText.push(text);
  }

  /** Handles a command other than a character or a character property. */
  handleControl(word: string, number: number | null, destination: RtfDestination): void {
    if (destination === 'styles') {
      if (word === 's') this.style = number ?? 0;
    } else if (destination === 'note') {
      if (word === 'par') this.note.push(' ');
    } else if (destination === 'text') this.handleParagraphControl(word, number);
  }

  /** Ends a group with its own destination. */
  endDestination(destination: RtfDestination): void {
    if (destination === 'note') {
      const text = collapseWhitespace(this.note.join(''));
      if (text !== '') this.page.addNote(text);
      this.note = [];
    } else if (destination === 'label') {
      const label = collapseWhitespace(this.label.join(''));
      if (label !== '') this.line.push(/^[\p{L}\p{N}(]/u.test(label) && label !== 'o' ? `${label} ` : '- ');
      this.label = [];
    } else if (destination === 'propertyValue') {
      if (this.drawingText.length > 0) this.line.push(`\n${this.drawingText.join('')}\n`);
      this.property = '';
      this.drawingText = [];
    }
  }

  /** Returns all pages; must be called once, at the end. */
  finishPages(): string[] {
    this.endParagraph();
    this.endRow();
    this.endPage();
    return this.pages;
  }

  private handleParagraphControl(word: string, number: number | null): void {
    if (word === 'par' || word === 'sect') this.endParagraph();
    else if (word === 'cell') this.endCell();
    else if (word === 'row') this.endRow();
    else if (word === 'nestcell' || word === 'nestrow') this.line.push(' ');
    else if (word === 'pard') this.startParagraph();
    else if (word === 'intbl') this.inTable = true;
    else if (word === 's') this.level = this.styleLevels.get(number ?? 0) ?? null;
    else if (word === 'outlinelevel' && number !== null && number < 9) this.level = Math.max(0, number) + 1;
    else if (word === 'page' || (word === 'pagebb' && number !== 0)) this.breakPage();
  }

  private startParagraph(): void {
    this.inTable = false;
    this.level = null;
  }

  private addStyleName(text: string): void {
    const end = text.indexOf(';');
    this.styleName += end === -1 ? text : text.slice(0, end);
    if (end === -1) return;
    const name = this.styleName.trim();
    const level = /^heading ([1-9])$/i.exec(name)?.[1];
    if (level !== undefined) this.styleLevels.set(this.style, Number(level));
    else if (/^title$/i.test(name)) this.styleLevels.set(this.style, 0);
    this.styleName = '';
    this.style = 0;
  }

  private endParagraph(): void {
    if (this.inTable) {
      this.line.push(' ');
      return;
    }
    const text = this.line
      .join('')
      .replace(/[ \t]+$/gm, '')
      .replace(/^\n+|\n+$/g, '');
    this.line = [];
    if (text.trim() === '') return;
    this.endRow();
    this.page.addParagraph(text, this.level);
  }

  private endCell(): void {
    this.cells.push(collapseWhitespace(this.line.join('')));
    this.line = [];
  }

  private endRow(): void {
    this.page.addRow(this.cells);
    this.cells = [];
  }

  private breakPage(): void {
    if (this.inTable) return;
    this.endParagraph();
    if (!this.page.isBlank) this.endPage();
  }

  private endPage(): void {
    const text = this.page.takeText();
    if (text !== '' || this.pages.length === 0) this.pages.push(text);
  }
}
