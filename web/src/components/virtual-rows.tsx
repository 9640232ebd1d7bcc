import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Number of rows rendered beyond the visible ones, above and below. */
const overscanRows = 10;

export interface VisibleRange {
  /** Index of the first visible row. */
  readonly first: number;
  /** Index after the last visible row. */
  readonly end: number;
}

interface VirtualRowsProps<Row> {
  readonly rows: readonly Row[];
  /** Height of every row, in pixels. */
  readonly rowHeight: number;
  readonly keyOf: (row: Row) => string;
  readonly render: (row: Row, position: number) => ComponentChildren;
  /** Called with the visible rows whenever they change. */
  readonly onVisibleRangeChange?: (visibleRange: VisibleRange) => void;
}

/**
 * List of thousands of rows of equal height, of which only those near the window are rendered. The page scrolls, not
 * the list. Rows are `role="row"` inside a `role="rowgroup"`; the caller provides the `role="table"` around it.
 */
export function VirtualRows<Row>({
  rows,
  rowHeight,
  keyOf,
  render,
  onVisibleRangeChange,
}: VirtualRowsProps<Row>) {
  const frame = useRef<HTMLDivElement>(null);
  const [visibleRange, setVisibleRange] = useState<VisibleRange>({ first: 0, end: 0 });
  const total = rows.length;

  useLayoutEffect(() => {
    let frameRequest = 0;
    const measure = () => {
      frameRequest = 0;
      const top = frame.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.min(total, Math.floor(-top / rowHeight)));
      const end = Math.max(first, Math.min(total, Math.ceil((window.innerHeight - top) / rowHeight)));
      setVisibleRange((before) => (before.first === first && before.end === end ? before : { first, end }));
    };
    const scheduleMeasure = () => {
      if (frameRequest === 0) frameRequest = requestAnimationFrame(measure);
    };
    measure();
    window.addEventListener('scroll', scheduleMeasure, { passive: true });
    window.addEventListener('resize', scheduleMeasure);
    return () => {
      cancelAnimationFrame(frameRequest);
      window.removeEventListener('scroll', scheduleMeasure);
      window.removeEventListener('resize', scheduleMeasure);
    };
  }, [total, rowHeight]);

  useEffect(() => onVisibleRangeChange?.(visibleRange), [visibleRange, total]);

  const start = Math.max(0, visibleRange.first - overscanRows);
  const stop = Math.min(total, visibleRange.end + overscanRows);
  return (
    <div ref={frame} role="rowgroup" class="virtual" style={{ height: `${total * rowHeight}px` }}>
      {rows.slice(start, stop).map((row, i) => (
        <VirtualRow key={keyOf(row)} row={row} position={start + i} rowHeight={rowHeight} render={render} />
      ))}
    </div>
  );
}

type VirtualRowProps = Pick<VirtualRowsProps<unknown>, 'rowHeight'> & {
  readonly row: unknown;
  readonly position: number;
  // biome-ignore lint/suspicious/noExplicitAny: the class is not generic, and only passes the row to the caller's function
  readonly render: (row: any, position: number) => ComponentChildren;
};

/** Renders only rows that come into view while scrolling; unchanged rows are skipped. */
class VirtualRow extends Component<VirtualRowProps> {
  override shouldComponentUpdate(next: VirtualRowProps): boolean {
    const { row, position, rowHeight, render } = this.props;
    return (
      next.row !== row || next.position !== position || next.rowHeight !== rowHeight || next.render !== render
    );
  }

  override render({ row, position, rowHeight, render }: VirtualRowProps) {
    return (
      <div
        role="row"
        aria-rowindex={position + 2}
        class="virtual-row"
        style={{ height: `${rowHeight}px`, transform: `translateY(${position * rowHeight}px)` }}
        tabIndex={-1}
      >
        {render(row, position)}
      </div>
    );
  }
}
