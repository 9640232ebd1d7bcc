import { deflateSync } from 'node:zlib';
import { compoundFileOf } from './compound-fixtures.ts';

/** Builders of Word, Excel and PowerPoint 97-2003 files. */

function uint16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => {
    bytes.writeUInt16LE(value & 0xffff, i * 2);
  });
  return bytes;
}

function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value >>> 0, i * 4);
  });
  return bytes;
}

function float64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

function utf16(text: string): Buffer {
  return Buffer.from(text, 'utf16le');
}

/** Property set with the title, the same in all three formats. */
function summary(title: string): Uint8Array {
  const text = Buffer.from(`${title}\0`, 'latin1');
  const section = Buffer.concat([uint32(24 + text.length, 1, 2, 16, 30, text.length), text]);
  return Buffer.concat([Buffer.alloc(44), uint32(48), section]);
}

/** Paragraph of a Word file; `cell` and `row` end as the parts of a table do. */
export interface DocParagraph {
  readonly text: string;
  readonly end?: 'paragraph' | 'cell' | 'row' | 'page';
  /** Number of a built-in style: 1 to 9 are headings, 62 is the title. */
  readonly style?: number;
  readonly hidden?: boolean;
  /** Number of the object whose image is the content of the paragraph. */
  readonly object?: number;
  /** Index of a list, starting at 1, and the nesting level. */
  readonly list?: readonly [list: number, level: number];
}

/** List of a Word file: its levels, and where numbering restarts although another list of its definition has counted. */
export interface DocList {
  readonly definition: number;
  readonly startsAt?: number;
}

/** Number format, text with characters below 9 as placeholders of counters, and first number of a level. */
export type DocListLevel = readonly [format: number, text: string, start: number];

interface DocLists {
  readonly definitions?: readonly (readonly DocListLevel[])[];
  readonly lists?: readonly DocList[];
  /** List that numbers the paragraphs of the first heading style. */
  readonly headingList?: number;
}

const wordEnds = { paragraph: '\r', cell: '\x07', row: '\x07', page: '\f' };

/** Builds a Word document; `pieces` stores every second paragraph in 8 bits, as the fast save of Word did. */
export function buildDoc(
  paragraphs: readonly DocParagraph[],
  {
    title = '',
    footnotes = '',
    encrypted = false,
    objects = {},
    ...lists
  }: {
    title?: string;
    footnotes?: string;
    encrypted?: boolean;
    /** Streams of embedded objects by their path in the object pool. */
    objects?: Readonly<Record<string, Uint8Array>>;
  } & DocLists = {},
): Uint8Array {
  const textStart = 2_048;
  const stored: Buffer[] = [];
  const pieces: { units: number; raw: number }[] = [];
  const runs: { end: number; paragraph: DocParagraph | null }[] = [];
  let offset = textStart;
  const add = (text: string, isSingleByte: boolean, paragraph: DocParagraph | null) => {
    const bytes = isSingleByte ? Buffer.from(text, 'latin1') : utf16(text);
    pieces.push({ units: text.length, raw: isSingleByte ? (offset * 2) | 0x40000000 : offset });
    stored.push(bytes);
    offset += bytes.length;
    runs.push({ end: offset, paragraph });
  };
  const texts = paragraphs.map(({ text, end = 'paragraph' }) => text + wordEnds[end]);
  texts.forEach((text, i) => {
    add(text, i % 2 === 0 && !/[^\0-\xff]/.test(text), paragraphs[i]!);
  });
  if (footnotes !== '') add(`${footnotes}\r`, false, null);
  const main = texts.join('').length;
  const parts = wordTables(runs, pieces, { textStart, lists });
  const head = Buffer.alloc(textStart);
  uint16(0xa5ec).copy(head, 0);
  uint16(0x0200 | (encrypted ? 0x0100 : 0)).copy(head, 10);
  uint32(main, footnotes === '' ? 0 : footnotes.length + 1).copy(head, 76);
  parts.places.forEach(([at, start, bytes]) => {
    uint32(start, bytes).copy(head, at);
  });
  parts.pages.copy(head, 1_024);
  return compoundFileOf({
    WordDocument: Buffer.concat([head, ...stored]),
    '1Table': parts.table,
    ...Object.fromEntries(Object.entries(objects).map(([path, bytes]) => [`ObjectPool/${path}`, bytes])),
    '\x05SummaryInformation': summary(title),
  });
}

const builtInStyles = [0, 1, 2, 3, 62];

