/** Maximum UTF-16 code units of a cell that becomes one line, including its paragraphs and lists. */
const cellUnitsMax = 200;

/**
 * Converts the lines of the cells of a row to lines of the row: single-line cells share one line, separated
 * by tabs. Lines of longer cells remain separate; the first of them follows the previous cell.
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
