import type { CompoundFile } from './compound-file.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { PptObjects } from './ppt-objects.ts';
import { type RecordHead, recordAt, recordsIn, uint32 } from './ppt-records.ts';
import { tableRows } from './ppt-table.ts';
import { propertySetTitle } from './property-set.ts';
import { TextBudget } from './text-budget.ts';

const type = {
  document: 1_000,
  slide: 1_006,
  notes: 1_008,
  notesAtom: 1_009,
  slidePersist: 1_011,
  objectReference: 3_009,
  outlineReference: 3_998,
  textHeader: 3_999,
  textWide: 4_000,
  textNarrow: 4_008,
  slideList: 4_080,
  userEdit: 4_085,
  persistDirectory: 6_002,
  shapeGroup: 0xf003,
  clientTextbox: 0xf00d,
} as const;

/** What a text is for, as its header says. */
const [titleText, centeredTitleText, noRole] = [0, 6, -1];
/** Which list of slides it is: the slides themselves or their notes. */
const [slideInstance, notesInstance] = [0, 2];
const encryptedToken = 0xf3d1c4df;
const editsMax = 10_000;
/** Containers inside one another. */
const depthMax = 64;

/**
 * PowerPoint 97-2003 presentations, one page per slide in show order: its texts in drawing order, the title marked with `#`,
 * table rows as `a | b`, what its charts and tables of Excel say, the speaker's notes last. Source: [MS-PPT].
 */
export function* parsePpt(file: CompoundFile, limits: ParseLimits): Generator<string, DocumentFacts> {
  const stream = file.read('PowerPoint Document');
  const user = file.read('Current User');
  if (stream === null) {
    throw new ParseFailure('corrupt', 'The PowerPoint file is damaged: its document is missing.');
  }
  if (user !== null && user.length >= 20 && uint32(user, 12) === encryptedToken) {
    throw new ParseFailure('encrypted', 'The PowerPoint file is encrypted with a password.');
  }
  const budget = new TextBudget(limits.textUnitsMax);
  const objects = user === null ? new Map<number, number>() : persistedObjects(stream, uint32(user, 16));
  const document = [...recordsIn(stream, 0, stream.length)].findLast((one) => one.type === type.document);
  const slides = slidesOf(stream, { document, objects, limits });
  const embedded = new PptObjects(document, { stream, objects, limits, budget });
  let heading: string | null = null;
  for (const slide of slides) {
    const { text, title } = slidePage(stream, slide, { embedded, budget });
    heading ??= title;
    yield text;
  }
  return {
    kind: 'ppt',
    contentType: 'application/vnd.ms-powerpoint',
    unordered: false,
    headings: true,
    title: propertySetTitle(file) ?? heading,
    language: null,
    warnings: embedded.damaged ? ['A chart or table in the presentation is damaged and was left out.'] : [],
  };
}

/** Offsets of the living version of each object by its id: the newest edit that names it wins. */
function persistedObjects(stream: Uint8Array, newestEdit: number): Map<number, number> {
  const objects = new Map<number, number>();
  let offset = newestEdit;
  for (let seen = 0; seen < editsMax && offset > 0; seen++) {
    const edit = recordAt(stream, offset);
    if (edit === null || edit.type !== type.userEdit || edit.end - edit.start < 16) break;
    const directory = recordAt(stream, uint32(stream, edit.start + 12));
    if (directory?.type === type.persistDirectory) readDirectory(stream, directory, objects);
    const before = uint32(stream, edit.start + 8);
    if (before >= offset) break;
    offset = before;
  }
  return objects;
}

function readDirectory(stream: Uint8Array, directory: RecordHead, objects: Map<number, number>): void {
  for (let at = directory.start; at + 4 <= directory.end; ) {
    const head = uint32(stream, at);
    const [first, count] = [head & 0xfffff, head >>> 20];
    at += 4;
    for (let i = 0; i < count && at + 4 <= directory.end; i++, at += 4) {
      if (!objects.has(first + i)) objects.set(first + i, uint32(stream, at));
    }
  }
}

interface Slide {
  readonly container: RecordHead | null;
  /** Texts that the outline keeps for the slide. */
  readonly outline: Text[];
  notes: RecordHead | null;
}

interface SlidesContext {
  readonly document: RecordHead | undefined;
  readonly objects: ReadonlyMap<number, number>;
  readonly limits: ParseLimits;
}

function slidesOf(stream: Uint8Array, { document, objects, limits }: SlidesContext): Slide[] {
  const objectAt = (id: number) => recordAt(stream, objects.get(id) ?? stream.length);
  const slides: Slide[] = [];
  const byId = new Map<number, Slide>();
  const notes: RecordHead[] = [];
  for (const list of document === undefined ? [] : recordsIn(stream, document.start, document.end)) {
    if (list.type !== type.slideList) continue;
    let texts = new TextRun();
    for (const record of recordsIn(stream, list.start, list.end)) {
      if (record.type !== type.slidePersist) texts.add(stream, record);
      if (record.type !== type.slidePersist || record.end - record.start < 16) continue;
      const container = objectAt(uint32(stream, record.start));
      if (list.instance === notesInstance && container !== null) notes.push(container);
      if (list.instance !== slideInstance) continue;
      texts = new TextRun();
      const slide: Slide = { container, outline: texts.texts, notes: null };
      byId.set(uint32(stream, record.start + 12), slide);
      slides.push(slide);
      checkCount(slides.length, limits);
    }
  }
  for (const container of notes) {
    const slide = byId.get(slideOfNotes(stream, container));
    if (slide !== undefined) slide.notes = container;
  }
  return slides.length > 0 ? slides : looseSlides(stream, limits);
}

