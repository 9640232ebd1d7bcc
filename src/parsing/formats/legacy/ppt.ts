import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { CompoundFile } from './compound-file.ts';
import { PptObjects } from './ppt-objects.ts';
import { type RecordHeader, readRecordAt, readRecords, readUint32 } from './ppt-records.ts';
import { readTableRows } from './ppt-table.ts';
import { readPropertySetTitle } from './property-set.ts';

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

/** Role of a text, as given by its header. */
const [titleText, centeredTitleText, noTextRole] = [0, 6, -1];
/** Instances of the slide lists: slides and notes. */
const [slideInstance, notesInstance] = [0, 2];
const encryptedToken = 0xf3d1c4df;
const editsMax = 10_000;
/** Maximum nesting depth of containers. */
const depthMax = 64;

/**
 * Parses PowerPoint 97-2003 presentations, one page per slide in show order: texts in drawing order, the
 * title marked with `#`, table rows as `a | b`, text of embedded charts and Excel tables, speaker notes last.
 * Source: [MS-PPT].
 */
export function* parsePpt(file: CompoundFile, limits: ParseLimits): Generator<string, DocumentDetails> {
  const stream = file.read('PowerPoint Document');
  const user = file.read('Current User');
  if (stream === null) {
    throw new ParseFailure('corrupt', 'The PowerPoint file is damaged: its document stream is missing.');
  }
  if (user !== null && user.length >= 20 && readUint32(user, 12) === encryptedToken) {
    throw new ParseFailure('encrypted', 'The PowerPoint file is encrypted with a password.');
  }
  const budget = new TextBudget(limits.textUnitsMax);
  const objects =
    user === null ? new Map<number, number>() : readPersistedObjects(stream, readUint32(user, 16));
  const document = [...readRecords(stream, 0, stream.length)].findLast((one) => one.type === type.document);
  const slides = readSlides(stream, { document, objects, limits });
  const embedded = new PptObjects(document, { stream, objects, limits, budget });
  let heading: string | null = null;
  for (const slide of slides) {
    const { text, title } = formatSlide(stream, slide, { embedded, budget });
    heading ??= title;
    yield text;
  }
  return {
    headings: true,
    title: readPropertySetTitle(file) ?? heading,
    language: null,
    warnings: embedded.hasDamaged ? ['A damaged chart or table was skipped.'] : [],
  };
}

/**
 * Returns the offset of the current version of each object by id; the newest edit that lists an object wins.
 */
function readPersistedObjects(stream: Uint8Array, newestEdit: number): Map<number, number> {
  const objects = new Map<number, number>();
  let offset = newestEdit;
  for (let seen = 0; seen < editsMax && offset > 0; seen++) {
    const edit = readRecordAt(stream, offset);
    if (edit === null || edit.type !== type.userEdit || edit.end - edit.start < 16) break;
    const directory = readRecordAt(stream, readUint32(stream, edit.start + 12));
    if (directory?.type === type.persistDirectory) readDirectory(stream, directory, objects);
    const before = readUint32(stream, edit.start + 8);
    if (before >= offset) break;
    offset = before;
  }
  return objects;
}

function readDirectory(stream: Uint8Array, directory: RecordHeader, objects: Map<number, number>): void {
  for (let at = directory.start; at + 4 <= directory.end; ) {
    const head = readUint32(stream, at);
    const [first, count] = [head & 0xfffff, head >>> 20];
    at += 4;
    for (let i = 0; i < count && at + 4 <= directory.end; i++, at += 4) {
      if (!objects.has(first + i)) objects.set(first + i, readUint32(stream, at));
    }
  }
}

interface Slide {
  readonly container: RecordHeader | null;
  /** Texts stored in the outline for the slide. */
  readonly outline: SlideText[];
  notes: RecordHeader | null;
}

interface SlidesContext {
  readonly document: RecordHeader | undefined;
  readonly objects: ReadonlyMap<number, number>;
  readonly limits: ParseLimits;
}

function readSlides(stream: Uint8Array, { document, objects, limits }: SlidesContext): Slide[] {
  const objectAt = (id: number) => readRecordAt(stream, objects.get(id) ?? stream.length);
  const slides: Slide[] = [];
  const byId = new Map<number, Slide>();
  const notes: RecordHeader[] = [];
  for (const list of document === undefined ? [] : readRecords(stream, document.start, document.end)) {
    if (list.type !== type.slideList) continue;
    let texts = new SlideTextReader();
    for (const record of readRecords(stream, list.start, list.end)) {
      if (record.type !== type.slidePersist) texts.add(stream, record);
      if (record.type !== type.slidePersist || record.end - record.start < 16) continue;
      const container = objectAt(readUint32(stream, record.start));
      if (list.instance === notesInstance && container !== null) notes.push(container);
      if (list.instance !== slideInstance) continue;
      texts = new SlideTextReader();
      const slide: Slide = { container, outline: texts.texts, notes: null };
      byId.set(readUint32(stream, record.start + 12), slide);
      slides.push(slide);
      checkSlideCount(slides.length, limits);
    }
  }
  for (const container of notes) {
    const slide = byId.get(readNotesSlideId(stream, container));
    if (slide !== undefined) slide.notes = container;
  }
  return slides.length > 0 ? slides : scanSlides(stream, limits);
}

