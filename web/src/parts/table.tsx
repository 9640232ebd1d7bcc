import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Left out where there is little room. */
  readonly isExtra?: boolean;
}

interface TableProps<Row> {
  /** What the table lists, for who cannot see it. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/** A table of some dozens of rows; for thousands there are virtual rows. */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const kind = ({ isNumber = false, isExtra = false }: Column<Row>) =>
    `${isNumber ? 'number' : ''} ${isExtra ? 'extra' : ''}`;
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
      <table class="table">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={kind(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={kind(column)}>
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
