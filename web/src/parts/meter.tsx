import { Skeleton } from './skeleton.tsx';

interface MeterProps {
  readonly label: string;
  /** Undefined while it loads. */
  readonly value: number | undefined;
  /** Null for no limit: then there is no bar. */
  readonly most: number | null | undefined;
  readonly format: (value: number) => string;
}

/** How much of a limit is used. */
export function Meter({ label, value, most, format }: MeterProps) {
  if (value === undefined || most === undefined)
    return (
      <div class="meter">
        <span class="meter-label">{label}</span>
        <Skeleton width="6rem" />
      </div>
    );
  const share = most === null || most === 0 ? 0 : Math.min(1, value / most);
  const tone = share >= 1 ? 'full' : share >= 0.8 ? 'high' : '';
  return (
    <div class="meter">
      <span class="meter-label">{label}</span>
      <span class="meter-value">
        {most === null ? `${format(value)}, no limit` : `${format(value)} of ${format(most)}`}
      </span>
      {most !== null && (
        <progress class={tone} max={1} value={share} aria-label={label}>
          {Math.round(share * 100)} %
        </progress>
      )}
    </div>
  );
}
