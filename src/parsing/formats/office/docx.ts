import type { ParseLimits } from '../../limits.ts';
import { PageBuilder } from '../../page-builder.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';
import { parseLevelNumber, readDocxNumbering } from './docx-numbering.ts';
import { type DocxStyles, parseOutlineLevel, readDocxStyles } from './docx-styles.ts';
import { readDrawingPartLines } from './drawing-parts.ts';
import type { ListNumbering } from './list-numbering.ts';
import {
  type OfficePackage,
  openPart,
  type Relationship,
  readCoreProperties,
  readRelationships,
} from './office-package.ts';

/** Elements whose text is not part of the document: moved away, replaced, or an alternative version. */
const skippedElements = new Set([
  'Fallback',
  'moveFrom',
  'del',
  'pPrChange',
  'rPrChange',
  'sectPr',
  'instrText',
  'delText',
]);

/**
 * Parses Word documents in document order: paragraphs on lines with their automatic numbers, headings marked
 * with `#`, table rows as `a | b`, text of charts and diagrams after their paragraph, notes after the page
 * that refers to them. Hidden and deleted text is omitted. Pages end at manual breaks and where Word rendered
 * breaks at the last save (`lastRenderedPageBreak`). Source: ECMA-376 part 1, section 17.
 */
export function* parseDocx(
  { archive, mainPart }: OfficePackage,
  limits: ParseLimits,
): Generator<string, DocumentDetails> {
  const byId = readRelationships(archive, mainPart, limits);
  const relationships = [...byId.values()];
  const partOf = (type: string) => relationships.find((one) => one.type === type)?.target ?? null;
  const styles = readDocxStyles(archive, partOf('styles'), limits);
  const notes = new Map([
    ...readNotes(archive, partOf('footnotes'), 'footnote', limits),
    ...readNotes(archive, partOf('endnotes'), 'endnote', limits),
  ]);
  const budget = new TextBudget(limits.textUnitsMax);
  const warnings = new Set<string>();
  const onDamaged = () => warnings.add('A damaged chart or diagram was skipped.');
  const readDrawing = (id: string) => {
    const relationship = byId.get(id);
    return relationship === undefined
      ? []
      : readDrawingPartLines(relationship, { archive, limits, budget, onDamaged });
  };
  const numbering = readDocxNumbering(archive, partOf('numbering'), limits);
  const walker = new DocxWalker(
    openPart(archive, mainPart, limits),
    { styles, notes, numbering, readDrawing },
    budget,
  );
  for (const page of walker.pages()) {
    // A document such as a letterhead may have text only in its headers and footers.
    yield page === '' && !walker.hasText ? readHeadersAndFooters(archive, relationships, limits) : page;
  }
  const properties = readCoreProperties(archive, limits);
  return {
    headings: true,
    title: properties.title ?? walker.title,
    language: styles.language ?? properties.language,
    warnings: [...warnings],
  };
}

/** Returns the text of the headers and footers, without duplicates. */
function readHeadersAndFooters(
  archive: ZipArchive,
  relationships: readonly Relationship[],
  limits: ParseLimits,
): string {
  const texts = new Set<string>();
  for (const { type, target } of relationships) {
    if ((type !== 'header' && type !== 'footer') || target === null || !archive.has(target)) continue;
    const reader = openPart(archive, target, limits);
    if (reader.next() === 'open') texts.add(readNoteText(reader));
  }
  return [...texts].filter((text) => text !== '').join('\n');
}

/** Returns the text of notes by `kind:id`; separators and empty notes are omitted. */
function readNotes(
  archive: ZipArchive,
  part: string | null,
  kind: 'footnote' | 'endnote',
  limits: ParseLimits,
): Map<string, string> {
  const notes = new Map<string, string>();
  if (part === null || !archive.has(part)) return notes;
  const reader = openPart(archive, part, limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open' || reader.name !== kind) continue;
    const id = reader.findAttribute('id') ?? '';
    const text = readNoteText(reader);
    if (text !== '') notes.set(`${kind}:${id}`, text);
  }
  return notes;
}

