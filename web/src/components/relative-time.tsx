import { now, recentNow } from '../browser/clock.ts';
import { formatDateTime, formatRelative } from '../format/times.ts';

/** A time relative to now, updated periodically. The tooltip shows date and time. */
export function RelativeTime({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatRelative(at, Math.max(recentNow.value, now()))}
    </time>
  );
}
