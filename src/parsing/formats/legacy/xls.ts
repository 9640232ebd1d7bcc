import { decodeCodePage } from '../../encoding/code-page.ts';
import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext } from '../format.ts';
import {
  formatNumber,
  getBuiltInNumberStyle,
  type NumberStyle,
  parseNumberStyle,
} from '../office/cell-number.ts';
import { paginateRows, paginateSheet, toCellText } from '../text/row-pages.ts';
import type { CompoundFile } from './compound-file.ts';
import { readPropertySetTitle } from './property-set.ts';
import {
  type BiffRecord,
  readBiffRecords,
  readContinuedString,
  readSharedStrings,
  readShortString,
  readWideString,
} from './xls-records.ts';

const type = {
  formula: 0x06,
  endOfFile: 0x0a,
  since1904: 0x22,
  filePass: 0x2f,
  codePage: 0x42,
  object: 0x5d,
  boundSheet: 0x85,
  multipleRk: 0xbd,
  richString: 0xd6,
  extendedFormat: 0xe0,
  sharedStrings: 0xfc,
  shapeText: 0x1b6,
  labelShared: 0xfd,
  number: 0x203,
  label: 0x204,
  boolean: 0x205,
  string: 0x207,
  rk: 0x27e,
  format: 0x41e,
  begin: 0x809,
  chartText: 0x100d,
} as const;

/** Kinds of sheets that contain text; the others are macro sheets and modules. */
const [worksheet, chartSheet] = [0, 2];
/** Object kind of a cell comment. */
const commentObject = 0x19;

/**
 * Parses Excel 95 and 97-2003 workbooks like XLSX: values of a row separated by tabs, empty cells omitted,
 * rows grouped into unordered pages that never span sheets; text of boxes and charts follows the rows of
 * their sheet. Formulas yield their cached result. Source: [MS-XLS].
 */
export function* parseXls(file: CompoundFile, { limits }: ParseContext): Generator<string, DocumentDetails> {
  const stream = file.read('Workbook') ?? file.read('Book');
  if (stream === null) {
    throw new ParseFailure('corrupt', 'The Excel file is damaged: its workbook stream is missing.');
  }
  const workbook = readWorkbook(stream, limits);
  const budget = new TextBudget(limits.textUnitsMax);
  for (const { name, offset } of workbook.sheets) {
    const drawingTexts = new DrawingTexts(workbook, budget);
    yield* paginateSheet(name, readSheetRows(stream, { offset, workbook, drawingTexts, budget }));
    yield* paginateRows(drawingTexts.lines);
  }
  return {
    headings: false,
    title: readPropertySetTitle(file),
    language: null,
    warnings: [],
  };
}

/**
 * Returns the text of a workbook or chart embedded in a file of another program; a chart stores its table
 * without sheets.
 */
export function readEmbeddedWorkbookLines(
  file: Pick<CompoundFile, 'read'>,
  limits: ParseLimits,
  budget: TextBudget,
): string[] {
  const stream = file.read('Workbook') ?? file.read('Book');
  if (stream === null) return [];
  const workbook = readWorkbook(stream, limits);
  const drawingTexts = new DrawingTexts(workbook, budget);
  const rows = workbook.sheets.flatMap(({ offset }) => [
    ...readSheetRows(stream, { offset, workbook, drawingTexts, budget }),
  ]);
  if (workbook.sheets.length === 0)
    for (const record of readBiffRecords(stream, 0)) drawingTexts.addRecord(record, 'labels');
  return [...rows, ...drawingTexts.lines];
}

interface Workbook {
  /** True for Excel 97 and later, whose strings are Unicode. */
  readonly wide: boolean;
  readonly codePage: number;
  readonly since1904: boolean;
  readonly strings: readonly string[];
  /** Number style of each cell format. */
  readonly styles: readonly NumberStyle[];
  readonly sheets: readonly { readonly name: string; readonly offset: number }[];
}

