/** State of one table; `cell` holds the paragraphs of the open cell. */
interface Table {
  cells: string[];
  cell: string[];
}

/**
 * Collects the current page of a word-processor document: paragraphs on lines, headings marked with `#`,
 * table rows as `a | b`, and referenced notes at the end.
 */
export class PageBuilder {
  /** The first paragraph in the Title style, else the first heading. */
  title: string | null = null;

  private readonly tables: Table[] = [];
  private lines: string[] = [];
  private notes: string[] = [];
  private hasTitle = false;

  get inTable(): boolean {
    return this.tables.length > 0;
  }

  get isBlank(): boolean {
    return this.lines.every((line) => line === '');
  }

  /**
   * Adds a paragraph with text, to the open cell if any. `level` is the heading level: 0 for the title, null
   * for no heading.
   */
  addParagraph(text: string, level: number | null): void {
    const table = this.tables.at(-1);
    if (table !== undefined) table.cell.push(collapseWhitespace(text));
    else if (level === null) this.lines.push(text);
    else this.addHeading(collapseWhitespace(text), level);
  }

  addBlankLine(): void {
    this.lines.push('');
  }

  addNote(text: string): void {
    this.notes.push(text);
  }

  openTable(): void {
    this.tables.push({ cells: [], cell: [] });
  }

  endCell(): void {
    const table = this.tables.at(-1);
    if (table === undefined) return;
    table.cells.push(table.cell.join(' '));
    table.cell = [];
  }

  /** Ends the row. A row of a nested table becomes a paragraph of the enclosing cell. */
  endRow(): void {
    const table = this.tables.at(-1);
    if (table === undefined) return;
    const cells = table.cells;
    table.cells = [];
    const outer = this.tables.at(-2);
    if (outer === undefined) this.addRow(cells);
    else if (hasText(cells)) outer.cell.push(formatRow(cells));
  }

  /** Adds a complete row. */
  addRow(cells: readonly string[]): void {
    if (hasText(cells)) this.lines.push(formatRow(cells));
  }

  endTable(): void {
    this.tables.pop();
    if (!this.inTable) this.addBlankLine();
  }

  /** Returns the text of the page and starts the next page. */
  takeText(): string {
    const notes = this.notes.length > 0 ? ['', ...this.notes] : [];
    const text = [...this.lines, ...notes]
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    this.lines = [];
    this.notes = [];
    return text;
  }

  private addHeading(text: string, level: number): void {
    if (level === 0 && !this.hasTitle) {
      this.title = text;
      this.hasTitle = true;
    }
    this.title ??= text;
    this.lines.push('', `${'#'.repeat(Math.min(6, Math.max(1, level)))} ${text}`, '');
  }
}

/** Returns the text on one line. */
export function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function hasText(cells: readonly string[]): boolean {
  return cells.some((cell) => /[^ |]/.test(cell));
}

function formatRow(cells: readonly string[]): string {
  return cells.join(' | ');
}
