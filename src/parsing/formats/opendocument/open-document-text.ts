import type { ParseLimits } from '../../limits.ts';
import { PageBuilder } from '../../page-builder.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';
import { openPart } from '../office/office-package.ts';
import { readOpenDocumentProperties } from './open-document.ts';
import { OpenDocumentObjects } from './open-document-objects.ts';
import { OpenDocumentStyles, parseLevel } from './open-document-styles.ts';

/** Elements whose text is not part of the document: deleted text, comments, or alternative versions. */
const skippedElements = new Set([
  'annotation',
  'tracked-changes',
  'ruby-text',
  'note-citation',
  'forms',
  'desc',
  'event-listeners',
]);
/** Presentation placeholders that repeat on every slide. */
const repeatedPlaceholders = new Set(['header', 'footer', 'date-time', 'page-number', 'page']);
const shapeElements = new Set(
  'frame custom-shape rect line polyline polygon path circle ellipse connector caption measure'.split(' '),
);

/**
 * Parses OpenDocument texts and presentations in document order: headings marked with `#`, lists with their
 * labels, table rows as `a | b`, text of charts after their paragraph, notes after the page that refers to
 * them. Pages of a text end at page breaks of the author or of the program that saved it; a presentation has
 * one page per slide, with its notes last. Source: OASIS OpenDocument 1.3, part 3.
 */
export function* parseOpenDocumentText(
  archive: ZipArchive,
  kind: 'odt' | 'odp',
  limits: ParseLimits,
): Generator<string, DocumentDetails> {
  const budget = new TextBudget(limits.textUnitsMax);
  const objects = new OpenDocumentObjects(archive, limits, budget);
  const walker = new OpenDocumentWalker(openPart(archive, 'content.xml', limits), {
    styles: new OpenDocumentStyles(archive, limits),
    objects,
    budget,
    kind,
  });
  yield* walker.pages();
  const properties = readOpenDocumentProperties(archive, limits);
  return {
    headings: true,
    title: properties.title ?? walker.title,
    language: properties.language,
    warnings: [...objects.warnings],
  };
}

/** State of one paragraph; a text box opens a nested paragraph. */
interface Paragraph {
  readonly pieces: string[];
  readonly style: string | null;
  /** Heading level; 0 for the document title, null for running text. */
  readonly level: number | null;
  readonly label: string;
  /** Text of charts in the paragraph. */
  readonly drawingLines: string[];
}

interface WalkerContext {
  readonly styles: OpenDocumentStyles;
  readonly objects: OpenDocumentObjects;
  readonly budget: TextBudget;
  readonly kind: 'odt' | 'odp';
}

interface List {
  readonly style: string | null;
  readonly level: number;
  /** Counts by level, shared by nested lists. */
  readonly counts: (number | undefined)[];
  /** True between the start of an item and its first paragraph, which receives the label. */
  needsLabel: boolean;
}

/** State of one drawn shape. */
interface Shape {
  /** Presentation class, for example `title`. */
  readonly role: string | null;
  /** Number of open paragraphs at its start. */
  readonly paragraphs: number;
}

class OpenDocumentWalker {
  private readonly reader: XmlReader;
  private readonly styles: OpenDocumentStyles;
  private readonly objects: OpenDocumentObjects;
  private readonly budget: TextBudget;
  private readonly isPresentation: boolean;
  private readonly paragraphs: Paragraph[] = [];
  private readonly shapes: Shape[] = [];
  private readonly lists: List[] = [];
  private readonly countsByStyle = new Map<string, (number | undefined)[]>();
  private readonly headingCounts: (number | undefined)[] = [];
  private noteDepth = 0;
  private readonly page = new PageBuilder();
  private finishedPages: string[] = [];

  constructor(reader: XmlReader, { styles, objects, budget, kind }: WalkerContext) {
    this.reader = reader;
    this.styles = styles;
    this.objects = objects;
    this.budget = budget;
    this.isPresentation = kind === 'odp';
  }

  get title(): string | null {
    return this.page.title;
  }

  *pages(): Generator<string, void> {
    for (let token = this.reader.next(); token !== 'end'; token = this.reader.next()) {
      if (token === 'open') this.handleOpen(this.reader.name);
      else if (token === 'text') this.addText(this.reader.text.replace(/[ \t\r\n]+/g, ' '));
      else this.handleClose(this.reader.name);
      if (this.finishedPages.length > 0) {
        yield* this.finishedPages;
        this.finishedPages = [];
      }
    }
    if (!this.isPresentation) yield this.page.takeText();
  }

  private handleOpen(name: string): void {
    if (skippedElements.has(name) || this.isShapeTitle(name)) this.reader.skip();
    else if (name === 'automatic-styles') this.styles.read(this.reader);
    else if (name === 'p' || name === 'h') this.openParagraph(name);
    else if (name === 's')
      this.addText(' '.repeat(Math.min(100, Number(this.reader.findAttribute('c')) || 1)));
    else if (name === 'tab') this.addText('\t');
    else if (name === 'line-break') this.addText('\n');
    else if (name === 'soft-page-break') this.endPage();
    else if (name === 'list') this.openList();
    else if (name === 'list-item') this.openItem();
    else if (name === 'table') this.page.openTable();
    else if (name === 'note-body') this.noteDepth += 1;
    else if (shapeElements.has(name)) this.openShape();
    else if (name === 'object') this.addObject();
    else if (name === 'notes') this.page.addBlankLine();
  }