function readWorkbook(stream: Uint8Array, limits: ParseLimits): Workbook {
  let [wide, codePage, since1904] = [true, 1252, false];
  let strings: string[] = [];
  const formats = new Map<number, NumberStyle>();
  const styleFormats: number[] = [];
  const sheets: { name: string; offset: number }[] = [];
  for (const record of readBiffRecords(stream, 0)) {
    const { view } = record;
    if (record.type === type.endOfFile) break;
    if (record.type === type.filePass) {
      throw new ParseFailure('encrypted', 'The Excel file is encrypted with a password.');
    }
    if (record.type === type.begin && view.byteLength >= 2) wide = view.getUint16(0, true) >= 0x600;
    else if (record.type === type.codePage) codePage = view.getUint16(0, true);
    else if (record.type === type.since1904) since1904 = view.getUint16(0, true) === 1;
    else if (record.type === type.sharedStrings) strings = readSharedStrings(record, limits.textUnitsMax);
    else if (record.type === type.format && view.byteLength > 4) {
      formats.set(view.getUint16(0, true), parseNumberStyle(readFormatCode(record, wide, codePage)));
    } else if (record.type === type.extendedFormat) styleFormats.push(view.getUint16(2, true));
    else if (record.type === type.boundSheet && view.byteLength > 7 && isTextSheet(view.getUint8(5))) {
      sheets.push({
        name: toCellText(readShortString(record, 6, wide, codePage)).trim(),
        offset: view.getUint32(0, true),
      });
    }
  }
  const styles = styleFormats.map((format) => formats.get(format) ?? getBuiltInNumberStyle(format));
  return { wide, codePage, since1904, strings, styles, sheets };
}

function isTextSheet(kind: number): boolean {
  return kind === worksheet || kind === chartSheet;
}

function readFormatCode(record: BiffRecord, wide: boolean, codePage: number): string {
  return wide ? readWideString(record, 2) : readShortString(record, 2, false, codePage);
}

/** Text of the text boxes and charts of a sheet, without duplicates. */
class DrawingTexts {
  readonly lines = new Set<string>();
  private readonly workbook: Workbook;
  private readonly budget: TextBudget;
  private isComment = false;

  constructor(workbook: Workbook, budget: TextBudget) {
    this.workbook = workbook;
    this.budget = budget;
  }

  /** With scope `labels`, cell texts are also added. */
  addRecord(record: BiffRecord, scope?: 'labels'): void {
    const { view } = record;
    if (scope === 'labels' && record.type === type.label && view.byteLength >= 8) {
      this.add(readString(record, 6, this.workbook));
    } else if (record.type === type.object && view.byteLength >= 6)
      this.isComment = view.getUint16(4, true) === commentObject;
    else if (record.type === type.chartText && view.byteLength > 3) {
      this.add(readShortString(record, 2, this.workbook.wide, this.workbook.codePage));
    } else if (record.type === type.shapeText && view.byteLength >= 12 && !this.isComment) {
      this.add(readContinuedString(record, view.getUint16(10, true)));
    }
  }

  private add(text: string): void {
    const line = toCellText(text).trim();
    if (line === '' || this.lines.has(line)) return;
    this.budget.consume(line.length + 1);
    this.lines.add(line);
  }
}

interface SheetContext {
  readonly offset: number;
  readonly workbook: Workbook;
  readonly drawingTexts: DrawingTexts;
  readonly budget: TextBudget;
}

function* readSheetRows(
  stream: Uint8Array,
  { offset, workbook, drawingTexts: drawn, budget }: SheetContext,
): Generator<string, void> {
  let cells: string[] = [];
  let row = -1;
  let depth = 0;
  /** Row of a formula whose result is the string that follows; -1: none. */
  let pendingStringRow = -1;
  for (const record of readBiffRecords(stream, offset)) {
    if (record.type === type.begin) depth += 1;
    else if (record.type === type.endOfFile) {
      depth -= 1; // a chart inside the sheet has its own begin and end records
      if (depth <= 0) break;
    }
    drawn.addRecord(record);
    if (depth > 1) continue;
    const found = readCells(record, workbook, pendingStringRow);
    if (found === null) continue;
    pendingStringRow = found.values === null ? found.row : -1;
    if (found.row !== row) {
      if (cells.length > 0) yield cells.join('\t');
      cells = [];
      row = found.row;
    }
    for (const value of found.values ?? []) {
      if (value === '') continue;
      budget.consume(value.length + 1);
      cells.push(value);
    }
  }
  if (cells.length > 0) yield cells.join('\t');
}