/** Recovers the slides of a file without a readable document, in storage order. */
function scanSlides(stream: Uint8Array, limits: ParseLimits): Slide[] {
  const slides: Slide[] = [];
  for (const record of readRecords(stream, 0, stream.length)) {
    if (record.type !== type.slide) continue;
    slides.push({ container: record, outline: [], notes: null });
    checkSlideCount(slides.length, limits);
  }
  if (slides.length > 0) return slides;
  throw new ParseFailure('corrupt', 'The PowerPoint file is damaged: none of its slides can be found.');
}

function checkSlideCount(slides: number, { pagesMax }: ParseLimits): void {
  if (slides > pagesMax) {
    throw new ParseFailure('too_large', `The presentation exceeds the limit of ${pagesMax} slides.`);
  }
}

/** Returns the id of the slide that a notes page belongs to; -1 if none. */
function readNotesSlideId(stream: Uint8Array, notes: RecordHeader): number {
  for (const record of readRecords(stream, notes.start, notes.end)) {
    if (record.type === type.notesAtom && record.end - record.start >= 4)
      return readUint32(stream, record.start);
  }
  return -1;
}

interface SlideText {
  readonly role: number;
  readonly text: string;
}

/** Reads the texts of a list of records; each text follows a header with its role. */
class SlideTextReader {
  readonly texts: SlideText[] = [];
  private role = noTextRole;

  add(stream: Uint8Array, { type: kind, start, end }: RecordHeader): void {
    const bytes = stream.subarray(start, end);
    if (kind === type.textHeader && bytes.length >= 4) this.role = readUint32(stream, start);
    else if (kind === type.textWide) this.push(new TextDecoder('utf-16le').decode(bytes));
    else if (kind === type.textNarrow) this.push(new TextDecoder('latin1').decode(bytes));
  }

  private push(text: string): void {
    this.texts.push({ role: this.role, text });
  }
}

function formatSlide(
  stream: Uint8Array,
  { container, outline, notes }: Slide,
  { embedded, budget }: { readonly embedded: PptObjects; readonly budget: TextBudget },
): { text: string; title: string | null } {
  const drawnTexts = container === null ? outline : collectTexts(stream, container, outline);
  const texts = drawnTexts.length === 0 ? outline : drawnTexts;
  // Some programs also store speaker notes in text boxes that are not the notes placeholder.
  const notesTexts = notes === null ? [] : collectTexts(stream, notes, []);
  const lines: string[] = [];
  let title: string | null = null;
  for (const { role, text } of texts) {
    budget.consume(text.length);
    const paragraphText = formatParagraphs(text);
    if (paragraphText === '') continue;
    if (role === titleText || role === centeredTitleText) {
      const line = paragraphText.replace(/\s+/g, ' ');
      title ??= line;
      lines.push('', `# ${line}`, '');
    } else lines.push(paragraphText);
  }
  for (const id of container === null ? [] : collectObjectIds(stream, container)) {
    for (const line of embedded.readLines(id)) lines.push(line);
  }
  for (const { text } of notesTexts) {
    budget.consume(text.length);
    if (formatParagraphs(text) !== '') lines.push('', formatParagraphs(text));
  }
  const page = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return { text: page, title };
}

/**
 * Returns the texts of a slide or notes page in drawing order; some of them are references to the outline.
 */
function collectTexts(
  stream: Uint8Array,
  container: RecordHeader,
  outline: readonly SlideText[],
): SlideText[] {
  const found: SlideText[] = [];
  const walk = (from: number, to: number, depth: number): void => {
    const run = new SlideTextReader();
    for (const record of readRecords(stream, from, to)) {
      const rows = record.type === type.shapeGroup ? readTableRows(stream, record) : null;
      if (rows !== null) {
        found.push(...formatTableRows(stream, rows, outline));
      } else if (record.type === type.outlineReference && record.end - record.start >= 4) {
        const text = outline[readUint32(stream, record.start)];
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

/** Returns each table row as one text. */
function formatTableRows(
  stream: Uint8Array,
  rows: readonly (readonly RecordHeader[])[],
  outline: readonly SlideText[],
): SlideText[] {
  return rows.map((row) => {
    const cells = row.map((shape) =>
      collectTexts(stream, shape, outline)
        .map(({ text }) => text.replace(/[\s\v]+/g, ' ').trim())
        .join(' '),
    );
    return { role: noTextRole, text: cells.some((cell) => cell !== '') ? cells.join(' | ') : '' };
  });
}

/** Returns the ids of embedded objects on a slide. */
function collectObjectIds(stream: Uint8Array, container: RecordHeader): number[] {
  const found = new Set<number>();
  const walk = (from: number, to: number, depth: number): void => {
    for (const record of readRecords(stream, from, to)) {
      if (record.type === type.objectReference) found.add(readUint32(stream, record.start));
      else if (record.isContainer && depth < depthMax) walk(record.start, record.end, depth + 1);
    }
  };
  walk(container.start, container.end, 0);
  return [...found];
}

/**
 * Formats paragraphs, which end with a carriage return; a lone `*` is a placeholder for a number, date or
 * footer.
 */
function formatParagraphs(text: string): string {
  const lines = text
    .replace(/\v/g, '\n')
    .replace(/\r/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '');
  return lines.length === 1 && lines[0] === '*' ? '' : lines.join('\n');
}
