import { lately, now } from '../browser/clock.ts';
import { ago, exact } from '../words/times.ts';

/** A time as its distance from now, which goes on while it is looked at; date and hour are under the pointer. */
export function When({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(at, Math.max(lately.value, now()))}
    </time>
  );
}
