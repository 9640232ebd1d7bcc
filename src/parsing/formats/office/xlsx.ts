import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';
import type { ParseContext } from '../format.ts';
import { paginateRows, paginateSheet, toCellText } from '../text/row-pages.ts';
import { formatNumber, getBuiltInNumberStyle, type NumberStyle, parseNumberStyle } from './cell-number.ts';
import { readShapeLines } from './drawing.ts';
import { type DrawingContext, readDrawingPartLines } from './drawing-parts.ts';
import { MergedCells, parseColumn } from './merged-cells.ts';
import {
  type OfficePackage,
  openPart,
  readCoreProperties,
  readPart,
  readRelationships,
} from './office-package.ts';

/**
 * Parses workbooks, sheet by sheet: the values of a row separated by tabs, empty cells omitted, values merged
 * across rows repeated in each row; rows grouped into unordered pages that never span sheets. A non-default
 * sheet name comes first, text of drawings last. Formulas yield their cached result, numbers with a date
 * format an ISO date, percentages a percent sign. Source: ECMA-376 part 1, section 18.
 */
export function* parseXlsx(
  { archive, mainPart }: OfficePackage,
  { limits }: ParseContext,
): Generator<string, DocumentDetails> {
  const budget = new TextBudget(limits.textUnitsMax);
  const relationships = readRelationships(archive, mainPart, limits);
  const partOf = (type: string) =>
    [...relationships.values()].find((one) => one.type === type)?.target ?? null;
  const strings = readSharedStrings(archive, partOf('sharedStrings'), limits);
  const numbers = readNumberStyles(archive, partOf('styles'), limits);
  const { sheets, since1904 } = readWorkbook(archive, mainPart, limits);
  const warnings: string[] = [];
  for (const sheet of sheets) {
    const part = relationships.get(sheet.relationship)?.target ?? null;
    if (part === null || !archive.has(part)) {
      warnings.push(`Sheet ${sheet.name} is missing from the file.`);
      continue;
    }
    const bytes = readPart(archive, part);
    const reader = new XmlReader(bytes, part, limits.xmlDepthMax);
    const rows = readSheetRows(reader, { strings, numbers, since1904 }, MergedCells.parse(bytes), budget);
    yield* paginateSheet(sheet.name, rows);
    const onDamaged = () => warnings.push(`A damaged chart or diagram on sheet ${sheet.name} was skipped.`);
    try {
      yield* paginateRows(readDrawingLines(part, { archive, limits, budget, onDamaged }));
    } catch (error) {
      if (!(error instanceof ParseFailure) || error.code !== 'corrupt') throw error;
      warnings.push(`The damaged drawings of sheet ${sheet.name} were skipped.`);
    }
  }
  const properties = readCoreProperties(archive, limits);
  return {
    headings: false,
    title: properties.title,
    language: properties.language,
    warnings,
  };
}

/** Yields the text of text boxes, charts and diagrams on a sheet. */
function* readDrawingLines(sheet: string, context: DrawingContext): Generator<string, void> {
  const { archive, limits, budget } = context;
  for (const { type, target } of readRelationships(archive, sheet, limits).values()) {
    if (type !== 'drawing' || target === null || !archive.has(target)) continue;
    yield* readShapeLines(openPart(archive, target, limits), budget, false);
    for (const part of readRelationships(archive, target, limits).values())
      yield* readDrawingPartLines(part, context);
  }
}

interface Sheet {
  readonly name: string;
  readonly relationship: string;
}

function readWorkbook(
  archive: ZipArchive,
  mainPart: string,
  limits: ParseLimits,
): { sheets: Sheet[]; since1904: boolean } {
  const reader = openPart(archive, mainPart, limits);
  const sheets: Sheet[] = [];
  let since1904 = false;
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open') continue;
    if (reader.name === 'workbookPr') since1904 = isTrue(reader.findAttribute('date1904'));
    if (reader.name !== 'sheet') continue;
    const relationship = reader.findQualifiedAttribute(/^\w+:id$/) ?? '';
    sheets.push({ name: toCellText(reader.findAttribute('name') ?? '').trim(), relationship });
  }
  return { sheets, since1904 };
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true';
}

