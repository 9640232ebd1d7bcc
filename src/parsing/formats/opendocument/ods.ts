import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { XmlReader } from '../../xml-reader.ts';
import type { ParseContext } from '../format.ts';
import { openPart } from '../office/office-package.ts';
import { paginateRows, paginateSheet, toCellText } from '../text/row-pages.ts';
import { type OpenDocumentPackage, readOpenDocumentProperties } from './open-document.ts';
import { OpenDocumentObjects } from './open-document-objects.ts';

const skippedElements = new Set([
  'annotation',
  'tracked-changes',
  'forms',
  'desc',
  'title',
  'covered-table-cell',
]);

/**
 * Parses OpenDocument spreadsheets like XLSX: the displayed cell values of a row separated by tabs (dates in
 * ISO), empty cells omitted, rows grouped into unordered pages that never span sheets. Text of boxes and
 * charts follows the rows of their sheet. Source: OASIS OpenDocument 1.3, part 3.
 */
export function* parseOds(
  { archive }: OpenDocumentPackage,
  { limits }: ParseContext,
): Generator<string, DocumentDetails> {
  const budget = new TextBudget(limits.textUnitsMax);
  const objects = new OpenDocumentObjects(archive, limits, budget);
  const reader = openPart(archive, 'content.xml', limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open' || reader.name !== 'table') continue;
    const name = toCellText(reader.findAttribute('name') ?? '').trim();
    const drawingLines: string[] = [];
    yield* paginateSheet(name, readSheetRows(reader, { budget, objects, drawingLines }));
    yield* paginateRows(drawingLines);
  }
  const properties = readOpenDocumentProperties(archive, limits);
  return {
    headings: false,
    title: properties.title,
    language: properties.language,
    warnings: [...objects.warnings],
  };
}

interface SheetContext {
  readonly budget: TextBudget;
  readonly objects: OpenDocumentObjects;
  /** Receives the text of charts and boxes on the sheet. */
  readonly drawingLines: string[];
}

/**
 * After the `open` of a table: yields its rows and consumes its `close`. Repeated rows are expanded within
 * the budget.
 */
function* readSheetRows(reader: XmlReader, context: SheetContext): Generator<string, void> {
  const { budget } = context;
  const target = reader.depth - 1;
  let row: string[] = [];
  let repeats = 1;
  while (reader.depth > target) {
    const token = reader.next();
    if (token === 'open' && skippedElements.has(reader.name)) reader.skip();
    else if (token === 'open' && reader.name === 'table-row') {
      row = [];
      repeats = parseCount(reader.findAttribute('number-rows-repeated'));
    } else if (token === 'open' && reader.name === 'object') addObject(reader, context);
    else if (token === 'open' && reader.name === 'p') addTextBox(reader, context);
    else if (token === 'open' && reader.name === 'table-cell') addCell(reader, row, context);
    else if (token === 'close' && reader.name === 'table-row' && row.length > 0) {
      const text = row.join('\t');
      budget.consume(text.length * (repeats - 1));
      for (let i = 0; i < repeats; i++) yield text;
    }
  }
}

function addObject(reader: XmlReader, { objects, drawingLines }: SheetContext): void {
  for (const line of objects.readLinesAt(reader)) drawingLines.push(line);
}

/** A paragraph outside of cells belongs to a text box on the sheet. */
function addTextBox(reader: XmlReader, { budget, drawingLines }: SheetContext): void {
  const text = reader.readText().replace(/\s+/g, ' ').trim();
  budget.consume(text.length + 1);
  if (text !== '') drawingLines.push(text);
}

function addCell(reader: XmlReader, row: string[], context: SheetContext): void {
  const repeats = parseCount(reader.findAttribute('number-columns-repeated'));
  const date = reader.findAttribute('date-value');
  const value = reader.findAttribute('string-value') ?? reader.findAttribute('value') ?? '';
  const displayText = readCellText(reader, context);
  const text =
    date === null ? displayText || toCellText(value) : date.replace('T', ' ').replace(/ 00:00:00$/, '');
  if (text === '') return;
  context.budget.consume((text.length + 1) * repeats);
  for (let i = 0; i < repeats; i++) row.push(text);
}

/** After the `open` of a cell: returns its paragraphs as one line and consumes its `close`. */
function readCellText(reader: XmlReader, context: SheetContext): string {
  const target = reader.depth - 1;
  let text = '';
  while (reader.depth > target) {
    const token = reader.next();
    if (token === 'text') text += reader.text;
    else if (token === 'open' && reader.name === 'object') addObject(reader, context);
    else if (token === 'open' && skippedElements.has(reader.name)) reader.skip();
    else if (token === 'open' && /^(?:s|tab|line-break)$/.test(reader.name)) text += ' ';
    else if (token === 'close' && reader.name === 'p') text += ' ';
  }
  return text.replace(/\s+/g, ' ').trim();
}

function parseCount(value: string | null): number {
  const count = Math.trunc(Number(value ?? '1'));
  return count >= 1 ? Math.min(count, 100_000_000) : 1;
}
