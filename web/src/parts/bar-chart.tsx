import { useId } from 'preact/hooks';
import { formatCount } from '../words/numbers.ts';

export interface Bar {
  /** What the bar stands for: a day, an hour. */
  readonly label: string;
  readonly value: number;
}

interface BarChartProps {
  /** What is counted, as the heading of the table says it. */
  readonly title: string;
  /** What a bar stands for: "Day". */
  readonly step: string;
  /** Undefined while they load: the chart keeps its room. */
  readonly bars: readonly Bar[] | undefined;
  readonly format?: (value: number) => string;
  /** For values that take more letters than a number, so that the chart stays where it is when they come. */
  readonly isWide?: boolean;
}

const height = 120;
const [barWidth, gap] = [10, 3];

/** A bar for each step of time, and the same as a table for who cannot see them. */
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
      <table class="unseen">
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{step}</th>
            <th scope="col">{title}</th>
          </tr>
        </thead>
        <tbody>
          {visibleBars.map(({ label, value }, i) => (
            // Where clocks are set back, an hour comes twice.
            <tr key={i}>
              <td>{label}</td>
              <td>{format(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
