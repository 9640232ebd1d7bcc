// biome-ignore-all lint/a11y/noRedundantRoles: browsers forget that a table is one when it is laid out as something else
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface TableColumn<Row> {
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
  readonly columns: readonly TableColumn<Row>[];
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
  const kind = ({ isNumber = false, isActions = false }: TableColumn<Row>) =>
    isActions ? 'actions' : isNumber ? 'number' : undefined;
  const { frame, areCards: isStacked } = useStackedLayout();
  return (
    <div ref={frame} class="table-frame">
      <table class={isStacked ? 'table stacked' : 'table'} role="table">
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
function useStackedLayout() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(Number.POSITIVE_INFINITY);
  const [requiredWidth, setRequiredWidth] = useState(columnsWidthMin);
  const isStacked = width < requiredWidth;
  useLayoutEffect(() => {
    const frameElement = frame.current;
    if (frameElement === null) return;
    const measure = () => {
      setWidth(frameElement.clientWidth);
      if (!isStacked && frameElement.scrollWidth > frameElement.clientWidth)
        setRequiredWidth(frameElement.scrollWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frameElement);
    if (frameElement.firstElementChild !== null) observer.observe(frameElement.firstElementChild);
    return () => observer.disconnect();
  }, [isStacked]);
  return { frame, areCards: isStacked };
}
