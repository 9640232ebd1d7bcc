import { compoundFileOf } from './compound-fixtures.ts';
import { float64, summaryInformation, uint16, uint32, utf16le } from './legacy-bytes.ts';

/** Builders of Excel 97-2003 files and Microsoft Graph charts. */

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
        biff(0x85, uint32(offsets[i]!), Buffer.from([0, isChart ? 2 : 0, name.length, 1]), utf16le(name)),
      ),
      ...sharedStrings(strings),
      biff(0x0a),
    ]);
  const start = build(sheets.map(() => 0)).length;
  const offsets = bodies.map((_, i) => bodies.slice(0, i).reduce((sum, body) => sum + body.length, start));
  const stream = Buffer.concat([build(offsets), ...bodies]);
  return compoundFileOf({ Workbook: stream, '\x05SummaryInformation': summaryInformation(title) });
}

function sharedStrings(strings: readonly string[]): Buffer[] {
  const content = Buffer.concat([
    uint32(strings.length, strings.length),
    ...strings.map((text) => Buffer.concat([uint16(text.length), Buffer.from([1]), utf16le(text)])),
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
  const texts = chart.map((text) => biff(0x100d, uint16(0), Buffer.from([text.length, 1]), utf16le(text)));
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
    biff(0x3c, Buffer.from([1]), utf16le(text.slice(0, half))),
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
    biff(0x207, uint16(formula.length), Buffer.from([1]), utf16le(formula)),
  ];
}

/** Builds a chart as Microsoft Graph stores it: no sheets, the labels of its table, the texts of the chart. */
export function buildGraphChart(labels: readonly string[], texts: readonly string[]): Uint8Array {
  const begin = biff(0x809, uint16(0x600, 0x8000, 0, 0), uint32(0, 0));
  const wide = (text: string) => Buffer.concat([Buffer.from([1]), utf16le(text)]);
  const cells = labels.map((text, i) => biff(0x204, uint16(0, i, 0, text.length), wide(text)));
  const titles = texts.map((text) => biff(0x100d, uint16(0), Buffer.from([text.length]), wide(text)));
  return compoundFileOf({ Workbook: Buffer.concat([begin, ...cells, ...titles, biff(0x0a)]) });
}
