import { ago, exact } from '../words/times.ts';

/** A time as its distance from now, with date and hour under the pointer. */
export function When({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(at)}
    </time>
  );
}
