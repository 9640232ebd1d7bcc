import { useId, useState } from 'preact/hooks';
import { formatCount } from '../format/numbers.ts';
import { scaleEnd } from '../format/scales.ts';

export interface Bar {
  /** Time step of the bar: a day or an hour. */
  readonly label: string;
  readonly value: number;
}

interface BarChartProps {
  /** Quantity shown, as the heading of the table. */
  readonly title: string;
  /** Name of a step: "Day". */
  readonly step: string;
  /** Undefined while loading; the chart keeps its size. */
  readonly bars: readonly Bar[] | undefined;
  readonly format?: (value: number) => string;
}

const height = 120;
const [barWidth, gap] = [10, 3];

/** Bar chart over time steps, with an equivalent table for screen readers. */
export function BarChart({ title, step, bars, format = formatCount }: BarChartProps) {
  const id = useId();
  const visibleBars = bars ?? [];
  const [hovered, setHovered] = useState<number | null>(null);
  const highest = scaleEnd(Math.max(0, ...visibleBars.map(({ value }) => value)));
  const ticks = [highest, highest / 2];
  const middle = visibleBars[Math.floor(visibleBars.length / 2)];
  const pointed = hovered === null ? undefined : visibleBars[hovered];
  const width = Math.max(1, visibleBars.length) * (barWidth + gap) - gap;
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby={id}
        class={bars === undefined ? 'waiting' : ''}
        onPointerLeave={() => setHovered(null)}
      >
        <title id={id}>{title}</title>
        <path class="bars-grid" d={`M0 0H${width}M0 ${height / 2}H${width}`} />
        {visibleBars.map(({ value }, i) => (
          <g key={i} class="bar" onPointerEnter={() => setHovered(i)}>
            <rect class="bar-back" x={i * (barWidth + gap)} y={0} width={barWidth + gap} height={height} />
            <rect
              class="bar-value"
              x={i * (barWidth + gap)}
              y={height - (value / highest) * height}
              width={barWidth}
              height={(value / highest) * height}
            />
          </g>
        ))}
      </svg>
      <div class="bars-scale" aria-hidden="true">
        {bars !== undefined && ticks.map((tick) => <span key={tick}>{format(tick)}</span>)}
      </div>
      {pointed !== undefined && hovered !== null && (
        <div
          class="bars-tip"
          aria-hidden="true"
          style={{ '--at': String((hovered + 0.5) / visibleBars.length) }}
        >
          <strong>{format(pointed.value)}</strong> {pointed.label}
        </div>
      )}
      <div class="bars-ends" aria-hidden="true">
        <span>{visibleBars[0]?.label ?? ''}</span>
        <span>{middle?.label ?? ''}</span>
        <span>{visibleBars.at(-1)?.label ?? ''}</span>
      </div>
      <BarTable title={title} step={step} bars={visibleBars} format={format} />
    </figure>
  );
}

interface BarTableProps extends Required<Pick<BarChartProps, 'title' | 'step' | 'format'>> {
  readonly bars: readonly Bar[];
}

/** The values for screen readers. A table does not clip its rows; without the wrapper, they would make the page longer. */
function BarTable({ title, step, bars, format }: BarTableProps) {
  return (
    <div class="visually-hidden">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{step}</th>
            <th scope="col">{title}</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ label, value }, i) => (
            // Labels are not unique: an hour repeats when clocks are set back.
            <tr key={i}>
              <td>{label}</td>
              <td>{format(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