/** Returns the cells of a record; `values` is null for a formula whose string follows. Null: no cell. */
function readCells(
  record: BiffRecord,
  workbook: Workbook,
  pendingStringRow: number,
): { row: number; values: string[] | null } | null {
  const { view } = record;
  if (record.type === type.string) {
    if (pendingStringRow < 0 || view.byteLength < 3) return null;
    return { row: pendingStringRow, values: [readString(record, 0, workbook)] };
  }
  if (view.byteLength < 6) return null;
  const row = view.getUint16(0, true);
  const style = workbook.styles[view.getUint16(4, true)] ?? null;
  const formatted = (value: number, own: NumberStyle) => formatNumber(String(value), own, workbook.since1904);
  if (record.type === type.multipleRk) {
    const values: string[] = [];
    for (let at = 4; at + 8 <= view.byteLength; at += 6) {
      const own = workbook.styles[view.getUint16(at, true)] ?? null;
      values.push(formatted(decodeRk(view, at + 2), own));
    }
    return { row, values };
  }
  if (view.byteLength < 8) return null;
  if (record.type === type.label || record.type === type.richString) {
    return { row, values: [readString(record, 6, workbook)] };
  }
  if (record.type === type.boolean) {
    const truth = view.getUint8(6) === 1 ? 'TRUE' : 'FALSE';
    return { row, values: [view.getUint8(7) === 0 ? truth : (errors[view.getUint8(6)] ?? '')] };
  }
  if (view.byteLength < 10) return null;
  if (record.type === type.labelShared)
    return { row, values: [workbook.strings[view.getUint32(6, true)] ?? ''] };
  if (record.type === type.rk) return { row, values: [formatted(decodeRk(view, 6), style)] };
  if (view.byteLength < 14) return null;
  if (record.type === type.number) return { row, values: [formatted(view.getFloat64(6, true), style)] };
  if (record.type === type.formula)
    return { row, values: readFormulaResult(view, (value) => formatted(value, style)) };
  return null;
}

/** Returns the cached result; null: the string that follows. */
function readFormulaResult(view: DataView, shown: (value: number) => string): string[] | null {
  if (view.getUint16(12, true) !== 0xffff) return [shown(view.getFloat64(6, true))];
  const kind = view.getUint8(6);
  if (kind === 0) return null;
  if (kind === 1) return [view.getUint8(8) === 1 ? 'TRUE' : 'FALSE'];
  return kind === 2 ? [errors[view.getUint8(8)] ?? ''] : [];
}

const errors: Readonly<Record<number, string>> = {
  0: '#NULL!',
  7: '#DIV/0!',
  15: '#VALUE!',
  23: '#REF!',
  29: '#NAME?',
  36: '#NUM!',
  42: '#N/A',
};

/**
 * Decodes 30 bits of an integer or of the upper half of a double; the value is divided by 100 if the lowest
 * bit is set.
 */
function decodeRk(view: DataView, at: number): number {
  const raw = view.getInt32(at, true);
  let value = raw >> 2;
  if ((raw & 2) === 0) {
    const whole = new DataView(new ArrayBuffer(8));
    whole.setInt32(4, raw & ~3, true);
    value = whole.getFloat64(0, true);
  }
  return (raw & 1) === 1 ? value / 100 : value;
}

function readString(record: BiffRecord, at: number, { wide, codePage }: Workbook): string {
  if (wide) return toCellText(readWideString(record, at));
  const end = at + 2 + record.view.getUint16(at, true);
  return toCellText(decodeCodePage(record.bytes.subarray(at + 2, end), codePage));
}
