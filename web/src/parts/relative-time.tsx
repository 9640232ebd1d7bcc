import { now, recentNow } from '../browser/clock.ts';
import { formatDateTime, formatRelative } from '../words/times.ts';

/** A time as its distance from now, which goes on while it is looked at; date and hour are under the pointer. */
export function RelativeTime({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatRelative(at, Math.max(recentNow.value, now()))}
    </time>
  );
}
