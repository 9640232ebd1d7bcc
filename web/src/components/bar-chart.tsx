import { useId } from 'preact/hooks';
import { formatCount } from '../format/numbers.ts';

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
  /** Reserves space for long values, so that the chart does not move when they load. */
  readonly isWide?: boolean;
}

const height = 120;
const [barWidth, gap] = [10, 3];

/** Bar chart over time steps, with an equivalent table for screen readers. */
export function BarChart({ title, step, bars, format = formatCount, isWide = false }: BarChartProps) {
  const id = useId();
  const visibleBars = bars ?? [];
  const highest = Math.max(1, ...visibleBars.map(({ value }) => value));
  const width = Math.max(1, visibleBars.length) * (barWidth + gap) - gap;
  return (
    <figure class={isWide ? 'bars wide' : 'bars'}>
      <div class="bars-scale" aria-hidden="true">
        <span>{bars === undefined ? '' : format(highest)}</span>
        <span>{bars === undefined ? '' : format(0)}</span>
      </div>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby={id}
        class={bars === undefined ? 'waiting' : ''}
      >
        <title id={id}>{title}</title>
        {visibleBars.map(({ label, value }, i) => (
          <g key={i} class="bar">
            <rect class="bar-back" x={i * (barWidth + gap)} y={0} width={barWidth} height={height} />
            <rect
              class="bar-value"
              x={i * (barWidth + gap)}
              y={height - (value / highest) * height}
              width={barWidth}
              height={(value / highest) * height}
            />
            <title>{`${label}: ${format(value)}`}</title>
          </g>
        ))}
      </svg>
      <div class="bars-ends" aria-hidden="true">
        <span>{visibleBars[0]?.label ?? ''}</span>
        <span>{visibleBars.at(-1)?.label ?? ''}</span>
      </div>
      {/* A table does not clip its rows: hidden without this frame, they would make the page longer. */}
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
            {visibleBars.map(({ label, value }, i) => (
              // Labels are not unique: an hour repeats when clocks are set back.
              <tr key={i}>
                <td>{label}</td>
                <td>{format(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