/** The table stream, and the two formatting pages at byte 1,024 of the document. */
function wordTables(
  runs: readonly { end: number; paragraph: DocParagraph | null }[],
  pieces: readonly { units: number; raw: number }[],
  { textStart, lists }: { readonly textStart: number; readonly lists: DocLists },
): { table: Buffer; pages: Buffer; places: [number, number, number][] } {
  const offsets = [textStart, ...runs.map(({ end }) => end)];
  const paragraphPage = formatPage(
    offsets,
    13,
    runs.map(({ paragraph }) => paragraphFormat(paragraph)),
  );
  const characterPage = formatPage(
    offsets,
    1,
    runs.map(({ paragraph }) => characterFormat(paragraph)),
  );
  const styles = builtInStyles.map((style) => {
    const changes = style === 1 && lists.headingList !== undefined ? listChanges([lists.headingList, 0]) : [];
    const head = Buffer.concat([uint16(style, 0xfff1, 0, 0, 0), uint16(1), utf16('x'), uint16(0)]);
    const format = Buffer.concat([uint16(2 + changes.length), uint16(0), Buffer.from(changes)]);
    return Buffer.concat([uint16(head.length + format.length), head, format]);
  });
  const sheet = Buffer.concat([uint16(18, styles.length, 10), Buffer.alloc(14), ...styles]);
  let position = 0;
  const ends = pieces.map(({ units }) => (position += units));
  const table = Buffer.concat([
    uint32(0, ...ends),
    ...pieces.map(({ raw }) => Buffer.concat([uint16(0), uint32(raw), uint16(0)])),
  ]);
  const clx = Buffer.concat([Buffer.from([1, 2, 0, 9, 9, 2]), uint32(table.length), table]);
  const characters = uint32(textStart, offsets.at(-1)!, 2);
  const paragraphs = uint32(textStart, offsets.at(-1)!, 3);
  const { definitions, levels } = definitionTables(lists);
  const all = [sheet, characters, paragraphs, clx, definitions, levels, listTable(lists)];
  const starts = all.map((_, i) => all.slice(0, i).reduce((sum, part) => sum + part.length, 0));
  // The levels follow the table of definitions and do not count as part of it.
  const places = [0xa2, 0xfa, 0x102, 0x1a2, 0x2e2, 0, 0x2ea].flatMap((at, i) =>
    at === 0 ? [] : [[at, starts[i]!, all[i]!.length] as [number, number, number]],
  );
  return { table: Buffer.concat(all), pages: Buffer.concat([characterPage, paragraphPage]), places };
}

function definitionTables({ definitions = [] }: DocLists): { definitions: Buffer; levels: Buffer } {
  const heads = definitions.map((levels, i) => {
    const simple = levels.length === 1 ? 1 : 0;
    return Buffer.concat([uint32(100 + i, 0), Buffer.alloc(18), Buffer.from([simple, 0])]);
  });
  const levels = definitions.flatMap((own) => {
    const all = own.length === 1 ? own : Array.from({ length: 9 }, (_, i) => own[i] ?? ([0, '', 1] as const));
    return all.map(([format, text, start]) => {
      const head = Buffer.concat([uint32(start), Buffer.from([format]), Buffer.alloc(23)]);
      return Buffer.concat([head, uint16(text.length), utf16(text)]);
    });
  });
  const none = Buffer.alloc(0);
  return {
    definitions: definitions.length === 0 ? none : Buffer.concat([uint16(definitions.length), ...heads]),
    levels: Buffer.concat(levels),
  };
}

function listTable({ lists = [] }: DocLists): Buffer {
  if (lists.length === 0) return Buffer.alloc(0);
  const heads = lists.map(({ definition, startsAt }) =>
    Buffer.concat([uint32(100 + definition, 0, 0), Buffer.from([startsAt === undefined ? 0 : 1, 0, 0, 0])]),
  );
  const changes = lists.map(({ startsAt }) =>
    startsAt === undefined ? uint32(0) : uint32(0, startsAt, 0x10),
  );
  return Buffer.concat([uint32(lists.length), ...heads, ...changes]);
}

function listChanges([list, level]: readonly [number, number]): number[] {
  return [0x0b, 0x46, list & 0xff, list >> 8, 0x0a, 0x26, level];
}

