import { collapseWhitespace, PageBuilder } from '../../page-builder.ts';
import type { TextBudget } from '../../text-budget.ts';
import type { ListNumbering } from '../office/list-numbering.ts';
import type { DocFormats, ParagraphFormat } from './doc-formats.ts';
import { type DocPiece, readDocPieceText } from './doc-pieces.ts';

const controlCharacter = {
  cell: '\x07',
  line: '\v',
  page: '\f',
  paragraph: '\r',
  fieldBegin: '\x13',
  fieldResult: '\x14',
  fieldEnd: '\x15',
};

/** Text equivalents of characters that are displayed as something else. */
const substitutes: Readonly<Record<string, string>> = { '\x1e': '-', '\t': '\t', '\x0e': '\n', '\n': '\n' };

interface DocParts {
  readonly formats: DocFormats;
  readonly numbering: ListNumbering;
  /** Returns the text of an embedded object by its id, line by line. */
  readonly objectLines: (object: number) => readonly string[];
}

/**
 * Builds lines and pages from the characters of a Word 97-2003 file, in which marks end paragraphs, cells and
 * fields.
 */
export class DocText {
  private readonly formats: DocFormats;
  private readonly numbering: ListNumbering;
  private readonly objectLines: DocParts['objectLines'];
  private readonly budget: TextBudget;
  private readonly finishedPages: string[] = [];
  private readonly page = new PageBuilder();
  private paragraph: string[] = [];
  private cells: string[] = [];
  private cell: string[] = [];
  /** Open fields; true while inside the field instruction, which is not text. */
  private readonly fields: boolean[] = [];

  constructor({ formats, numbering, objectLines }: DocParts, budget: TextBudget) {
    this.formats = formats;
    this.numbering = numbering;
    this.objectLines = objectLines;
    this.budget = budget;
  }

  get title(): string | null {
    return this.page.title;
  }

  add(stream: Uint8Array, pieces: readonly DocPiece[]): void {
    for (const piece of pieces) {
      this.budget.consume(piece.units);
      this.addPiece(readDocPieceText(stream, piece), piece);
    }
    this.endParagraph(null);
    this.endRow();
  }

  /** Returns the completed pages, with the remaining text as the last page. */
  takePages(): string[] {
    this.endPage();
    return this.finishedPages.splice(0);
  }

  /** Returns the text added after the pages as one text. */
  takeRemainingText(): string {
    return this.takePages().join('\n\n').trim();
  }

  private addPiece(text: string, { start, width }: DocPiece): void {
    const special = /\p{Cc}|\xad/gu;
    let at = 0;
    while (at < text.length) {
      special.lastIndex = at;
      const next = special.exec(text)?.index ?? text.length;
      this.addVisibleText(text.slice(at, next), start + at * width, width);
      if (next < text.length) this.handleControl(text[next]!, start + next * width);
      at = next + 1;
    }
  }

  /** Adds text without control characters, except hidden and deleted text. */
  private addVisibleText(text: string, offset: number, width: number): void {
    if (text === '' || this.fields.includes(true)) return;
    for (let at = 0; at < text.length; ) {
      const { isHidden, end } = this.formats.visibilityAt(offset + at * width);
      const next = Math.min(text.length, Math.max(at + 1, Math.ceil((end - offset) / width)));
      if (!isHidden) this.paragraph.push(text.slice(at, next));
      at = next;
    }
  }

  private handleControl(character: string, offset: number): void {
    if (character === controlCharacter.fieldBegin) this.fields.push(true);
    else if (character === controlCharacter.fieldResult && this.fields.length > 0) this.beginResult(offset);
    else if (character === controlCharacter.fieldEnd) this.fields.pop();
    else if (character === controlCharacter.paragraph) this.endParagraph(offset);
    else if (character === controlCharacter.cell) this.endCell(offset);
    else if (this.fields.includes(true)) return;
    else if (character === controlCharacter.line) this.paragraph.push('\n');
    else if (character === controlCharacter.page) this.breakPage(offset);
    else this.paragraph.push(substitutes[character] ?? '');
  }

  /**
   * Starts the result of a field. For an embedded object the result is a picture, so its text is added
   * instead.
   */
  private beginResult(offset: number): void {
    this.fields[this.fields.length - 1] = false;
    const object = this.fields.includes(true) ? null : this.formats.objectAt(offset);
    if (object === null || this.formats.visibilityAt(offset).isHidden) return;
    const lines = this.objectLines(object);
    if (lines.length > 0) this.paragraph.push(`\n${lines.join('\n')}\n`);
  }

  private endParagraph(offset: number | null): void {
    const format = offset === null ? null : this.formats.paragraphAt(offset);
    const text = (this.nextLabel(format) + this.paragraph.join(''))
      .replace(/[ \t]+$/gm, '')
      .replace(/^\n+|\n+$/g, '');
    this.paragraph = [];
    if (offset !== null && (format?.inTable === true || this.cells.length > 0) && this.formats.areKnown) {
      if (format?.inTable === true) {
        this.cell.push(collapseWhitespace(text));
        return;
      }
      this.endRow();
    }
    if (text.trim() === '') return;
    this.page.addParagraph(text, format?.level ?? null);
  }

  /**
   * Ends a cell, or the row if the format marks a row end. Without formats, an empty cell counts as the row
   * end.
   */
  private endCell(offset: number): void {
    const format = this.formats.paragraphAt(offset);
    this.cell.push(collapseWhitespace(this.nextLabel(format) + this.paragraph.join('')));
    this.paragraph = [];
    const text = this.cell.filter((part) => part !== '').join(' ');
    this.cell = [];
    const isGuessedRowEnd = !this.formats.areKnown && text === '' && this.cells.length > 0;
    if (format.rowEnd || isGuessedRowEnd) this.endRow();
    else this.cells.push(text);
  }

  /**
   * Returns the automatic number of a paragraph with text. Empty paragraphs are also counted but have no
   * visible label.
   */
  private nextLabel(format: ParagraphFormat | null): string {
    if (format === null || format.list === 0) return '';
    const label = this.numbering.nextLabel(String(format.list), format.listLevel);
    if (this.paragraph.every((piece) => piece.trim() === '')) return '';
    this.budget.consume(label.length);
    return label;
  }

  private endRow(): void {
    this.page.addRow(this.cells);
    this.cells = [];
  }

  private breakPage(offset: number): void {
    this.endParagraph(offset);
    if (!this.page.isBlank) this.endPage();
  }

  private endPage(): void {
    const text = this.page.takeText();
    if (text !== '' || this.finishedPages.length === 0) this.finishedPages.push(text);
  }
}