function readNoteText(reader: XmlReader): string {
  const target = reader.depth - 1;
  let text = '';
  while (reader.depth > target) {
    const token = reader.next();
    if (token === 'open' && skippedElements.has(reader.name)) reader.skip();
    else if (token === 'open' && reader.name === 't') text += reader.readText();
    else if (token === 'open' && (reader.name === 'tab' || reader.name === 'br')) text += ' ';
    else if (token === 'close' && reader.name === 'p') text += ' ';
  }
  return text.replace(/\s+/g, ' ').trim();
}

/** State of one paragraph; a text box opens a nested paragraph. */
interface Paragraph {
  readonly pieces: string[];
  /** Heading level; 0 for the title, null for no heading. */
  level: number | null;
  /** List that the paragraph belongs to (`numId`), null for none; and the list level. */
  list: string | null;
  listLevel: number;
  /** Text of charts and diagrams in the paragraph. */
  readonly drawingLines: string[];
  /** Whether a run is open, and whether it is hidden. */
  inRun: boolean;
  hidden: boolean;
}

function newParagraph(): Paragraph {
  return { pieces: [], level: null, list: null, listLevel: 0, drawingLines: [], inRun: false, hidden: false };
}

/** Data from the other parts of the package. */
interface DocxContext {
  readonly styles: DocxStyles;
  readonly notes: ReadonlyMap<string, string>;
  readonly numbering: ListNumbering;
  /** Returns the text of a chart or diagram by relationship id. */
  readonly readDrawing: (id: string) => readonly string[];
}

class DocxWalker {
  /** Whether any page has text. */
  hasText = false;

  private readonly reader: XmlReader;
  private readonly context: DocxContext;
  private readonly budget: TextBudget;
  private readonly paragraphs: Paragraph[] = [];
  private readonly page = new PageBuilder();
  private finishedPages: string[] = [];

  constructor(reader: XmlReader, context: DocxContext, budget: TextBudget) {
    this.reader = reader;
    this.context = context;
    this.budget = budget;
  }

  get title(): string | null {
    return this.page.title;
  }

  *pages(): Generator<string, void> {
    for (let token = this.reader.next(); token !== 'end'; token = this.reader.next()) {
      if (token === 'open') this.handleOpen(this.reader.name);
      else if (token === 'close') this.handleClose(this.reader.name);
      if (this.finishedPages.length > 0) {
        yield* this.finishedPages;
        this.finishedPages = [];
      }
    }
    yield this.takePageText();
  }

  private handleOpen(name: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (skippedElements.has(name)) this.reader.skip();
    else if (name === 'p') this.paragraphs.push(newParagraph());
    else if (name === 'tbl') this.page.openTable();
    else if (paragraph === undefined) return;
    else if (name === 'r') paragraph.inRun = true;
    else if (name === 't') this.addText(paragraph, this.reader.readText());
    else if (name === 'tab' || name === 'ptab') this.addTab(paragraph);
    else if (name === 'cr') this.addText(paragraph, '\n');
    else if (name === 'br') this.addBreak(paragraph, this.reader.findAttribute('type'));
    else if (name === 'noBreakHyphen') this.addText(paragraph, '-');
    else if (name === 'sym') this.addText(paragraph, decodeSymbol(this.reader.findAttribute('char')));
    else if (name === 'lastRenderedPageBreak') this.endPage(paragraph);
    else if (name === 'pageBreakBefore' && !isFalse(this.reader.findAttribute('val')))
      this.endPage(paragraph);
    else if (name === 'footnoteReference') this.addNote(`footnote:${this.reader.findAttribute('id') ?? ''}`);
    else if (name === 'endnoteReference') this.addNote(`endnote:${this.reader.findAttribute('id') ?? ''}`);
    else if (name === 'chart') this.addDrawing(paragraph, /^\w+:id$/);
    else if (name === 'relIds') this.addDrawing(paragraph, /^\w+:dm$/);
    else this.setProperty(paragraph, name);
  }

  /** Properties precede the text. Properties of the paragraph override its style, which is listed first. */
  private setProperty(paragraph: Paragraph, name: string): void {
    if (name === 'pStyle') {
      const style = this.context.styles.byId.get(this.reader.findAttribute('val') ?? '');
      paragraph.level = style?.level ?? null;
      paragraph.list = style?.list ?? null;
      paragraph.listLevel = style?.listLevel ?? 0;
    } else if (name === 'outlineLvl') paragraph.level ??= parseOutlineLevel(this.reader.findAttribute('val'));
    else if (name === 'vanish')
      paragraph.hidden = paragraph.inRun && !isFalse(this.reader.findAttribute('val'));
    else if (name === 'ilvl') paragraph.listLevel = parseLevelNumber(this.reader.findAttribute('val'));
    else if (name === 'numId') paragraph.list = this.reader.findAttribute('val');
  }

