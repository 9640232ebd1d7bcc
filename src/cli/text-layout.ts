/** Text layout for terminals. Text from documents must not move the cursor or leave its column. */

const widePattern =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const invisiblePattern = /^[\p{Mark}\p{Format}]$/u;

/**
 * Returns the text without control characters (including escape sequences); runs of white space become one
 * space.
 */
export function toPrintable(text: string): string {
  return text
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Control}\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim();
}

/**
 * Shows control characters except for line breaks and tabs, and characters that change the text direction, as
 * `\u001b`. JSON keeps its value. Prevents text from a document or a server from moving the cursor, changing the
 * title or overwriting output.
 */
export function escapeControls(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(
      /(?![\n\t])[\p{Control}\u202a-\u202e\u2066-\u2069]/gu,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

/** Columns that the text occupies on a terminal. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (invisiblePattern.test(character)) return 0;
  return widePattern.test(character) ? 2 : 1;
}

/** Wraps text to lines of at most `columns` columns at spaces; breaks words that are too long. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of toPrintable(text).split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (displayWidth(joined) <= columns) {
      line = joined;
      continue;
    }
    if (line !== '') lines.push(line);
    const pieces = breakWord(word, columns);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
  }
  return line === '' ? lines : [...lines, line];
}

/** Splits a word into pieces of at most `columns` columns. */
export function breakWord(word: string, columns: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const character of word) {
    if (piece !== '' && displayWidth(piece) + characterWidth(character) > columns) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}

/** Fewer columns are unreadable: the table is then wider than the terminal. */
const cellColumnsMin = 6;

/** Columns of the longest text and of the longest word of a column of a table. */
export interface CellWidths {
  readonly text: number;
  readonly word: number;
}

/**
 * Returns the widths of the columns of a table. While their sum exceeds `columns`, the widest one shrinks: first to
 * its longest word, then words are broken.
 */
export function fitWidths(cells: readonly CellWidths[], columns: number): number[] {
  const withLimit = (limit: number, keepsWords: boolean) =>
    cells.map(({ text, word }) => Math.min(text, Math.max(limit, keepsWords ? word : 0)));
  const widest = Math.max(cellColumnsMin, ...cells.map(({ text }) => text));
  let widths = withLimit(widest, true);
  for (const keepsWords of [true, false]) {
    for (let limit = widest; limit >= cellColumnsMin; limit -= 1) {
      widths = withLimit(limit, keepsWords);
      if (widths.reduce((sum, width) => sum + width, 0) <= columns) return widths;
    }
  }
  return widths;
}

/** `texts`: the cells of one column. */
export function measureCells(texts: readonly string[]): CellWidths {
  return {
    text: Math.max(...texts.map(displayWidth)),
    word: Math.max(...texts.flatMap((text) => text.split(' ')).map(displayWidth)),
  };
}

const cellGap = '  ';

/**
 * Formats a table with a heading line; columns whose heading starts with ">" are right-aligned. `columns`: width to
 * which long cells are wrapped; by default they are not.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const names = headings.map((heading) => heading.replace(/^>/, ''));
  const cells = [names, ...rows.map((row) => row.map(toPrintable))];
  const gaps = cellGap.length * (headings.length - 1);
  const measured = names.map((_, column) => measureCells(cells.map((row) => row[column] ?? '')));
  const widths = fitWidths(measured, columns - gaps);
  return cells.flatMap((row) => {
    const wrapped = widths.map((width, column) => wrapText(row[column] ?? '', width));
    const height = Math.max(1, ...wrapped.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      wrapped
        .map((lines, column) => {
          const cell = lines[line] ?? '';
          const blank = ' '.repeat(Math.max(0, widths[column]! - displayWidth(cell)));
          return headings[column]!.startsWith('>') ? blank + cell : cell + blank;
        })
        .join(cellGap)
        .trimEnd(),
    );
  });
}

/** Formats bytes with powers of 1000: 1.5 MB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Formats a duration: 0:05, 12:30, 3:02:10. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  const end = twoDigits(seconds % 60);
  return hours > 0 ? `${hours}:${twoDigits(minutes)}:${end}` : `${minutes}:${end}`;
}

/** Returns "1 document", "2 documents". */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
