import type { ParseLimits } from './limits.ts';
import { openPart } from './office-package.ts';
import { openDocumentContentTypes, openDocumentProperties } from './open-document.ts';
import { OpenDocumentObjects } from './open-document-objects.ts';
import type { DocumentFacts } from './parse-task.ts';
import { cellText, rowPages, sheetPages } from './row-pages.ts';
import { TextBudget } from './text-budget.ts';
import type { XmlReader } from './xml-reader.ts';
import type { ZipArchive } from './zip.ts';

const skipped = new Set(['annotation', 'tracked-changes', 'forms', 'desc', 'title', 'covered-table-cell']);

/**
 * OpenDocument spreadsheets, as XLSX is read: the cells of a row separated by tabs as they are shown (dates in ISO), empty
 * ones left out, rows grouped into unordered pages that never span sheets; what boxes and charts say comes after the rows of
 * their sheet. Source: OASIS OpenDocument 1.3, part 3.
 */
export function* parseOds(archive: ZipArchive, limits: ParseLimits): Generator<string, DocumentFacts> {
  const budget = new TextBudget(limits.textUnitsMax);
  const objects = new OpenDocumentObjects(archive, limits, budget);
  const reader = openPart(archive, 'content.xml', limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open' || reader.name !== 'table') continue;
    const name = cellText(reader.attribute('name') ?? '').trim();
    const drawn: string[] = [];
    yield* sheetPages(name, sheetRows(reader, { budget, objects, drawn }));
    yield* rowPages(drawn);
  }
  const properties = openDocumentProperties(archive, limits);
  return {
    kind: 'ods',
    contentType: openDocumentContentTypes.ods,
    unordered: true,
    headings: false,
    title: properties.title,
    language: properties.language,
    warnings: [...objects.warnings],
  };
}

interface SheetContext {
  readonly budget: TextBudget;
  readonly objects: OpenDocumentObjects;
  /** Takes what charts on the sheet say. */
  readonly drawn: string[];
}

/** After the `open` of a table: its rows, its `close` consumed. What a file repeats is repeated inside the budget. */
function* sheetRows(reader: XmlReader, context: SheetContext): Generator<string, void> {
  const { budget } = context;
  const target = reader.depth - 1;
  let row: string[] = [];
  let repeats = 1;
  while (reader.depth > target) {
    const token = reader.next();
    if (token === 'open' && skipped.has(reader.name)) reader.skip();
    else if (token === 'open' && reader.name === 'table-row') {
      row = [];
      repeats = countOf(reader.attribute('number-rows-repeated'));
    } else if (token === 'open' && reader.name === 'object') addObject(reader, context);
    else if (token === 'open' && reader.name === 'p') addBoxed(reader, context);
    else if (token === 'open' && reader.name === 'table-cell') addCell(reader, row, context);
    else if (token === 'close' && reader.name === 'table-row' && row.length > 0) {
      const text = row.join('\t');
      budget.take(text.length * (repeats - 1));
      for (let i = 0; i < repeats; i++) yield text;
    }
  }
}

function addObject(reader: XmlReader, { objects, drawn }: SheetContext): void {
  for (const line of objects.linesAt(reader)) drawn.push(line);
}

/** A paragraph beside the cells stands in a box on the sheet. */
function addBoxed(reader: XmlReader, { budget, drawn }: SheetContext): void {
  const text = reader.characters().replace(/\s+/g, ' ').trim();
  budget.take(text.length + 1);
  if (text !== '') drawn.push(text);
}

function addCell(reader: XmlReader, row: string[], context: SheetContext): void {
  const repeats = countOf(reader.attribute('number-columns-repeated'));
  const date = reader.attribute('date-value');
  const value = reader.attribute('string-value') ?? reader.attribute('value') ?? '';
  const shown = shownText(reader, context);
  const text = date === null ? shown || cellText(value) : date.replace('T', ' ').replace(/ 00:00:00$/, '');
  if (text === '') return;
  context.budget.take((text.length + 1) * repeats);
  for (let i = 0; i < repeats; i++) row.push(text);
}

/** After the `open` of a cell: its paragraphs as one line, its `close` consumed. */
function shownText(reader: XmlReader, context: SheetContext): string {
  const target = reader.depth - 1;
  let text = '';
  while (reader.depth > target) {
    const token = reader.next();
    if (token === 'text') text += reader.text;
    else if (token === 'open' && reader.name === 'object') addObject(reader, context);
    else if (token === 'open' && skipped.has(reader.name)) reader.skip();
    else if (token === 'open' && /^(?:s|tab|line-break)$/.test(reader.name)) text += ' ';
    else if (token === 'close' && reader.name === 'p') text += ' ';
  }
  return text.replace(/\s+/g, ' ').trim();
}

function countOf(value: string | null): number {
  const count = Math.trunc(Number(value ?? '1'));
  return count >= 1 ? Math.min(count, 100_000_000) : 1;
}
