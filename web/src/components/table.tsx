// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the semantics of a table whose `display` is changed
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface TableColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers are aligned right. */
  readonly isNumber?: boolean;
  /**
   * Width of columns whose content loads late or changes: as wide as the widest usual content, so that the
   * other columns do not move.
   */
  readonly width?: string;
  /** Column of row actions: aligned right, and without a title where rows are cards. */
  readonly isActions?: boolean;
}

interface TableProps<Row> {
  /** Description of the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/** Minimum width in pixels for the column layout. */
const columnsWidthMin = 544;

/**
 * A table of up to some dozens of rows; use `VirtualRows` for thousands. If its columns do not fit, each row
 * is a card: the first column is its heading, the others follow with their titles.
 */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const kind = ({ isNumber = false, isActions = false }: TableColumn<Row>) =>
    isActions ? 'actions' : isNumber ? 'number' : undefined;
  const { frame, isStacked } = useStackedLayout();
  return (
    <div ref={frame} class="table-frame">
      <table class={isStacked ? 'table stacked' : 'table'} role="table">
        <caption class="visually-hidden">{caption}</caption>
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

/**
 * Measures whether the columns fit. If not, cards are used until the width that the columns needed is available.
 */
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
  return { frame, isStacked };
}
