/** A cell of no more UTF-16 code units than this is one line of its row, whatever paragraphs and lists are in it. */
const cellUnitsMax = 200;

/**
 * The lines of the cells of one row as lines of the row: cells that are one line each stand in one, separated by tabs. The
 * lines of longer cells stay apart, the first of them behind the cell before.
 */
export function joinCellLines(cells: readonly (readonly string[])[]): string[] {
  if (cells.filter((lines) => lines.some((line) => line !== '')).length < 2) return cells.flat();
  const row: string[] = [];
  let isOpen = false;
  for (const cell of cells) {
    const filled = cell.filter((line) => line !== '');
    const units = filled.reduce((sum, line) => sum + line.length, 0);
    const isOneLine = filled.length <= 1 || units <= cellUnitsMax;
    const lines = isOneLine ? [filled.join(' ')] : cell.slice(cell.indexOf(filled[0]!));
    if (isOpen) row.push(`${row.pop()}\t${lines.shift()}`);
    for (const line of lines) row.push(line);
    isOpen = isOneLine;
  }
  return row.map((line) => line.trim());
}
