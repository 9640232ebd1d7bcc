import type { ParseLimits } from './limits.ts';
import { openPart } from './office-package.ts';
import { openDocumentContentTypes, openDocumentProperties } from './open-document.ts';
import { OpenDocumentObjects } from './open-document-objects.ts';
import { levelOf, OpenDocumentStyles } from './open-document-styles.ts';
import { PageLines } from './page-lines.ts';
import type { DocumentFacts } from './parse-task.ts';
import { TextBudget } from './text-budget.ts';
import type { XmlReader } from './xml-reader.ts';
import type { ZipArchive } from './zip.ts';

/** Elements whose text is no part of the document as it stands: deleted, remarks about it, or a second version. */
const skipped = new Set([
  'annotation',
  'tracked-changes',
  'ruby-text',
  'note-citation',
  'forms',
  'desc',
  'event-listeners',
]);
/** Placeholders of a presentation that repeat on every slide. */
const repeated = new Set(['header', 'footer', 'date-time', 'page-number', 'page']);
const shapes = new Set(
  'frame custom-shape rect line polyline polygon path circle ellipse connector caption measure'.split(' '),
);

/**
 * OpenDocument texts and presentations in document order: headings marked with `#`, lists with their labels, table rows
 * as `a | b`, texts of charts after the paragraph that holds them, notes after the page that refers to them. A text's
 * pages end where the program that saved it broke them or the author did; a presentation has one page per slide, its
 * notes last. Source: OASIS OpenDocument 1.3, part 3.
 */
export function* parseOpenDocumentText(
  archive: ZipArchive,
  kind: 'odt' | 'odp',
  limits: ParseLimits,
): Generator<string, DocumentFacts> {
  const budget = new TextBudget(limits.textUnitsMax);
  const objects = new OpenDocumentObjects(archive, limits, budget);
  const walker = new OpenDocumentWalker(openPart(archive, 'content.xml', limits), {
    ...{ styles: new OpenDocumentStyles(archive, limits), objects, budget, kind },
  });
  yield* walker.pages();
  const properties = openDocumentProperties(archive, limits);
  return {
    kind,
    contentType: openDocumentContentTypes[kind],
    unordered: false,
    headings: true,
    title: properties.title ?? walker.title,
    language: properties.language,
    warnings: [...objects.warnings],
  };
}

/** The state of one paragraph; a text box opens another inside it. */
interface Paragraph {
  readonly pieces: string[];
  readonly style: string | null;
  /** Heading level, 1 for the title; null for running text. */
  readonly level: number | null;
  readonly label: string;
  /** Texts of charts in it. */
  readonly drawn: string[];
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
  /** Counts by level, shared by the lists inside one another. */
  readonly counts: (number | undefined)[];
  /** True between the start of an item and its first paragraph, which carries the label. */
  fresh: boolean;
}

/** The state of one drawn shape. */
interface Shape {
  /** Role in a presentation, for example `title`. */
  readonly role: string | null;
  /** Paragraphs that were open when it began. */
  readonly paragraphs: number;
}

class OpenDocumentWalker {
  private readonly reader: XmlReader;
  private readonly styles: OpenDocumentStyles;
  private readonly objects: OpenDocumentObjects;
  private readonly budget: TextBudget;
  private readonly slides: boolean;
  private readonly paragraphs: Paragraph[] = [];
  private readonly shapes: Shape[] = [];
  private readonly lists: List[] = [];
  private readonly countsByStyle = new Map<string, (number | undefined)[]>();
  private readonly headingCounts: (number | undefined)[] = [];
  private noteDepth = 0;
  private readonly page = new PageLines();
  private ready: string[] = [];

  constructor(reader: XmlReader, { styles, objects, budget, kind }: WalkerContext) {
    this.reader = reader;
    this.styles = styles;
    this.objects = objects;
    this.budget = budget;
    this.slides = kind === 'odp';
  }

  get title(): string | null {
    return this.page.title;
  }

  *pages(): Generator<string, void> {
    for (let token = this.reader.next(); token !== 'end'; token = this.reader.next()) {
      if (token === 'open') this.opened(this.reader.name);
      else if (token === 'text') this.addText(this.reader.text.replace(/[ \t\r\n]+/g, ' '));
      else this.closed(this.reader.name);
      if (this.ready.length > 0) {
        yield* this.ready;
        this.ready = [];
      }
    }
    if (!this.slides) yield this.page.take();
  }

  private opened(name: string): void {
    if (skipped.has(name) || this.isShapeTitle(name)) this.reader.skip();
    else if (name === 'automatic-styles') this.styles.read(this.reader);
    else if (name === 'p' || name === 'h') this.openParagraph(name);
    else if (name === 's') this.addText(' '.repeat(Math.min(100, Number(this.reader.attribute('c')) || 1)));
    else if (name === 'tab') this.addText('\t');
    else if (name === 'line-break') this.addText('\n');
    else if (name === 'soft-page-break') this.endPage();
    else if (name === 'list') this.openList();
    else if (name === 'list-item') this.openItem();
    else if (name === 'table') this.page.openTable();
    else if (name === 'note-body') this.noteDepth += 1;
    else if (shapes.has(name)) this.openShape();
    else if (name === 'object') this.addObject();
    else if (name === 'notes') this.page.space();
  }

