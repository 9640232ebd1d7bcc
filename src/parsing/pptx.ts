import type { ParseLimits } from './limits.ts';
import { coreProperties, officeContentTypes, openPart, relationshipsOf } from './office-package.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { TextBudget } from './text-budget.ts';
import type { XmlReader } from './xml-reader.ts';
import type { ZipArchive } from './zip.ts';

/** Placeholders that repeat on every slide. */
const repeated = new Set(['ftr', 'sldNum', 'dt', 'hdr', 'sldImg']);
const titles = new Set(['title', 'ctrTitle']);

/**
 * Presentations, one page per slide in show order, hidden slides included: shapes in drawing order, the title marked with
 * `#`, table rows as `a | b`, texts of charts and diagrams, then the speaker's notes. Source: ECMA-376 part 1, section 19.
 */
export function* parsePptx(
  archive: ZipArchive,
  mainPart: string,
  limits: ParseLimits,
): Generator<string, DocumentFacts> {
  const budget = new TextBudget(limits.textUnitsMax);
  const warnings: string[] = [];
  let firstTitle: string | null = null;
  let number = 0;
  for (const slide of slidesOf(archive, mainPart, limits)) {
    number += 1;
    if (slide === null || !archive.has(slide)) {
      warnings.push(`Slide ${number} is missing in the file and was left empty.`);
      yield '';
      continue;
    }
    const { text, title } = slideText(archive, slide, limits, budget);
    firstTitle ??= title;
    yield text;
  }
  if (number === 0) throw new ParseFailure('corrupt', 'The presentation has no slides at all.');
  const properties = coreProperties(archive, limits);
  return {
    kind: 'pptx',
    contentType: officeContentTypes.pptx,
    unordered: false,
    headings: true,
    title: isDefaultTitle(properties.title) ? firstTitle : properties.title,
    language: properties.language,
    warnings,
  };
}

function isDefaultTitle(title: string | null): boolean {
  return (
    title === null || /^(?:powerpoint[- ]|pr[äe]sentation|presentation|slide 1$|no slide title)/i.test(title)
  );
}

/** Part names of the slides in show order; null for a slide whose relationship is missing. */
function slidesOf(archive: ZipArchive, mainPart: string, limits: ParseLimits): (string | null)[] {
  const relationships = relationshipsOf(archive, mainPart, limits);
  const reader = openPart(archive, mainPart, limits);
  const slides: (string | null)[] = [];
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open' || reader.name !== 'sldId') continue;
    const id = reader.qualifiedAttribute(/^\w+:id$/) ?? '';
    slides.push(relationships.get(id)?.target ?? null);
    if (slides.length > limits.pagesMax) {
      throw new ParseFailure('too_large', `The presentation has more than ${limits.pagesMax} slides.`);
    }
  }
  return slides;
}

function slideText(
  archive: ZipArchive,
  slide: string,
  limits: ParseLimits,
  budget: TextBudget,
): { text: string; title: string | null } {
  const shapes = new ShapeWalker(openPart(archive, slide, limits), budget, true);
  shapes.walk();
  const lines = [...shapes.lines];
  for (const { type, target } of relationshipsOf(archive, slide, limits).values()) {
    if (target === null || !archive.has(target)) continue;
    if (type === 'chart') lines.push(...chartLines(openPart(archive, target, limits), budget));
    else if (type === 'diagramData')
      lines.push(...shapeLines(openPart(archive, target, limits), budget, false));
    else if (type === 'notesSlide')
      lines.push('', ...shapeLines(openPart(archive, target, limits), budget, false));
  }
  return {
    text: lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim(),
    title: shapes.title,
  };
}

/** The text of all shapes of a part, line by line. */
export function shapeLines(reader: XmlReader, budget: TextBudget, headings: boolean): string[] {
  const walker = new ShapeWalker(reader, budget, headings);
  walker.walk();
  return walker.lines;
}

/** Titles, categories, series names and values that a chart keeps for programs without its workbook. */
function chartLines(reader: XmlReader, budget: TextBudget): string[] {
  const lines: string[] = [];
  let cached: string[] = [];
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token === 'open' && (reader.name === 't' || reader.name === 'v')) {
      const text = reader.characters().trim();
      budget.take(text.length + 1);
      if (text !== '') cached.push(text);
    } else if (token === 'close' && (reader.name === 'p' || /Cache$|Lit$/.test(reader.name))) {
      if (cached.length > 0) lines.push(cached.join('\t'));
      cached = [];
    }
  }
  return [...new Set(lines)];
}

/** Collects the paragraphs of all shapes of one slide, notes page or diagram. */
class ShapeWalker {
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
    for (let token = this.reader.next(); token !== 'end'; token = this.reader.next()) {
      if (token === 'open') this.opened(this.reader.name);
      else if (token === 'close') this.closed(this.reader.name);
    }
  }

  private opened(name: string): void {
    if (name === 'Fallback') this.reader.skip();
    else if (name === 'sp') this.placeholder = null;
    else if (name === 'ph') this.placeholder = this.reader.attribute('type') ?? 'body';
    else if (name === 'txBody' && this.placeholder !== null && repeated.has(this.placeholder))
      this.reader.skip();
    else if (name === 't') this.add(this.reader.characters());
    else if (name === 'br') this.add('\n');
    else if (name === 'tab') this.add('\t');
    else if (name === 'tr') this.row = [];
  }

  private closed(name: string): void {
    if (name === 'p') this.endParagraph();
    else if (name === 'tc') this.endCell();
    else if (name === 'tr') this.endRow();
    else if (name === 'sp') this.placeholder = null;
  }

  private add(text: string): void {
    this.budget.take(text.length);
    this.paragraph.push(text);
  }

  private endParagraph(): void {
    const text = this.paragraph.join('').trim();
    this.paragraph = [];
    if (text === '') return;
    if (this.row !== null) this.cell.push(text.replace(/\s+/g, ' '));
    else if (this.headings && this.placeholder !== null && titles.has(this.placeholder)) this.addTitle(text);
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
