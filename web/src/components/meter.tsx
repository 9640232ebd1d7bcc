import { formatPercent } from '../format/numbers.ts';
import { texts } from '../texts/en/components.ts';
import { fill } from '../texts/format-text.ts';
import { Skeleton } from './skeleton.tsx';

interface MeterProps {
  readonly label: string;
  /** Undefined while loading. */
  readonly value: number | undefined;
  /** Null for no limit: then no bar is shown. */
  readonly max: number | null | undefined;
  readonly format: (value: number) => string;
}

/** Shows how much of a limit is used. */
export function Meter({ label, value, max, format }: MeterProps) {
  if (value === undefined || max === undefined)
    return (
      <div class="meter">
        <span class="meter-label">{label}</span>
        <Skeleton width="6rem" />
      </div>
    );
  const share = max === null || max === 0 ? 0 : Math.min(1, value / max);
  const tone = share >= 1 ? 'full' : share >= 0.8 ? 'high' : '';
  return (
    <div class="meter">
      <span class="meter-label">{label}</span>
      <span class="meter-value">
        {max === null ? format(value) : fill(texts.valueOfMax, { value: format(value), max: format(max) })}
      </span>
      {max !== null && (
        <progress class={tone} max={1} value={share} aria-label={label}>
          {formatPercent(share, 1)}
        </progress>
      )}
    </div>
  );
}
