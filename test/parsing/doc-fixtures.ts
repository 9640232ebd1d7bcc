import { compoundFileOf } from './compound-fixtures.ts';
import { summaryInformation, uint16, uint32, utf16le } from './legacy-bytes.ts';

/** Builders of Word 97-2003 and Word 6 files. */

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
    const bytes = isSingleByte ? Buffer.from(text, 'latin1') : utf16le(text);
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
    '\x05SummaryInformation': summaryInformation(title),
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
    const head = Buffer.concat([uint16(style, 0xfff1, 0, 0, 0), uint16(1), utf16le('x'), uint16(0)]);
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
      return Buffer.concat([head, uint16(text.length), utf16le(text)]);
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