  private handleClose(name: string): void {
    if (name === 'p') this.endParagraph();
    else if (name === 'r') this.endRun(this.paragraphs.at(-1));
    else if (name === 'tc') this.page.endCell();
    else if (name === 'tr') this.page.endRow();
    else if (name === 'tbl') this.page.endTable();
  }

  private endRun(paragraph: Paragraph | undefined): void {
    if (paragraph === undefined) return;
    paragraph.inRun = false;
    paragraph.hidden = false;
  }

  private addText(paragraph: Paragraph, text: string): void {
    if (paragraph.hidden) return;
    this.budget.consume(text.length);
    paragraph.pieces.push(text);
  }

  /**
   * `w:tab` is a character in a run and a tab stop in paragraph properties; only tab stops have a `pos`
   * attribute.
   */
  private addTab(paragraph: Paragraph): void {
    if (this.reader.findAttribute('pos') === null) this.addText(paragraph, '\t');
  }

  private addBreak(paragraph: Paragraph, type: string | null): void {
    if (type === 'page') this.endPage(paragraph);
    else this.addText(paragraph, '\n');
  }

  private addNote(key: string): void {
    const text = this.context.notes.get(key);
    if (text === undefined) return;
    this.budget.consume(text.length);
    this.page.addNote(text);
  }

  private addDrawing(paragraph: Paragraph, id: RegExp): void {
    const lines = this.context.readDrawing(this.reader.findQualifiedAttribute(id) ?? '');
    for (const line of lines) paragraph.drawingLines.push(line);
  }

  private endParagraph(): void {
    const paragraph = this.paragraphs.pop();
    if (paragraph === undefined) return;
    this.addToPage(paragraph);
    for (const line of paragraph.drawingLines) this.page.addParagraph(line, null);
  }

  private addToPage(paragraph: Paragraph): void {
    const text = (this.nextLabel(paragraph) + paragraph.pieces.join(''))
      .replace(/[ \t]+$/gm, '')
      .replace(/^\n+|\n+$/g, '');
    if (text.trim() !== '') this.page.addParagraph(text, paragraph.level);
  }

  /** Returns the automatic number. It is counted once, even when a page break splits the paragraph. */
  private nextLabel(paragraph: Paragraph): string {
    if (paragraph.list === null) return '';
    const { list, listLevel } = paragraph;
    paragraph.list = null;
    const label = this.context.numbering.nextLabel(list, listLevel);
    if (paragraph.pieces.every((piece) => piece.trim() === '')) return '';
    this.budget.consume(label.length);
    return label;
  }

  /**
   * Ends the page, but only after text: a manual break is followed by a rendered break for the same page end.
   */
  private endPage(paragraph: Paragraph): void {
    if (this.page.inTable || this.paragraphs.length > 1) return;
    const hasText = paragraph.pieces.some((piece) => piece.trim() !== '');
    if (!hasText && this.page.isBlank) return;
    if (hasText) {
      this.addToPage(paragraph);
      paragraph.pieces.length = 0;
    }
    this.finishedPages.push(this.takePageText());
  }

  private takePageText(): string {
    const text = this.page.takeText();
    this.hasText ||= text !== '';
    return text;
  }
}

function isFalse(value: string | null): boolean {
  return value === '0' || value === 'false' || value === 'off';
}

/**
 * Symbol fonts use the private use area at F000. Their glyphs are unknown, but ordinary fonts are also
 * shifted there.
 */
function decodeSymbol(char: string | null): string {
  const point = Number.parseInt(char ?? '', 16);
  if (!Number.isFinite(point) || point < 0x20 || point > 0xffff) return '';
  if (point >= 0xf020 && point <= 0xf07e) return String.fromCharCode(point - 0xf000);
  return point >= 0xe000 && point <= 0xf8ff ? '' : String.fromCharCode(point);
}