/** What a file without a readable document still holds: its slides in the order they lie in. */
function looseSlides(stream: Uint8Array, limits: ParseLimits): Slide[] {
  const slides: Slide[] = [];
  for (const record of recordsIn(stream, 0, stream.length)) {
    if (record.type !== type.slide) continue;
    slides.push({ container: record, outline: [], notes: null });
    checkCount(slides.length, limits);
  }
  if (slides.length > 0) return slides;
  throw new ParseFailure('corrupt', 'The PowerPoint file is damaged: no slide is where the file says.');
}

function checkCount(slides: number, { pagesMax }: ParseLimits): void {
  if (slides > pagesMax) {
    throw new ParseFailure('too_large', `The presentation has more than ${pagesMax} slides.`);
  }
}

/** The id of the slide that a page of notes belongs to. */
function slideOfNotes(stream: Uint8Array, notes: RecordHead): number {
  for (const record of recordsIn(stream, notes.start, notes.end)) {
    if (record.type === type.notesAtom && record.end - record.start >= 4) return uint32(stream, record.start);
  }
  return -1;
}

interface Text {
  readonly role: number;
  readonly text: string;
}

/** The texts of a list of records: each follows a header that says what it is for. */
class TextRun {
  readonly texts: Text[] = [];
  private role = noRole;

  add(stream: Uint8Array, { type: kind, start, end }: RecordHead): void {
    const bytes = stream.subarray(start, end);
    if (kind === type.textHeader && bytes.length >= 4) this.role = uint32(stream, start);
    else if (kind === type.textWide) this.push(new TextDecoder('utf-16le').decode(bytes));
    else if (kind === type.textNarrow) this.push(new TextDecoder('latin1').decode(bytes));
  }

  private push(text: string): void {
    this.texts.push({ role: this.role, text });
  }
}

function slidePage(
  stream: Uint8Array,
  { container, outline, notes }: Slide,
  { embedded, budget }: { readonly embedded: PptObjects; readonly budget: TextBudget },
): { text: string; title: string | null } {
  const drawn = container === null ? outline : textsOf(stream, container, outline);
  const texts = drawn.length === 0 ? outline : drawn;
  // Programs also put what is said into boxes that are not the place for notes.
  const spoken = notes === null ? [] : textsOf(stream, notes, []);
  const lines: string[] = [];
  let title: string | null = null;
  for (const { role, text } of texts) {
    budget.take(text.length);
    const shown = paragraphs(text);
    if (shown === '') continue;
    if (role === titleText || role === centeredTitleText) {
      const line = shown.replace(/\s+/g, ' ');
      title ??= line;
      lines.push('', `# ${line}`, '');
    } else lines.push(shown);
  }
  for (const id of container === null ? [] : objectsOf(stream, container)) {
    for (const line of embedded.lines(id)) lines.push(line);
  }
  for (const { text } of spoken) {
    budget.take(text.length);
    if (paragraphs(text) !== '') lines.push('', paragraphs(text));
  }
  const page = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return { text: page, title };
}

/** Texts of a slide or a page of notes in the order they are drawn; some only refer to the outline. */
function textsOf(stream: Uint8Array, container: RecordHead, outline: readonly Text[]): Text[] {
  const found: Text[] = [];
  const walk = (from: number, to: number, depth: number): void => {
    const run = new TextRun();
    for (const record of recordsIn(stream, from, to)) {
      const rows = record.type === type.shapeGroup ? tableRows(stream, record) : null;
      if (rows !== null) {
        found.push(...rowTexts(stream, rows, outline));
      } else if (record.type === type.outlineReference && record.end - record.start >= 4) {
        const text = outline[uint32(stream, record.start)];
        if (text !== undefined) found.push(text);
      } else if ((record.isContainer || record.type === type.clientTextbox) && depth < depthMax) {
        walk(record.start, record.end, depth + 1);
      } else run.add(stream, record);
    }
    found.push(...run.texts);
  };
  walk(container.start, container.end, 0);
  return found;
}

/** Each row of a table as one text. */
function rowTexts(
  stream: Uint8Array,
  rows: readonly (readonly RecordHead[])[],
  outline: readonly Text[],
): Text[] {
  return rows.map((row) => {
    const cells = row.map((shape) =>
      textsOf(stream, shape, outline)
        .map(({ text }) => text.replace(/[\s\v]+/g, ' ').trim())
        .join(' '),
    );
    return { role: noRole, text: cells.some((cell) => cell !== '') ? cells.join(' | ') : '' };
  });
}

/** Ids of the objects of other programs on a slide. */
function objectsOf(stream: Uint8Array, container: RecordHead): number[] {
  const found = new Set<number>();
  const walk = (from: number, to: number, depth: number): void => {
    for (const record of recordsIn(stream, from, to)) {
      if (record.type === type.objectReference) found.add(uint32(stream, record.start));
      else if (record.isContainer && depth < depthMax) walk(record.start, record.end, depth + 1);
    }
  };
  walk(container.start, container.end, 0);
  return [...found];
}

/** Paragraphs end with a carriage return; a lone `*` stands where a number, a date or a footer is filled in. */
function paragraphs(text: string): string {
  const lines = text
    .replace(/\v/g, '\n')
    .replace(/\r/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '');
  return lines.length === 1 && lines[0] === '*' ? '' : lines.join('\n');
}