function formatPage(offsets: readonly number[], pointerBytes: number, formats: readonly Buffer[]): Buffer {
  const page = Buffer.alloc(512);
  uint32(...offsets).copy(page, 0);
  let end = 510;
  formats.forEach((format, i) => {
    if (format.length === 0) return;
    end = (end - format.length) & ~1;
    format.copy(page, end);
    page[offsets.length * 4 + i * pointerBytes] = end / 2;
  });
  page[511] = formats.length;
  return page;
}

function paragraphFormat(paragraph: DocParagraph | null): Buffer {
  const style = Math.max(0, builtInStyles.indexOf(paragraph?.style ?? 0));
  const changes = [
    ...(paragraph?.end === 'cell' || paragraph?.end === 'row' ? [0x16, 0x24, 1] : []),
    ...(paragraph?.end === 'row' ? [0x17, 0x24, 1] : []),
    ...(paragraph?.list === undefined ? [] : listChanges(paragraph.list)),
  ];
  const content = Buffer.concat([uint16(style), Buffer.from(changes)]);
  return content.length % 2 === 0
    ? Buffer.concat([Buffer.from([0, content.length / 2]), content])
    : Buffer.concat([Buffer.from([(content.length + 1) / 2]), content]);
}

function characterFormat(paragraph: DocParagraph | null): Buffer {
  if (paragraph?.object !== undefined) {
    return Buffer.concat([
      Buffer.from([9, 0x03, 0x6a]),
      uint32(paragraph.object),
      Buffer.from([0x0a, 0x08, 1]),
    ]);
  }
  return paragraph?.hidden === true ? Buffer.from([3, 0x3c, 0x08, 1]) : Buffer.alloc(0);
}

/** Builds a Word 6 document: 8-bit text in one run. */
export function buildWord6(text: string): Uint8Array {
  const head = Buffer.alloc(1_024);
  uint16(0xa5dc).copy(head, 0);
  uint32(1_024).copy(head, 24);
  uint32(text.length).copy(head, 52);
  return compoundFileOf({ WordDocument: Buffer.concat([head, Buffer.from(text, 'latin1')]) });
}

export type XlsCell =
  | string
  | number
  | boolean
  | null
  | { readonly date: number }
  | { readonly formula: string | number };

export interface XlsSheet {
  readonly name: string;
  readonly rows: readonly (readonly XlsCell[])[];
  /** Texts of a chart on the sheet. */
  readonly chart?: readonly string[];
  /** Texts of text boxes; `comments` are those of cell comments. */
  readonly textBoxes?: readonly string[];
  readonly comments?: readonly string[];
  /** Whether the whole sheet is a chart. */
  readonly isChart?: boolean;
}

function biff(type: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([uint16(type, content.length), content]);
}

/** Builds an Excel 97 workbook; format 1 is a date, and long lists of strings continue in further records. */
export function buildXls(sheets: readonly XlsSheet[], { title = '', encrypted = false } = {}): Uint8Array {
  const strings: string[] = [];
  const bodies = sheets.map((sheet) => sheetBody(sheet, strings));
  const begin = biff(0x809, uint16(0x600, 5, 0, 0), uint32(0, 0));
  const build = (offsets: readonly number[]) =>
    Buffer.concat([
      begin,
      ...(encrypted ? [biff(0x2f, uint16(1))] : []),
      biff(0x41e, uint16(164, 10), Buffer.from([0]), Buffer.from('yyyy-mm-dd')),
      ...[0, 164].map((format) => biff(0xe0, uint16(0, format), Buffer.alloc(16))),
      ...sheets.map(({ name, isChart = false }, i) =>
        biff(0x85, uint32(offsets[i]!), Buffer.from([0, isChart ? 2 : 0, name.length, 1]), utf16(name)),
      ),
      ...sharedStrings(strings),
      biff(0x0a),
    ]);
  const start = build(sheets.map(() => 0)).length;
  const offsets = bodies.map((_, i) => bodies.slice(0, i).reduce((sum, body) => sum + body.length, start));
  const stream = Buffer.concat([build(offsets), ...bodies]);
  return compoundFileOf({ Workbook: stream, '\x05SummaryInformation': summary(title) });
}

function sharedStrings(strings: readonly string[]): Buffer[] {
  const content = Buffer.concat([
    uint32(strings.length, strings.length),
    ...strings.map((text) => Buffer.concat([uint16(text.length), Buffer.from([1]), utf16(text)])),
  ]);
  if (content.length <= 8_000) return [biff(0xfc, content)];
  // The boundary is inside the first string, so the second part starts with its own flag byte.
  return [biff(0xfc, content.subarray(0, 111)), biff(0x3c, Buffer.from([1]), content.subarray(111))];
}