  private handleClose(name: string): void {
    if (name === 'p' || name === 'h') this.endParagraph();
    else if (name === 'list') this.lists.pop();
    else if (name === 'table-cell') this.page.endCell();
    else if (name === 'table-row') this.page.endRow();
    else if (name === 'table') this.page.endTable();
    else if (name === 'note-body') this.noteDepth -= 1;
    else if (shapeElements.has(name)) this.shapes.pop();
    else if (name === 'page' && this.isPresentation) this.finishedPages.push(this.page.takeText());
  }

  /** `svg:title` names a shape, while `text:title` is the document title inside a paragraph. */
  private isShapeTitle(name: string): boolean {
    return name === 'title' && this.shapes.at(-1)?.paragraphs === this.paragraphs.length;
  }

  private openShape(): void {
    const role = this.reader.findAttribute('class');
    if (role !== null && repeatedPlaceholders.has(role)) this.reader.skip();
    else this.shapes.push({ role, paragraphs: this.paragraphs.length });
  }

  private openParagraph(name: string): void {
    const style = this.reader.findAttribute('style-name');
    const level = this.getParagraphLevel(name, style);
    if (!this.isPresentation && this.styles.hasBreakBefore(style)) this.endPage();
    this.paragraphs.push({ pieces: [], style, level, label: this.nextLabel(name, level), drawingLines: [] });
  }

  private getParagraphLevel(name: string, style: string | null): number | null {
    if (this.isPresentation) return this.shapes.at(-1)?.role === 'title' ? 1 : null;
    if (name === 'h') return parseLevel(this.reader.findAttribute('outline-level'));
    return this.styles.isTitle(style) ? 0 : null;
  }

  private nextLabel(name: string, level: number | null): string {
    const list = this.lists.at(-1);
    if (this.isPresentation) return '';
    if (list === undefined) {
      return name === 'h' && level !== null ? this.styles.nextHeadingLabel(level, this.headingCounts) : '';
    }
    if (!list.needsLabel) return '';
    list.needsLabel = false;
    const label = this.styles.nextLabel(list.style, list.level, list.counts);
    return label === '-' && level === null ? `${'  '.repeat(list.level - 1)}-` : label;
  }

  private openList(): void {
    const outer = this.lists.at(-1);
    const style = this.reader.findAttribute('style-name') ?? outer?.style ?? null;
    const continuesNumbering = this.reader.findAttribute('continue-numbering') === 'true';
    const previousCounts = continuesNumbering && style !== null ? this.countsByStyle.get(style) : undefined;
    const counts = outer?.counts ?? previousCounts ?? [];
    if (style !== null) this.countsByStyle.set(style, counts);
    this.lists.push({ style, level: parseLevel(String(this.lists.length + 1)), counts, needsLabel: false });
  }

  private openItem(): void {
    const list = this.lists.at(-1);
    if (list === undefined) return;
    list.needsLabel = true;
    const start = this.reader.findAttribute('start-value');
    if (start !== null) list.counts[list.level] = (Number(start) || 1) - 1;
  }

  /** Adds the text of an object after its paragraph. */
  private addObject(): void {
    const drawn = this.paragraphs.at(-1)?.drawingLines;
    for (const line of this.objects.readLinesAt(this.reader)) {
      if (drawn === undefined) this.page.addParagraph(line, null);
      else drawn.push(line);
    }
  }

  private addText(text: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (paragraph === undefined) return;
    this.budget.consume(text.length);
    paragraph.pieces.push(text);
  }

  private endParagraph(): void {
    const paragraph = this.paragraphs.pop();
    if (paragraph === undefined) return;
    this.addToPage(paragraph);
    for (const line of paragraph.drawingLines) this.page.addParagraph(line, null);
    if (!this.isPresentation && this.styles.hasBreakAfter(paragraph.style)) this.endPage();
  }

  private addToPage({ pieces, level, label }: Paragraph): void {
    const text = pieces
      .join('')
      .replace(/[ \t]+$/gm, '')
      .replace(/^\s+/, '');
    if (text === '') return;
    const line = label === '' ? text : `${label} ${text}`;
    if (this.noteDepth > 0) this.page.addNote(line.replace(/\s+/g, ' '));
    else this.page.addParagraph(line, level);
  }

  /**
   * Ends the page. Inside a paragraph, the text before the break stays on the page. Tables and notes are not
   * split.
   */
  private endPage(): void {
    if (this.isPresentation || this.page.inTable || this.noteDepth > 0 || this.paragraphs.length > 1) return;
    const paragraph = this.paragraphs.at(-1);
    const hasText = paragraph?.pieces.some((piece) => piece.trim() !== '') === true;
    if (!hasText && this.page.isBlank) return;
    if (paragraph !== undefined && hasText) {
      this.addToPage(paragraph);
      this.paragraphs[0] = { ...paragraph, pieces: [], label: '', level: null };
    }
    this.finishedPages.push(this.page.takeText());
  }
}
