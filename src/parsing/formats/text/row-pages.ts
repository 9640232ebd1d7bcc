import { rowPageUnitsTarget } from '../../limits.ts';

/**
 * Groups table rows into pages of about `rowPageUnitsTarget` UTF-16 code units: a page ends before the row
 * that would exceed it. A longer row becomes its own page.
 */
export class RowPaginator {
  private rows: string[] = [];
  private units = 0;

  /** Adds a row. Returns the finished page when the row no longer fit, else null. */
  addRow(row: string): string | null {
    const full = this.units > 0 && this.units + row.length > rowPageUnitsTarget ? this.flush() : null;
    this.rows.push(row);
    this.units += row.length + 1;
    return full;
  }

  /** Returns the unfinished page, or null. */
  flush(): string | null {
    if (this.rows.length === 0) return null;
    const page = this.rows.join('\n');
    this.rows = [];
    this.units = 0;
    return page;
  }
}

/** Returns a cell on one line: tabs and line breaks become spaces. */
export function toCellText(value: string): string {
  return /[\t\r\n]/.test(value) ? value.replace(/\s*[\t\r\n]+\s*/g, ' ') : value;
}

/** Default sheet names in the languages of common program versions. */
const defaultSheetName =
  /^(?:sheet|tabelle|feuil|hoja|foglio|planilha|blad|ark|arkusz|list|лист|工作表)\s*\d*$/iu;

/**
 * Yields the pages of one sheet of a workbook; a non-default sheet name is the first line of the first page.
 */
export function* paginateSheet(name: string, rows: Iterable<string>): Generator<string, void> {
  yield* paginateRows(defaultSheetName.test(name) ? rows : addSheetName(name, rows));
}

function* addSheetName(name: string, rows: Iterable<string>): Generator<string, void> {
  let isFirst = true;
  for (const row of rows) {
    if (isFirst) yield name;
    isFirst = false;
    yield row;
  }
}

/** Groups rows into pages. */
export function* paginateRows(rows: Iterable<string>): Generator<string, void> {
  const pages = new RowPaginator();
  for (const row of rows) {
    const page = pages.addRow(row);
    if (page !== null) yield page;
  }
  const last = pages.flush();
  if (last !== null) yield last;
}
