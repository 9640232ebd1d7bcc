/**
 * Cells of a workbook merged across rows. Each further row repeats the value, because rows are found and read
 * separately. A value merged across columns appears once. Source: ECMA-376 part 1, 18.3.1.55.
 */

interface MergedColumn {
  readonly column: number;
  readonly firstRow: number;
  readonly lastRow: number;
  value: string;
}

/** Maximum number of ranges per sheet; cells of further ranges appear once. */
const rangesMax = 10_000;
/** Maximum number of ranges repeated at the same time. */
const openRangesMax = 64;

export class MergedCells {
  /** Ranges by first row in descending order, so that the next range is popped from the end. */
  private readonly upcoming: MergedColumn[];
  private open: MergedColumn[] = [];

  /** `part` is the XML of the sheet, in which the ranges follow the rows. Null when no range spans rows. */
  static parse(part: Uint8Array): MergedCells | null {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
    const start = bytes.lastIndexOf('mergeCells');
    const from = start === -1 ? -1 : bytes.indexOf('mergeCell');
    if (from === -1) return null;
    const found: MergedColumn[] = [];
    const pattern = /<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})["']/g;
    for (const range of bytes.toString('latin1', from - 64).matchAll(pattern)) {
      const [firstRow, lastRow] = [Number(range[2]), Number(range[3])];
      if (lastRow > firstRow) found.push({ column: parseColumn(range[1]!), firstRow, lastRow, value: '' });
      if (found.length >= rangesMax) break;
    }
    found.sort((a, b) => b.firstRow - a.firstRow);
    return found.length === 0 ? null : new MergedCells(found);
  }

  private constructor(waiting: MergedColumn[]) {
    this.upcoming = waiting;
  }

  /**
   * Returns the values of a row with the values merged into it. `columns` holds the column of each value.
   * Rows must be in ascending order.
   */
  fillRow(row: number, values: readonly string[], columns: readonly number[]): readonly string[] {
    this.open = this.open.filter(({ lastRow }) => lastRow >= row);
    const ownColumns = new Set(this.open.length === 0 ? [] : columns);
    const repeated = this.open.filter(({ column }) => !ownColumns.has(column));
    this.startRanges(row, values, columns);
    if (values.length === 0 || repeated.length === 0) return values;
    const cells = values.map((value, i) => ({ column: columns[i] ?? 0, value }));
    return [...cells, ...repeated].sort((a, b) => a.column - b.column).map(({ value }) => value);
  }

  /** Stores the values of the ranges that start in this row. */
  private startRanges(row: number, values: readonly string[], columns: readonly number[]): void {
    for (let next = this.upcoming.at(-1); next !== undefined; next = this.upcoming.at(-1)) {
      if (next.firstRow > row) return;
      this.upcoming.pop();
      next.value = values[columns.indexOf(next.column)] ?? '';
      if (next.firstRow === row && next.value !== '' && this.open.length < openRangesMax)
        this.open.push(next);
    }
  }
}

/** `A` -> 1, `AB` -> 28. */
export function parseColumn(letters: string): number {
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column;
}
