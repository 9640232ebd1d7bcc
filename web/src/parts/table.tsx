// biome-ignore-all lint/a11y/noRedundantRoles: browsers forget that a table is one when it is laid out as something else
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** What can be done with the row: at the right, and without its title where rows are cards. */
  readonly isActions?: boolean;
}

interface TableProps<Row> {
  /** What the table lists, for who cannot see it. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/**
 * A table of some dozens of rows; for thousands there are virtual rows. Where it has little room each row is a card: the
 * first column is its heading, the others follow below it with their titles.
 */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const kind = ({ isNumber = false, isActions = false }: Column<Row>) =>
    isActions ? 'actions' : isNumber ? 'number' : undefined;
  const frame = useRef<HTMLDivElement>(null);
  /** Wider than its place: it scrolls, so the keyboard has to reach it. */
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const shown = frame.current;
    if (shown === null) return;
    const observer = new ResizeObserver(() => setWide(shown.scrollWidth > shown.clientWidth));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={frame}
      class="table-frame"
      {...(isWide ? { role: 'group', 'aria-label': caption, tabIndex: 0 } : {})}
    >
      <table class="table" role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.title} role="columnheader" scope="col" class={kind(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map((column) => (
                <td key={column.title} role="cell" class={kind(column)} data-title={column.title}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