/** Returns shared strings by index, without phonetic guides. */
function readSharedStrings(archive: ZipArchive, part: string | null, limits: ParseLimits): string[] {
  const strings: string[] = [];
  if (part === null || !archive.has(part)) return strings;
  const reader = openPart(archive, part, limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token === 'open' && reader.name === 'si') strings.push(readRichText(reader));
  }
  return strings;
}

/** After the `open` of an `si` or `is`: returns the text of its runs. */
function readRichText(reader: XmlReader): string {
  const target = reader.depth - 1;
  let text = '';
  while (reader.depth > target) {
    if (reader.next() !== 'open') continue;
    if (reader.name === 'rPh' || reader.name === 'phoneticPr') reader.skip();
    else if (reader.name === 't') text += reader.readText();
  }
  return toCellText(
    text.replace(/_x([0-9A-F]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  );
}

/** Returns the number style of each cell style. */
function readNumberStyles(archive: ZipArchive, part: string | null, limits: ParseLimits): NumberStyle[] {
  const styles: NumberStyle[] = [];
  if (part === null || !archive.has(part)) return styles;
  const formats = new Map<number, NumberStyle>();
  const reader = openPart(archive, part, limits);
  let inCellFormats = false;
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (reader.name === 'cellXfs') inCellFormats = token === 'open';
    if (token !== 'open') continue;
    if (reader.name === 'numFmt') {
      formats.set(
        Number(reader.findAttribute('numFmtId')),
        parseNumberStyle(reader.findAttribute('formatCode') ?? ''),
      );
    } else if (reader.name === 'xf' && inCellFormats) {
      const id = Number(reader.findAttribute('numFmtId') ?? '0');
      styles.push(formats.get(id) ?? getBuiltInNumberStyle(id));
    }
  }
  return styles;
}

interface CellContext {
  readonly strings: readonly string[];
  readonly numbers: readonly NumberStyle[];
  readonly since1904: boolean;
}

function* readSheetRows(
  reader: XmlReader,
  context: CellContext,
  merged: MergedCells | null,
  budget: TextBudget,
): Generator<string, void> {
  let values: string[] = [];
  let columns: number[] = [];
  let row = 0;
  let column = 0;
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token === 'open' && reader.name === 'c') {
      column = merged === null ? column + 1 : getColumn(reader.findAttribute('r'), column);
      const value = readCell(reader, context);
      if (value === '') continue;
      budget.consume(value.length + 1);
      values.push(value);
      if (merged !== null) columns.push(column);
    } else if (token === 'open' && reader.name === 'row') {
      row = Number(reader.findAttribute('r')) || row + 1;
      column = 0;
    } else if (token === 'close' && reader.name === 'row') {
      const filled = merged?.fillRow(row, values, columns) ?? values;
      const text = filled.join('\t');
      if (filled.length > values.length) budget.consume(text.length);
      if (text !== '') yield text;
      values = [];
      columns = [];
    }
  }
}

/** Returns the column of a cell reference such as `AB12`, else the column after the last one. */
function getColumn(reference: string | null, last: number): number {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  return letters === undefined ? last + 1 : parseColumn(letters);
}

/** After the `open` of a cell: returns its displayed value and consumes its `close`. */
function readCell(reader: XmlReader, context: CellContext): string {
  const type = reader.findAttribute('t');
  const style = reader.findAttribute('s');
  const target = reader.depth - 1;
  let value = '';
  while (reader.depth > target) {
    if (reader.next() !== 'open') continue;
    if (reader.name === 'v') value = reader.readText();
    else if (reader.name === 'is') value = readRichText(reader);
    else reader.skip();
  }
  if (type === 's') return context.strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type === 'str' || type === 'inlineStr' || type === 'e' || type === 'd') return toCellText(value);
  return value === ''
    ? ''
    : formatNumber(value, context.numbers[Number(style ?? '0')] ?? null, context.since1904);
}
