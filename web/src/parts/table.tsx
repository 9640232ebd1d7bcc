// biome-ignore-all lint/a11y/noRedundantRoles: browsers forget that a table is one when it is laid out as something else
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Where what stands in it comes late or changes: as wide as the widest usual, so that the others stay where they are. */
  readonly width?: string;
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

/** Below this width, in pixels, columns are not tried. */
const columnsWidthMin = 544;

/**
 * A table of some dozens of rows; for thousands there are virtual rows. Where its columns do not fit, each row is a card:
 * the first column is its heading, the others follow below it with their titles.
 */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const kind = ({ isNumber = false, isActions = false }: Column<Row>) =>
    isActions ? 'actions' : isNumber ? 'number' : undefined;
  const { frame, areCards } = useRoom();
  return (
    <div ref={frame} class="table-frame">
      <table class={areCards ? 'table stacked' : 'table'} role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.title}
                role="columnheader"
                scope="col"
                class={kind(column)}
                style={{ width: column.width }}
              >
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

/** Looks whether the columns fit; where they did not, cards stay until there is as much room as they wanted. */
function useRoom() {
  const frame = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(Number.POSITIVE_INFINITY);
  const [wanted, setWanted] = useState(columnsWidthMin);
  const areCards = room < wanted;
  useLayoutEffect(() => {
    const shown = frame.current;
    if (shown === null) return;
    const measure = () => {
      setRoom(shown.clientWidth);
      if (!areCards && shown.scrollWidth > shown.clientWidth) setWanted(shown.scrollWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(shown);
    if (shown.firstElementChild !== null) observer.observe(shown.firstElementChild);
    return () => observer.disconnect();
  }, [areCards]);
  return { frame, areCards };
}