function sheetBody(sheet: XlsSheet, strings: string[]): Buffer {
  const { rows, chart = [], textBoxes: boxes = [], comments: remarks = [], isChart = false } = sheet;
  const records = rows.flatMap((row, r) =>
    row.flatMap((cell, c) => cellRecords(cell, uint16(r, c), strings)),
  );
  const texts = chart.map((text) => biff(0x100d, uint16(0), Buffer.from([text.length, 1]), utf16(text)));
  const begin = (kind: number) => biff(0x809, uint16(0x600, kind, 0, 0), uint32(0, 0));
  const drawing = chart.length === 0 || isChart ? texts : [begin(32), ...texts, biff(0x0a)];
  const shapes = [...boxes.map((text) => [6, text] as const), ...remarks.map((text) => [25, text] as const)];
  return Buffer.concat([
    begin(isChart ? 32 : 16),
    ...records,
    ...drawing,
    ...shapes.flatMap(([kind, text]) => shape(kind, text)),
    biff(0x0a),
  ]);
}

/** Splits the text over two records, the second of which stores it in 8 bits. */
function shape(kind: number, text: string): Buffer[] {
  const half = Math.ceil(text.length / 2);
  return [
    biff(0x5d, uint16(0x15, 18, kind), Buffer.alloc(16)),
    biff(0x1b6, Buffer.alloc(10), uint16(text.length, 0, 0, 0)),
    biff(0x3c, Buffer.from([1]), utf16(text.slice(0, half))),
    biff(0x3c, Buffer.from([0]), Buffer.from(text.slice(half), 'latin1')),
  ];
}

function cellRecords(cell: XlsCell, place: Buffer, strings: string[]): Buffer[] {
  const plain = uint16(0);
  if (cell === null) return [];
  if (typeof cell === 'string') return [biff(0xfd, place, plain, uint32(strings.push(cell) - 1))];
  if (typeof cell === 'boolean') return [biff(0x205, place, plain, Buffer.from([cell ? 1 : 0, 0]))];
  if (typeof cell === 'number') {
    const whole = Number.isInteger(cell);
    return [
      whole ? biff(0x27e, place, plain, uint32((cell << 2) | 2)) : biff(0x203, place, plain, float64(cell)),
    ];
  }
  if ('date' in cell) return [biff(0x27e, place, uint16(1), uint32((cell.date << 2) | 2))];
  const { formula } = cell;
  if (typeof formula === 'number') return [biff(0x06, place, plain, float64(formula), Buffer.alloc(8))];
  const pendingRecord = Buffer.from([0, 0, 0, 0, 0, 0, 0xff, 0xff]);
  return [
    biff(0x06, place, plain, pendingRecord, Buffer.alloc(8)),
    biff(0x207, uint16(formula.length), Buffer.from([1]), utf16(formula)),
  ];
}

export interface PptSlide {
  readonly title?: string;
  readonly body?: readonly string[];
  readonly notes?: string;
  /** Texts on the notes page outside the notes placeholder. */
  readonly notesPageTexts?: readonly string[];
  /** Rows of a table, drawn from the last cell to the first. */
  readonly table?: readonly (readonly string[])[];
  /** Compound file of a chart or a workbook on the slide. */
  readonly object?: Uint8Array;
}

/** Builds a chart as Microsoft Graph stores it: no sheets, the labels of its table, the texts of the chart. */
export function buildGraphChart(labels: readonly string[], texts: readonly string[]): Uint8Array {
  const begin = biff(0x809, uint16(0x600, 0x8000, 0, 0), uint32(0, 0));
  const wide = (text: string) => Buffer.concat([Buffer.from([1]), utf16(text)]);
  const cells = labels.map((text, i) => biff(0x204, uint16(0, i, 0, text.length), wide(text)));
  const titles = texts.map((text) => biff(0x100d, uint16(0), Buffer.from([text.length]), wide(text)));
  return compoundFileOf({ Workbook: Buffer.concat([begin, ...cells, ...titles, biff(0x0a)]) });
}

function record(type: number, instance: number, content: Uint8Array, container = false): Buffer {
  return Buffer.concat([
    uint16((instance << 4) | (container ? 15 : 0), type),
    uint32(content.length),
    content,
  ]);
}