  private closed(name: string): void {
    if (name === 'p' || name === 'h') this.endParagraph();
    else if (name === 'list') this.lists.pop();
    else if (name === 'table-cell') this.page.endCell();
    else if (name === 'table-row') this.page.endRow();
    else if (name === 'table') this.page.endTable();
    else if (name === 'note-body') this.noteDepth -= 1;
    else if (shapes.has(name)) this.shapes.pop();
    else if (name === 'page' && this.slides) this.ready.push(this.page.take());
  }

  /** `svg:title` names a shape, `text:title` is the document's title inside a paragraph. */
  private isShapeTitle(name: string): boolean {
    return name === 'title' && this.shapes.at(-1)?.paragraphs === this.paragraphs.length;
  }

  private openShape(): void {
    const role = this.reader.attribute('class');
    if (role !== null && repeated.has(role)) this.reader.skip();
    else this.shapes.push({ role, paragraphs: this.paragraphs.length });
  }

  private openParagraph(name: string): void {
    const style = this.reader.attribute('style-name');
    const level = this.levelOfParagraph(name, style);
    if (!this.slides && this.styles.breaksBefore(style)) this.endPage();
    this.paragraphs.push({ pieces: [], style, level, label: this.label(name, level), drawn: [] });
  }

  private levelOfParagraph(name: string, style: string | null): number | null {
    if (this.slides) return this.shapes.at(-1)?.role === 'title' ? 1 : null;
    if (name === 'h') return levelOf(this.reader.attribute('outline-level'));
    return this.styles.isTitle(style) ? 0 : null;
  }

  private label(name: string, level: number | null): string {
    const list = this.lists.at(-1);
    if (this.slides) return '';
    if (list === undefined) {
      return name === 'h' && level !== null ? this.styles.headingLabel(level, this.headingCounts) : '';
    }
    if (!list.fresh) return '';
    list.fresh = false;
    const label = this.styles.label(list.style, list.level, list.counts);
    return label === '-' && level === null ? `${'  '.repeat(list.level - 1)}-` : label;
  }

  private openList(): void {
    const outer = this.lists.at(-1);
    const style = this.reader.attribute('style-name') ?? outer?.style ?? null;
    const goesOn = this.reader.attribute('continue-numbering') === 'true';
    const before = goesOn && style !== null ? this.countsByStyle.get(style) : undefined;
    const counts = outer?.counts ?? before ?? [];
    if (style !== null) this.countsByStyle.set(style, counts);
    this.lists.push({ style, level: levelOf(String(this.lists.length + 1)), counts, fresh: false });
  }

  private openItem(): void {
    const list = this.lists.at(-1);
    if (list === undefined) return;
    list.fresh = true;
    const start = this.reader.attribute('start-value');
    if (start !== null) list.counts[list.level] = (Number(start) || 1) - 1;
  }

  /** What it says follows the paragraph that holds it. */
  private addObject(): void {
    const drawn = this.paragraphs.at(-1)?.drawn;
    for (const line of this.objects.linesAt(this.reader)) {
      if (drawn === undefined) this.page.add(line, null);
      else drawn.push(line);
    }
  }

  private addText(text: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (paragraph === undefined) return;
    this.budget.take(text.length);
    paragraph.pieces.push(text);
  }

  private endParagraph(): void {
    const paragraph = this.paragraphs.pop();
    if (paragraph === undefined) return;
    this.keep(paragraph);
    for (const line of paragraph.drawn) this.page.add(line, null);
    if (!this.slides && this.styles.breaksAfter(paragraph.style)) this.endPage();
  }

  private keep({ pieces, level, label }: Paragraph): void {
    const text = pieces
      .join('')
      .replace(/[ \t]+$/gm, '')
      .replace(/^\s+/, '');
    if (text === '') return;
    const line = label === '' ? text : `${label} ${text}`;
    if (this.noteDepth > 0) this.page.addNote(line.replace(/\s+/g, ' '));
    else this.page.add(line, level);
  }

  /** Inside a paragraph the part before the break stays on the page. Tables and notes are not cut. */
  private endPage(): void {
    if (this.slides || this.page.inTable || this.noteDepth > 0 || this.paragraphs.length > 1) return;
    const paragraph = this.paragraphs.at(-1);
    const started = paragraph?.pieces.some((piece) => piece.trim() !== '') === true;
    if (!started && this.page.isBlank) return;
    if (paragraph !== undefined && started) {
      this.keep(paragraph);
      this.paragraphs[0] = { ...paragraph, pieces: [], label: '', level: null };
    }
    this.ready.push(this.page.take());
  }
}
