import { builtInNumberStyle, type NumberStyle, numberStyleOf, numberText } from './cell-number.ts';
import { shapeLines } from './drawing.ts';
import { type DrawnPartsContext, drawnPartLines } from './drawn-parts.ts';
import type { ParseLimits } from './limits.ts';
import { columnOf, MergedCells } from './merged-cells.ts';
import { coreProperties, officeContentTypes, openPart, readPart, relationshipsOf } from './office-package.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { cellText, rowPages, sheetPages } from './row-pages.ts';
import { TextBudget } from './text-budget.ts';
import { XmlReader } from './xml-reader.ts';
import type { ZipArchive } from './zip.ts';

/**
 * Workbooks, sheet by sheet: the values of a row separated by tabs, empty cells left out, what is merged over rows in each
 * of them; rows grouped into unordered pages that never span sheets. A sheet with a name of its own starts with it; what is
 * drawn on it comes last. Formulas give their last result, numbers with a date format an ISO date, those
 * of hundredths their sign. Source: ECMA-376 part 1,
 * section 18.
 */
export function* parseXlsx(
  archive: ZipArchive,
  mainPart: string,
  limits: ParseLimits,
): Generator<string, DocumentFacts> {
  const budget = new TextBudget(limits.textUnitsMax);
  const relationships = relationshipsOf(archive, mainPart, limits);
  const partOf = (type: string) =>
    [...relationships.values()].find((one) => one.type === type)?.target ?? null;
  const strings = readStrings(archive, partOf('sharedStrings'), limits);
  const numbers = readNumberStyles(archive, partOf('styles'), limits);
  const { sheets, since1904 } = readWorkbook(archive, mainPart, limits);
  const warnings: string[] = [];
  for (const sheet of sheets) {
    const part = relationships.get(sheet.relationship)?.target ?? null;
    if (part === null || !archive.has(part)) {
      warnings.push(`The sheet ${sheet.name} is missing in the file.`);
      continue;
    }
    const bytes = readPart(archive, part);
    const reader = new XmlReader(bytes, part, limits.xmlDepthMax);
    const rows = sheetRows(reader, { strings, numbers, since1904 }, MergedCells.of(bytes), budget);
    yield* sheetPages(sheet.name, rows);
    const onDamaged = () =>
      warnings.push(`A chart or diagram on the sheet ${sheet.name} is damaged and was left out.`);
    try {
      yield* rowPages(drawnLines(part, { archive, limits, budget, onDamaged }));
    } catch (error) {
      if (!(error instanceof ParseFailure) || error.code !== 'corrupt') throw error;
      warnings.push(`What is drawn on the sheet ${sheet.name} is damaged and was left out.`);
    }
  }
  const properties = coreProperties(archive, limits);
  return {
    kind: 'xlsx',
    contentType: officeContentTypes.xlsx,
    unordered: true,
    headings: false,
    title: properties.title,
    language: properties.language,
    warnings,
  };
}

/** What text boxes, charts and diagrams on a sheet say. */
function* drawnLines(sheet: string, context: DrawnPartsContext): Generator<string, void> {
  const { archive, limits, budget } = context;
  for (const { type, target } of relationshipsOf(archive, sheet, limits).values()) {
    if (type !== 'drawing' || target === null || !archive.has(target)) continue;
    yield* shapeLines(openPart(archive, target, limits), budget, false);
    for (const part of relationshipsOf(archive, target, limits).values())
      yield* drawnPartLines(part, context);
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
    if (reader.name === 'workbookPr') since1904 = isTrue(reader.attribute('date1904'));
    if (reader.name !== 'sheet') continue;
    const relationship = reader.qualifiedAttribute(/^\w+:id$/) ?? '';
    sheets.push({ name: cellText(reader.attribute('name') ?? '').trim(), relationship });
  }
  return { sheets, since1904 };
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true';
}

/** Shared strings by index, without phonetic guides. */
function readStrings(archive: ZipArchive, part: string | null, limits: ParseLimits): string[] {
  const strings: string[] = [];
  if (part === null || !archive.has(part)) return strings;
  const reader = openPart(archive, part, limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token === 'open' && reader.name === 'si') strings.push(richText(reader));
  }
  return strings;
}

/** After the `open` of an `si` or `is`: the text of its runs. */
function richText(reader: XmlReader): string {
  const target = reader.depth - 1;
  let text = '';
  while (reader.depth > target) {
    if (reader.next() !== 'open') continue;
    if (reader.name === 'rPh' || reader.name === 'phoneticPr') reader.skip();
    else if (reader.name === 't') text += reader.characters();
  }
  return cellText(
    text.replace(/_x([0-9A-F]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  );
}

/** How each cell style shows a number. */
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
      formats.set(Number(reader.attribute('numFmtId')), numberStyleOf(reader.attribute('formatCode') ?? ''));
    } else if (reader.name === 'xf' && inCellFormats) {
      const id = Number(reader.attribute('numFmtId') ?? '0');
      styles.push(formats.get(id) ?? builtInNumberStyle(id));
    }
  }
  return styles;
}

interface CellContext {
  readonly strings: readonly string[];
  readonly numbers: readonly NumberStyle[];
  readonly since1904: boolean;
}

function* sheetRows(
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
      column = merged === null ? column + 1 : placeOf(reader.attribute('r'), column);
      const value = readCell(reader, context);
      if (value === '') continue;
      budget.take(value.length + 1);
      values.push(value);
      if (merged !== null) columns.push(column);
    } else if (token === 'open' && reader.name === 'row') {
      row = Number(reader.attribute('r')) || row + 1;
      column = 0;
    } else if (token === 'close' && reader.name === 'row') {
      const shown = merged?.filled(row, values, columns) ?? values;
      const text = shown.join('\t');
      if (shown.length > values.length) budget.take(text.length);
      if (text !== '') yield text;
      values = [];
      columns = [];
    }
  }
}

/** The column that a cell such as `AB12` names, else the one behind the last. */
function placeOf(reference: string | null, last: number): number {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  return letters === undefined ? last + 1 : columnOf(letters);
}

/** After the `open` of a cell: what it shows, its `close` consumed. */
function readCell(reader: XmlReader, context: CellContext): string {
  const type = reader.attribute('t');
  const style = reader.attribute('s');
  const target = reader.depth - 1;
  let value = '';
  while (reader.depth > target) {
    if (reader.next() !== 'open') continue;
    if (reader.name === 'v') value = reader.characters();
    else if (reader.name === 'is') value = richText(reader);
    else reader.skip();
  }
  if (type === 's') return context.strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type === 'str' || type === 'inlineStr' || type === 'e' || type === 'd') return cellText(value);
  return value === ''
    ? ''
    : numberText(value, context.numbers[Number(style ?? '0')] ?? null, context.since1904);
}