/** Builds a PowerPoint 97 presentation: titles are in the outline, everything else in the slides. */
export function buildPpt(slides: readonly PptSlide[], { encrypted = false } = {}): Uint8Array {
  const objects: Buffer[] = [];
  const keep = (object: Buffer) => objects.push(object);
  const outline: Buffer[] = [];
  const notes: Buffer[] = [];
  const embedded: Buffer[] = [];
  slides.forEach((slide, i) => {
    if (slide.object === undefined) return;
    const packed = Buffer.concat([uint32(slide.object.length), deflateSync(slide.object)]);
    // Every second object is stored uncompressed.
    keep(i % 2 === 0 ? record(4_113, 1, packed) : record(4_113, 0, slide.object));
    embedded.push(record(4_044, 0, record(4_035, 0, uint32(1, 0, 700 + i, 0, objects.length + 1, 0)), true));
  });
  slides.forEach((slide, i) => {
    const drawing = Buffer.concat([textboxes(slide), tableShapes(slide), ...objectReference(slide, 700 + i)]);
    keep(record(1_006, 0, drawing, true));
    outline.push(record(1_011, 0, uint32(objects.length + 1, 0, 0, 256 + i, 0)));
    if (slide.title !== undefined) {
      outline.push(record(3_999, 0, uint32(0)), record(4_000, 0, utf16(slide.title)));
    }
  });
  slides.forEach((slide, i) => {
    if (slide.notes === undefined) return;
    const notesPageTexts = (slide.notesPageTexts ?? []).map((text) => textbox(4, text));
    const page = [record(1_009, 0, uint32(256 + i, 0)), textbox(2, slide.notes), ...notesPageTexts];
    keep(record(1_008, 0, Buffer.concat(page), true));
    notes.push(record(1_011, 0, uint32(objects.length + 1, 0, 0, 0, 0)));
  });
  const lists = [
    record(4_080, 0, Buffer.concat(outline), true),
    record(4_080, 2, Buffer.concat(notes), true),
    record(1_033, 0, Buffer.concat(embedded), true),
  ];
  const document = record(1_000, 0, Buffer.concat(lists), true);
  const offsets = [0];
  for (const object of [document, ...objects]) offsets.push(offsets.at(-1)! + object.length);
  const first = uint32(1 | ((objects.length + 1) << 20), ...offsets.slice(0, -1));
  const directory = record(6_002, 0, first);
  const edit = record(4_085, 0, uint32(0, 0, 0, offsets.at(-1)!, 1, 0, 0));
  const stream = Buffer.concat([document, ...objects, directory, edit]);
  const user = record(
    4_086,
    0,
    uint32(20, encrypted ? 0xf3d1c4df : 0xe391c05f, stream.length - edit.length, 0),
  );
  return compoundFileOf({ 'PowerPoint Document': stream, 'Current User': user });
}

function objectReference({ object }: PptSlide, id: number): Buffer[] {
  return object === undefined ? [] : [record(0xf011, 0, record(3_009, 0, uint32(id)), true)];
}

/** Group of shapes: a property that marks it as a table, a line between cells, the cells. */
function tableShapes({ table }: PptSlide): Buffer {
  if (table === undefined) return Buffer.alloc(0);
  const propertyRecord = record(0xf122, 1, Buffer.concat([uint16(0x039f), uint32(1)]));
  const shape = (place: readonly number[], text: string) => {
    const content = Buffer.concat([record(3_999, 0, uint32(4)), record(4_000, 0, utf16(text))]);
    const box = text === '' ? [] : [record(0xf00d, 0, content, true)];
    return record(0xf004, 0, Buffer.concat([record(0xf00f, 0, uint32(...place)), ...box]), true);
  };
  const cells = table.flatMap((row, y) =>
    row.map((text, x) => shape([x * 100, y * 50, x * 100 + 100, y * 50 + 50], text)),
  );
  const shapes = [record(0xf004, 0, propertyRecord, true), shape([0, 50, 200, 50], ''), ...cells.reverse()];
  return record(0xf003, 0, Buffer.concat(shapes), true);
}

function textbox(role: number, text: string): Buffer {
  const content = [record(3_999, 0, uint32(role)), record(4_008, 0, Buffer.from(text, 'latin1'))];
  return record(0xf00d, 0, Buffer.concat(content), true);
}

function textboxes({ title, body }: PptSlide): Buffer {
  const boxes = (body ?? []).map((text) => textbox(1, text));
  const reference = title === undefined ? [] : [record(0xf00d, 0, record(3_998, 0, uint32(0)), true)];
  return record(1_036, 0, Buffer.concat([...reference, ...boxes]), true);
}
